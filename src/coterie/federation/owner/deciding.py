"""A person's word on a study, before it is noted: is there still something to decide, and would it work out?

The running process refuses for good what does not fit, which may end the study for everybody. A person who mistyped a
file name should hear of it first, while nothing has been said to the aggregator.
"""

from __future__ import annotations

from typing import Any

from coterie.federation.documents.wire import ContributionState, StudyState
from coterie.federation.errors import Conflict, Refused
from coterie.federation.owner.answering import approve, opened_study
from coterie.federation.owner.computing import finished
from coterie.federation.owner.home import Home
from coterie.federation.owner.policy import Source
from coterie.federation.owner.refusal import Refusal

_C = ContributionState
_OPEN = (StudyState.PUBLISHED, StudyState.COLLECTING)
_MAY_APPROVE = (_C.INVITED, _C.APPROVED, _C.RESERVED)
_MAY_REFUSE = (*_MAY_APPROVE, _C.COMPUTED, _C.UPLOADING)


def note_approval(home: Home, wanted: dict[str, Any], source: Source) -> None:
    """Looks at table and budget as the running process will; a problem is told here, and to nobody else."""
    _require_open(wanted, _MAY_APPROVE)
    study = opened_study(home, wanted["id"], wanted["study"])
    if finished(home, study.id) is not None:
        raise Conflict("Your table is protected and charged already.", "The running process sends it.")
    try:
        approve(home, study, source)
    except Refusal as refused:
        raise Refused(
            refused.told_here or f"This would be {_small(refused.problem)}",
            "Nothing was said to the aggregator: mend it and approve again, or refuse.",
        ) from None
    home.journal.decide(study.id, {"decision": "approve", "source": source.content()})


def note_refusal(home: Home, wanted: dict[str, Any], reason: str) -> None:
    _require_open(wanted, _MAY_REFUSE)
    home.journal.decide(wanted["id"], {"decision": "refuse", "reason": reason[:2000]})


def _require_open(wanted: dict[str, Any], states: tuple[ContributionState, ...]) -> None:
    state, mine = StudyState(wanted["state"]), _C(wanted["contribution"])
    if state not in _OPEN or mine not in states:
        raise Conflict(
            f"It is too late to decide: the study is {state}, your part {mine}.",
            "`coterie owner inspect` shows what happened.",
        )


def _small(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]
