"""Steps 5 to 8 of Del Vasto-Terrientes et al. at one owner: protect once, charge once, keep the bytes, send them as often
as needed; fetch the joined release.

A part is drawn once, sealed with a key of its own, and kept: chunks first, the manifest last. A contribution is
finished exactly when its manifest is there. ε is held meanwhile. The ledger is charged when the key leaves, in
one go with the file that is sent (coterie.publication.ledger); after a kill, opening the ledger finishes or undoes it.
Studies before protocol 3 have no such key: there the ledger is charged when the part is drawn.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from coterie.chain.noise.seeded import owner_seed
from coterie.errors import BudgetExceeded, CertificateError, CoterieError
from coterie.federation.documents.certificate import FederatedCertificate, verified
from coterie.federation.documents.chunks import Chunk, arrow_schema, as_sent, packed
from coterie.federation.documents.messages import Delivery, Manifest, PartKey, Receipt
from coterie.federation.documents.signed import Signed, canonical, sha256, signed_from, validated
from coterie.federation.documents.study import Study
from coterie.federation.errors import FederationError, Untrusted
from coterie.federation.owner.answering import Prepared, require_budget, study_purpose
from coterie.federation.owner.client import AnswerFault, Client
from coterie.federation.owner.home import KEY, OwnerHome
from coterie.federation.owner.policy import OwnerSource, Refusal
from coterie.federation.secrets.blinding import COLUMN, Pseudonyms
from coterie.federation.secrets.keys import as_text, keep_private, new_key, seal_chunk
from coterie.promise.certificate import Digest
from coterie.promise.signing import sign
from coterie.publication.ledger import Ledger, Purpose, ReleaseState
from coterie.publication.ledger.book import purpose_of_event
from coterie.publication.protect import protect
from coterie.publication.publishing import publish_files
from coterie.publication.release import Release
from coterie.table.digest import table_digest
from coterie.table.hidden_files import write_whole

HELD, SECRET = "held.json", "part.secret"


def finished(home: OwnerHome, study: str) -> Signed | None:
    """The manifest of a finished contribution."""
    path = home.study(study) / "manifest.json"
    return signed_from(path.read_bytes()) if path.exists() else None


def settle_ledger(home: OwnerHome, source: OwnerSource) -> None:
    """After a kill: what was charged is put in place, what was only reserved is given back."""
    path = home.ledger(source.ledger)
    if path.exists():
        with Ledger.open(path) as ledger:
            for recovered in ledger.recovered:
                home.journal.note(
                    "recovered", state=str(recovered.entry.state), study=recovered.entry.purpose.fingerprint
                )
            for entry in ledger.book().unfinished():
                # The ledger alone was restored: nothing is under way here for which it holds ε.
                folder = Path(entry.purpose.target).parent
                if (
                    entry.held
                    and folder.is_relative_to(home.folder.absolute())
                    and not any(folder.glob(HELD))
                ):
                    ledger.give_back(entry.purpose.fingerprint)


def contribute(
    home: OwnerHome,
    study: Study,
    source: OwnerSource,
    prepared: Prepared,
    names: Pseudonyms | None,
    reserved: Callable[[], None],
) -> None:
    """Reserve, compute, charge, keep. `reserved` is called while ε is held and nothing is drawn yet.

    `names` (where people are matched): a pseudonym for each row of the prepared table.
    """

    def make() -> dict[Path, bytes]:
        reserved()
        return _made(home, study, prepared, names)

    if study.seed is not None:
        # An experiment: its noise can be repeated by anyone, so there is nothing to charge.
        publish_files(make, force=True, private=True)
        return
    path = home.ledger(source.ledger)
    purpose = study_purpose(home, study, source, prepared.table.num_rows)
    try:
        if study.sealed:
            hold(home, study.id, path, purpose)
            publish_files(make, force=True, private=True)
        else:
            with Ledger.open(path) as ledger:
                if _paid(home, study, ledger):
                    return
                publish_files(make, ledger=ledger, purpose=purpose, force=True, private=True)
    except BudgetExceeded:
        let_go(home, study.id)
        require_budget(home, study, source)
        raise Refusal("the population's lifetime budget would be exceeded") from None
    home.journal.note("computed", study=study.id)


def charged_key(home: OwnerHome, study: Study, source: OwnerSource) -> bytes:
    """What opens our part, to be sent: charged before it can leave, once, however often it is asked for."""
    folder = home.study(study.id)
    path = folder / KEY

    def make() -> dict[Path, bytes]:
        return {path: (folder / SECRET).read_bytes()}

    if study.seed is not None and not path.exists():
        publish_files(make, force=True, private=True)
    elif not path.exists():
        manifest = finished(home, study.id)
        assert manifest is not None
        rows = Manifest.model_validate(manifest.document).rows
        with Ledger.open(home.ledger(source.ledger)) as ledger:
            if not path.exists():  # or opening the ledger has put it there
                purpose = study_purpose(home, study, source, rows)
                publish_files(make, ledger=ledger, purpose=purpose, force=True, private=True)
                home.note_charged(study.id, ledger)
    let_go(home, study.id)
    return path.read_bytes()


def _paid(home: OwnerHome, study: Study, ledger: Ledger) -> bool:
    """Charged for this study before, and the bytes are here; gone bytes are never drawn again."""
    for entry in ledger.book().releases(fingerprint=study.id):
        if entry.state.charged:
            if entry.state is ReleaseState.RELEASED and finished(home, study.id) is not None:
                return True
            raise FederationError(
                "This study was charged before, but its bytes are not in place.",
                "They are never drawn again: that would spend the budget twice. Restore the folder from a backup, "
                "or withdraw.",
            )
    return False


def _made(home: OwnerHome, study: Study, prepared: Prepared, names: Pseudonyms | None) -> dict[Path, bytes]:
    """Everything that this owner will ever send: the chunks, and last the manifest with the signed certificate."""
    release = protect(
        prepared.table,
        prepared.schema,
        method=study.method,
        epsilon=study.share(home.owner),
        k=study.part_k,
        seed=None if study.seed is None else owner_seed(study.seed, home.owner),
        # The aggregator must not learn in which order the owner keeps its rows; pseudonyms give another random order.
        shuffle=not study.matched,
    )
    sent = _sent(study, home.owner, release, names)
    plain = sent.drop_columns([COLUMN]) if study.matched else sent
    certificate = sign(
        release.certify(Digest(over="canonical table", value=table_digest(plain))), home.signing_file
    )
    pieces, key = list(packed(sent)), new_key()
    if study.sealed:
        pieces = [_sealed(*piece, key, study.id, number) for number, piece in enumerate(pieces)]
    manifest = Manifest(
        study=study.id,
        owner=home.owner,
        chunks=tuple(chunk for chunk, _ in pieces),
        certificate="" if study.sealed else certificate.to_json(),
    )
    signed = Signed.of(manifest, home.keys)
    files = {home.chunk(study.id, number): data for number, (_, data) in enumerate(pieces)}
    if study.sealed:
        secret = PartKey(
            study=study.id,
            owner=home.owner,
            manifest=sha256(signed.canonical()),
            key=as_text(key),
            certificate=certificate.to_json(),
        )
        files[home.study(study.id) / SECRET] = Signed.of(secret, home.keys).canonical()
    files[home.study(study.id) / "manifest.json"] = signed.canonical()
    return files


def _sent(study: Study, owner: str, release: Release, names: Pseudonyms | None) -> pa.Table:
    attributes = study.asked_of(owner)
    table = as_sent(release.table, arrow_schema(attributes, pseudonymous=False))
    if names is None:
        return table
    sorted_rows = table.take(pa.array(names.order))
    columns = [names.values, *sorted_rows.columns]
    return pa.table(columns, schema=arrow_schema(attributes, pseudonymous=True))


def _sealed(chunk: Chunk, data: bytes, key: bytes, study: str, number: int) -> tuple[Chunk, bytes]:
    closed = seal_chunk(data, key, study, number)
    return chunk.model_copy(update={"sha256": sha256(closed), "size": len(closed)}), closed


# ε that is held for parts which are drawn and sealed, but which nobody else can read yet.
#
# The ledger holds it from before anything is drawn until the key of the part leaves this machine, and is charged then. A
# study that ends before gives it back: the part's key is destroyed.


def hold(home: OwnerHome, study: str, ledger: Path, purpose: Purpose) -> None:
    """Before anything is drawn. The study's folder says first where: what is held must be found again."""
    default = ledger.resolve() == home.default_ledger.resolve()  # wherever the folder may be restored to
    content = {"ledger": None if default else str(ledger.resolve())}
    keep_private(home.study(study) / HELD, json.dumps(content).encode())
    with Ledger.open(ledger) as opened:
        opened.hold(purpose)


def held_studies(home: OwnerHome) -> list[str]:
    return sorted(path.parent.name for path in (home.folder / "studies").glob(f"*/{HELD}"))


def let_go(home: OwnerHome, study: str) -> None:
    """The ledger has charged it now."""
    (home.study(study) / HELD).unlink(missing_ok=True)


def give_back(home: OwnerHome, study: str) -> bool:
    """The study ended, or we withdrew, before our key left: destroy the key and the part. True if ε was held.

    The key goes first. From then on nobody can ever read what the aggregator may still have.
    """
    folder = home.study(study)
    if not (folder / HELD).exists() or (folder / KEY).exists():
        return False
    for path in [folder / SECRET, *sorted(folder.glob("chunk-*.parquet")), folder / "manifest.json"]:
        path.unlink(missing_ok=True)
    ledger = json.loads((folder / HELD).read_bytes())["ledger"] or home.default_ledger
    if Path(ledger).exists():
        with Ledger.open(ledger) as opened:
            opened.give_back(study)
    (folder / HELD).unlink()
    home.journal.note("given back", study=study, reason="the part was never readable by others")
    return True


def hold_in_ledger(home: OwnerHome) -> None:
    """Earlier versions kept the held ε in the study's folder alone: enter it where everybody counts it."""
    for study in held_studies(home):
        path = home.study(study) / HELD
        content = json.loads(path.read_bytes())
        if "event" in content:
            hold(home, study, Path(content["ledger"]), purpose_of_event(content["event"]))


# Send the finished bytes, as often as needed; fetch the joined release and check it.


def deliver(home: OwnerHome, client: Client, study: str, signed: Signed) -> None:
    """Manifest, missing chunks, seal; the receipt is kept. Every step may be repeated."""
    manifest = Manifest.model_validate(signed.document)
    missing = client.put(f"/v1/studies/{study}/manifest", signed.canonical())["missing"]
    for number in missing:
        data = home.chunk(study, int(number)).read_bytes()
        client.put(f"/v1/studies/{study}/chunks/{int(number)}", data, "application/octet-stream")
    sealed = (home.study(study) / SECRET).exists()
    said = Delivery(study=study, owner=home.owner, manifest=sha256(signed.canonical()))
    content = Signed.of(said, home.keys).content() if sealed else None
    receipt = validated(Signed, client.post(f"/v1/studies/{study}/seal", content))
    opened = receipt.opened(Receipt, key=home.aggregator_of(receipt))
    if opened.manifest != sha256(signed.canonical()) or opened.study != study or opened.rows != manifest.rows:
        raise Untrusted(
            "The receipt is about other bytes than those sent.", "Ask the aggregator's administrator."
        )
    keep_private(home.study(study) / "receipt.json", receipt.canonical())
    home.journal.note("delivered", study=study, receipt=sha256(receipt.canonical()))


def copied(home: OwnerHome, study: str) -> bool:
    return (home.study(study) / "release.parquet").exists()


def fetch_release(home: OwnerHome, client: Client, study: str) -> FederatedCertificate:
    """Step 8 of Del Vasto-Terrientes et al.: this owner's copy, kept only if its hash is on the signed certificate."""
    signed = validated(Signed, client.get(f"/v1/studies/{study}/certificate"))
    try:
        certificate = verified(signed, home.aggregator_of(signed))
        if sha256(canonical(certificate.study.document)) != study:
            raise CertificateError("The certificate is about another study.", "Do not rely on it.")
    except CoterieError as error:
        raise Untrusted(error.problem, "Ask the aggregator's administrator; no copy was kept.") from None
    folder = home.study(study)

    def download(file: BinaryIO) -> None:
        digest = hashlib.sha256()
        with client.download(f"/v1/studies/{study}/release") as parts:
            for part in parts:
                digest.update(part)
                file.write(part)
        if digest.hexdigest() != certificate.digest.value:
            raise Untrusted(
                "The release is not the one on its certificate.", "Ask the aggregator's administrator."
            )
        keep_private(folder / "release.certificate.json", signed.canonical())

    write_whole(folder / "release.parquet", download)
    home.journal.note("copied", study=study, release=certificate.digest.value)
    return certificate


def show_release(home: OwnerHome, client: Client, study: str) -> None:
    """Show its own signature to an aggregator that has forgotten it, so that it does not release the study again."""
    certificate = (home.study(study) / "release.certificate.json").read_bytes()
    with suppress(AnswerFault):  # from one that does not know the word
        client.put(f"/v1/studies/{study}/released", certificate)


def close(client: Client, study: str) -> bool:
    """Tell the aggregator that this study need not be sent again. False from one that does not know the word."""
    try:
        client.post(f"/v1/studies/{study}/closed")
    except AnswerFault:
        return False
    return True


def report(client: Client, study: str, state: str) -> None:
    client.post(f"/v1/studies/{study}/progress", {"state": state})
