"""What is asked of an owner, in words and figures: for the terminal and for the approval page."""

from __future__ import annotations

from typing import Any

from coterie.budget import as_text
from coterie.federation.owner.answering import opened_study
from coterie.federation.owner.home import Home
from coterie.federation.owner.refusal import Refusal
from coterie.federation.study import Join, StudyAttribute
from coterie.ledger import Ledger
from coterie.schema import Outside

_JOINS = {
    Join.GROUP_KEY: "by pseudonyms; whoever is an owner and has the aggregator's files could test ids",
    Join.BLINDED_IDS: "by blinded ids; you and the other owner learn which people both of you hold",
}


def shown_study(home: Home, wanted: dict[str, Any]) -> dict[str, Any]:
    said = home.journal.decision(wanted["id"])
    content: dict[str, Any] = {
        "id": wanted["id"],
        "state": wanted["state"],
        "reason": wanted["reason"],
        "attention": wanted.get("attention"),
        "contribution": wanted["contribution"],
        "contribution_reason": wanted["contribution_reason"],
        "decision": said["decision"] if said else None,
    }
    try:
        study = opened_study(home, wanted["id"], wanted["study"])
    except Refusal as refused:
        return {**content, "unacceptable": refused.reason}
    budget = {}
    if home.default_ledger.exists():
        book = Ledger.inspect(home.default_ledger)
        budget = {name: as_text(book.balance(name).remaining) for name in book.lifetimes}
    return {
        **content,
        "title": study.title,
        "fragmentation": study.fragmentation.value,
        "method": study.method,
        "k": study.k,
        "epsilon_of_the_study": study.epsilon,
        "epsilon_asked_of_you": as_text(study.charge(home.owner)),
        "remaining_budget": budget,
        "attributes": [attribute.name for attribute in study.asked_of(home.owner)],
        "values": {attribute.name: _values(attribute) for attribute in study.asked_of(home.owner)},
        "identifier": study.identifier,
        "join": _JOINS[study.join] if study.join else None,
        "owners": [entry.owner for entry in study.roster],
        "deadline": study.deadline,
        "seeded": study.seed is not None,
    }


def _values(attribute: StudyAttribute) -> str:
    """What the study takes for possible, in words."""
    kind = attribute.type.value
    if attribute.labels is not None:
        return f"{kind}: {', '.join(attribute.labels)}"
    if attribute.lower is None:
        return kind
    outside = "" if attribute.outside is Outside.ERROR else "; others are moved to the nearer bound"
    return f"{kind}, {attribute.lower} to {attribute.upper}{outside}"
