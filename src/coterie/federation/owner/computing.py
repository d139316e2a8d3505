"""Steps 5 and 6 of Del Vasto-Terrientes et al. at one owner: protect once, charge once, keep the bytes. A retry only
ever resends them.

The ledger is charged and the chunks become visible in one go (coterie.publication.ledger): chunks first, the manifest
last. A contribution is finished exactly when its manifest is there; after a kill, opening the ledger finishes or undoes
it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from coterie.chain.noise.seeded import owner_seed
from coterie.errors import BudgetExceeded
from coterie.federation.documents.answers import Manifest
from coterie.federation.documents.canonical import Signed, validated
from coterie.federation.documents.chunks import arrow_schema, as_sent, packed
from coterie.federation.documents.study import Study
from coterie.federation.errors import FederationError
from coterie.federation.owner.answering import require_budget, study_purpose
from coterie.federation.owner.home import Home
from coterie.federation.owner.policy import Source
from coterie.federation.owner.refusal import refusal
from coterie.federation.owner.table import Prepared
from coterie.federation.secrets.blinding import COLUMN, Pseudonyms
from coterie.promise.certificate import Digest
from coterie.promise.signing import sign
from coterie.publication.ledger import Ledger, State
from coterie.publication.placing import publish_files
from coterie.publication.protect import protect
from coterie.publication.release import Release
from coterie.table.digest import table_digest


def finished(home: Home, study: str) -> Signed | None:
    """The manifest of a finished contribution."""
    path = home.study(study) / "manifest.json"
    return validated(Signed, json.loads(path.read_bytes()), "manifest") if path.exists() else None


def chunk_path(home: Home, study: str, number: int) -> Path:
    return home.study(study) / f"chunk-{number:05d}.parquet"


def settle_ledger(home: Home, source: Source) -> None:
    """After a kill: what was charged is put in place, what was only reserved is given back."""
    path = Path(source.ledger or home.default_ledger)
    if path.exists():
        with Ledger.open(path) as ledger:
            for recovered in ledger.recovered:
                home.journal.note(
                    "recovered", state=str(recovered.entry.state), study=recovered.entry.purpose.fingerprint
                )


def contribute(
    home: Home,
    study: Study,
    source: Source,
    prepared: Prepared,
    names: Pseudonyms | None,
    reserved: Callable[[], None],
) -> None:
    """Reserve, compute, charge, keep. `reserved` is called while ε is held and nothing is drawn yet.

    `names` (vertical): a pseudonym for each row of the prepared table.
    """

    def make() -> dict[Path, bytes]:
        reserved()
        return _made(home, study, prepared, names)

    if study.seed is not None:
        # An experiment: its noise can be repeated by anyone, so there is nothing to charge.
        publish_files(make, force=True, private=True)
        return
    with Ledger.open(source.ledger or home.default_ledger) as ledger:
        if _paid(home, study, ledger):
            return
        try:
            purpose = study_purpose(home, study, source, prepared.table.num_rows)
            publish_files(make, ledger=ledger, purpose=purpose, force=True, private=True)
        except BudgetExceeded:
            require_budget(home, study, source)
            raise refusal("the population's lifetime budget would be exceeded") from None
    home.journal.note("computed", study=study.id)


def _paid(home: Home, study: Study, ledger: Ledger) -> bool:
    """Charged for this study before, and the bytes are here; gone bytes are never drawn again."""
    for entry in ledger.book().releases(fingerprint=study.id):
        if entry.state.charged:
            if entry.state is State.RELEASED and finished(home, study.id) is not None:
                return True
            raise FederationError(
                "This study was charged before, but its bytes are not in place.",
                "They are never drawn again: that would spend the budget twice. Restore the folder from a backup, "
                "or withdraw.",
            )
    return False


def _protected(home: Home, study: Study, prepared: Prepared) -> Release:
    return protect(
        prepared.table,
        prepared.schema,
        method=study.method,
        epsilon=study.share(home.owner),
        k=study.part_k,
        seed=None if study.seed is None else owner_seed(study.seed, home.owner),
        # The aggregator must not learn in which order the owner keeps its rows; pseudonyms give another random order.
        shuffle=not study.vertical,
    )


def _sent(study: Study, owner: str, release: Release, names: Pseudonyms | None) -> pa.Table:
    attributes = study.asked_of(owner)
    table = as_sent(release.table, arrow_schema(attributes, pseudonymous=False))
    if names is None:
        return table
    sorted_rows = table.take(pa.array(names.order))
    columns = [names.values, *sorted_rows.columns]
    return pa.table(columns, schema=arrow_schema(attributes, pseudonymous=True))


def _made(home: Home, study: Study, prepared: Prepared, names: Pseudonyms | None) -> dict[Path, bytes]:
    """Everything that this owner will ever send: the chunks, and last the manifest with the signed certificate."""
    release = _protected(home, study, prepared)
    sent = _sent(study, home.owner, release, names)
    plain = sent.drop_columns([COLUMN]) if study.vertical else sent
    certificate = sign(
        release.certify(Digest(over="canonical table", value=table_digest(plain))), home.signing_file
    )
    pieces = list(packed(sent))
    manifest = Manifest(
        study=study.id,
        owner=home.owner,
        chunks=tuple(chunk for chunk, _ in pieces),
        certificate=certificate.to_json(),
    )
    files = {chunk_path(home, study.id, number): data for number, (_, data) in enumerate(pieces)}
    files[home.study(study.id) / "manifest.json"] = Signed.of(manifest, "manifest", home.keys).canonical()
    return files
