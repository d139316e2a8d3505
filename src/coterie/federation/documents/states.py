"""Every state that a study or a contribution can be in, and the one table of what may follow what."""

from __future__ import annotations

from enum import StrEnum


class StudyState(StrEnum):
    DRAFT = "DRAFT"  # signed and stored, not shown to owners yet
    PUBLISHED = "PUBLISHED"  # owners are asked (Del Vasto-Terrientes et al., steps 1–3)
    COLLECTING = "COLLECTING"  # owners compute and send (steps 4–6)
    ASSEMBLING = "ASSEMBLING"  # the aggregator joins (step 7)
    RELEASED = "RELEASED"  # everybody may have a copy (step 8)
    CANCELLED = "CANCELLED"
    EXPIRED = "EXPIRED"
    FAILED = "FAILED"


class ContributionState(StrEnum):
    INVITED = "INVITED"
    APPROVED = "APPROVED"
    REFUSED = "REFUSED"
    RESERVED = "RESERVED"  # the owner's ledger holds ε
    COMPUTED = "COMPUTED"  # the noise is drawn, once and for all
    UPLOADING = "UPLOADING"
    DELIVERED = "DELIVERED"  # sealed: all chunks are there, a receipt was signed
    ACCEPTED = "ACCEPTED"
    REJECTED = "REJECTED"
    WITHDRAWN = "WITHDRAWN"


_S, _C = StudyState, ContributionState

# The whole life of both, in one place. A state without an entry to the right has no exit.
STUDY: dict[StudyState, frozenset[StudyState]] = {
    _S.DRAFT: frozenset({_S.PUBLISHED, _S.CANCELLED}),
    _S.PUBLISHED: frozenset({_S.COLLECTING, _S.CANCELLED, _S.EXPIRED, _S.FAILED}),
    _S.COLLECTING: frozenset({_S.ASSEMBLING, _S.CANCELLED, _S.EXPIRED, _S.FAILED}),
    _S.ASSEMBLING: frozenset({_S.RELEASED, _S.FAILED}),
    **dict.fromkeys((_S.RELEASED, _S.CANCELLED, _S.EXPIRED, _S.FAILED), frozenset()),
}
CONTRIBUTION: dict[ContributionState, frozenset[ContributionState]] = {
    _C.INVITED: frozenset({_C.APPROVED, _C.REFUSED, _C.WITHDRAWN}),
    # Between approval and reservation the owner looks at its table, and may find that it does not fit.
    _C.APPROVED: frozenset({_C.RESERVED, _C.REFUSED, _C.REJECTED, _C.WITHDRAWN}),
    # A reservation that was given back (a crash before the noise was drawn) may still be refused.
    _C.RESERVED: frozenset({_C.COMPUTED, _C.REFUSED, _C.WITHDRAWN}),
    _C.COMPUTED: frozenset({_C.UPLOADING, _C.WITHDRAWN}),
    _C.UPLOADING: frozenset({_C.DELIVERED, _C.WITHDRAWN}),
    # A sealed part may be taken back until the others begin to open theirs (`storage.studies.may_withdraw`).
    _C.DELIVERED: frozenset({_C.ACCEPTED, _C.REJECTED, _C.WITHDRAWN}),
    **dict.fromkeys((_C.REFUSED, _C.ACCEPTED, _C.REJECTED, _C.WITHDRAWN), frozenset()),
}


def may_follow(old: StudyState | ContributionState, new: StudyState | ContributionState) -> bool:
    return new in (STUDY[old] if isinstance(old, StudyState) else CONTRIBUTION[old])


def is_final(state: StudyState | ContributionState) -> bool:
    return not (STUDY[state] if isinstance(state, StudyState) else CONTRIBUTION[state])


# What still counts as a participant of an owner's study, and what can no longer become one.
LEFT = frozenset({_C.REFUSED, _C.REJECTED, _C.WITHDRAWN})
SHOWN = frozenset({_S.PUBLISHED, _S.COLLECTING, _S.ASSEMBLING, _S.RELEASED})
