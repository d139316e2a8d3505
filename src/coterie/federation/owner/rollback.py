"""Each side remembers how far the other's diary had come. A diary that is shorter than that, or differs, was restored.

A restored ledger forgets spent ε, and a restored aggregator may ask again for what it has released. Neither is dangerous
once it is noticed: this owner stops before it spends, until a person has looked.
"""

from __future__ import annotations

import json
from typing import Any

from coterie.federation.documents.messages import Manifest
from coterie.federation.documents.signed import Signed, validated
from coterie.federation.documents.study import Study
from coterie.federation.errors import FederationError
from coterie.federation.owner.answering import opened_study, study_purpose
from coterie.federation.owner.client import Client
from coterie.federation.owner.contribution import let_go
from coterie.federation.owner.home import KEY, OwnerHome
from coterie.federation.owner.policy import OwnerSource
from coterie.federation.secrets.keys import keep_private
from coterie.publication.ledger import Ledger
from coterie.publication.publishing import publish_files

_THEIRS, _AGAIN = "aggregator-diary.json", "charged-again.json"


class RolledBack(FederationError):
    """This owner's folder or ledger is older than what the aggregator has seen of it."""


def require_own(home: OwnerHome, told: str | None) -> None:
    """`told`: the last line of our diary that the aggregator knows, marked with our key. Ours must hold it."""
    if told and home.witness(_parts(told)[0]) != told:
        raise RolledBack(
            "This owner's folder was restored from a backup: the aggregator knows later lines of its diary.",
            "Its ledger may have forgotten what was spent. Restore a newer backup, or charge again what the "
            "aggregator knows to be spent: coterie owner recover",
        )
    _require_ledger(home)


def _require_ledger(home: OwnerHome) -> None:
    """The diary holds the ledger's seal after each charge: the default ledger must hold the last of them."""
    charges = [line for line in home.journal.noted("charged") if line.get("default")]
    if not charges or not home.default_ledger.exists():
        return
    if charges[-1]["ledger"] not in Ledger.inspect(home.default_ledger).seals:
        raise RolledBack(
            f"{home.default_ledger} was restored from a backup: this owner's diary knows a later charge.",
            "Restore a newer one, or charge again what is missing: coterie owner recover",
        )


def require_key(home: OwnerHome, wanted: dict[str, Any]) -> None:
    """The aggregator has the key of our part: so must this folder, or its ledger has forgotten the charge."""
    folder = home.study(wanted["id"])
    if Study.model_validate(wanted["study"]["document"]).sealed and not any(
        (folder / name).exists() for name in (KEY, _AGAIN)
    ):
        raise RolledBack(
            "This owner's folder was restored from a backup: the aggregator has the key of a part that is not here.",
            "Restore a newer backup, or charge again what the aggregator knows to be spent: coterie owner recover",
        )


def remembered(home: OwnerHome) -> str:
    """The last line of the aggregator's diary that we know, as number:mark; empty if there is none."""
    try:
        known = json.loads((home.folder / _THEIRS).read_bytes())
    except (OSError, ValueError):
        return ""
    return f"{known['number']}:{known['seal']}"


def rolled_back_aggregator(home: OwnerHome, content: dict[str, Any]) -> bool:
    """Whether the aggregator's diary lacks the line that we remember. Remembers how far it has come."""
    told, known = told_by(content, "diary"), remembered(home)
    if not told:
        return False
    number, seal = _parts(told)
    # An aggregator of an older version does not answer about that line: then only a shorter diary is seen.
    shorter = bool(known) and (number < _parts(known)[0] or (number == _parts(known)[0] and told != known))
    back = shorter or (bool(known) and "seen" in content and told_by(content, "seen") != known)
    if told != known:
        keep_private(home.folder / _THEIRS, json.dumps({"number": number, "seal": seal}).encode())
    if back:
        home.journal.note("aggregator rolled back", known=_parts(known)[0], told=number)
    return back


def recover(home: OwnerHome, client: Client, population: str | None) -> list[str]:
    """Charge every study whose key or part the aggregator has had from us, and which the ledger does not hold."""
    charged = []
    for spent in client.get("/v1/spent")["studies"]:
        study = opened_study(home, spent["id"], spent["study"])
        # Our own signature: the aggregator must not be able to spend our budget by telling us what we have spent.
        Manifest.opened(validated(Signed, spent["manifest"]), study, home.owner)
        if study.seed is None and _charge(home, study, population):
            charged.append(study.id)
    home.journal.note("recovered", studies=len(charged))
    client.post("/v1/recovered", {"diary": home.witness()})
    return charged


def _charge(home: OwnerHome, study: Study, population: str | None) -> bool:
    said = home.journal.decision(study.id) or {}
    source = said.get("source") or {"data": "unknown", "population": population}
    if source["population"] is None:
        raise FederationError(
            "The journal does not say whose budget a study had used.", "Name it: --population NAME"
        )
    opened = OwnerSource.model_validate(source)
    with Ledger.open(home.ledger(opened.ledger)) as ledger:
        if any(entry.state.charged for entry in ledger.book().releases(fingerprint=study.id)):
            let_go(home, study.id)
            return False
        path = home.study(study.id) / _AGAIN
        purpose = study_purpose(home, study, opened, 2 * study.k)
        content = json.dumps({"study": study.id}).encode()
        publish_files(lambda: {path: content}, ledger=ledger, purpose=purpose, force=True, private=True)
        let_go(home, study.id)
        home.note_charged(study.id, ledger)
    return True


def _parts(told: str) -> tuple[int, str]:
    number, _, seal = told.partition(":")
    if not number.isdecimal():
        raise FederationError("The aggregator names no line of a diary.", "Ask its administrator.")
    return int(number), seal


def told_by(content: dict[str, Any], name: str) -> str | None:
    value = content.get(name)
    return value if isinstance(value, str) and len(value) <= 100 else None
