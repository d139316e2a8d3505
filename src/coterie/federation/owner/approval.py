"""A person's decision about a study, by command or on the approval page. Is it still open, and would an approval succeed?

The running process refuses for good what does not fit, which may end the study for everybody. A person who mistyped a
file name should hear of it first, while nothing has been said to the aggregator.
"""

from __future__ import annotations

from typing import Any

from coterie.federation.documents.states import ContributionState, StudyState
from coterie.federation.documents.study import Join, StudyAttribute
from coterie.federation.errors import Conflict, Refused
from coterie.federation.owner.answering import approve, opened_study
from coterie.federation.owner.contribution import finished
from coterie.federation.owner.home import OwnerHome
from coterie.federation.owner.peers import own_fingerprint, shown_peers
from coterie.federation.owner.policy import OwnerSource, Refusal
from coterie.publication.ledger import Ledger
from coterie.schema.attributes import Outside
from coterie.schema.exact import as_text

_C = ContributionState
_OPEN = (StudyState.PUBLISHED, StudyState.COLLECTING)
_MAY_APPROVE = (_C.INVITED, _C.APPROVED, _C.RESERVED)
_MAY_REFUSE = (*_MAY_APPROVE, _C.COMPUTED, _C.UPLOADING, _C.DELIVERED)


def note_approval(home: OwnerHome, wanted: dict[str, Any], source: OwnerSource) -> None:
    """Checks table and budget as the running process will. A problem is shown here, and not sent to the aggregator."""
    _require_open(wanted, _MAY_APPROVE)
    study = opened_study(home, wanted["id"], wanted["study"])
    if finished(home, study.id) is not None:
        raise Conflict("Your table is protected and charged already.", "The running process sends it.")
    try:
        approve(home, study, source)
    except Refusal as refused:
        raise Refused(
            refused.told_here or f"This would be {refused.problem[:1].lower()}{refused.problem[1:]}",
            "Nothing was said to the aggregator: mend it and approve again, or refuse.",
        ) from None
    home.journal.decide(study.id, {"decision": "approve", "source": source.content()})


def note_refusal(home: OwnerHome, wanted: dict[str, Any], reason: str) -> None:
    _require_open(wanted, _MAY_REFUSE)
    if wanted.get("opening"):
        raise Conflict(
            "It is too late to refuse: all owners have delivered, and give the keys of their parts.",
            "`coterie owner inspect` shows what happened.",
        )
    home.journal.decide(wanted["id"], {"decision": "refuse", "reason": reason[:2000]})


def _require_open(wanted: dict[str, Any], states: tuple[ContributionState, ...]) -> None:
    state, mine = StudyState(wanted["state"]), _C(wanted["contribution"])
    if state not in _OPEN or mine not in states:
        raise Conflict(
            f"It is too late to decide: the study is {state}, your part {mine}.",
            "`coterie owner inspect` shows what happened.",
        )


# What is asked of an owner, in words and figures.

_JOINS = {
    Join.GROUP_KEY: "by pseudonyms; whoever is an owner and has the aggregator's files could test ids",
    Join.SIDE_BY_SIDE: "not at all: your synthetic columns stand beside the others', and nobody's id is used",
    Join.BLINDED_IDS: "by blinded ids; you and the other owner learn which people both of you hold",
}


def shown_study(home: OwnerHome, wanted: dict[str, Any]) -> dict[str, Any]:
    said = home.journal.decision(wanted["id"])
    told = ("id", "state", "reason", "attention", "contribution", "contribution_reason")
    content = {name: wanted.get(name) for name in told} | {"decision": said["decision"] if said else None}
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
        "your_fingerprint": own_fingerprint(home),
        "peers": shown_peers(home, study),
        "deadline": study.deadline,
        "sealed": study.sealed,
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
