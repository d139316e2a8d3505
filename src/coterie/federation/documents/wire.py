"""What both sides must agree on: headers, what a request signs, versions and limits."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum

from coterie.federation.documents.canonical import canonical, sha256

PROTOCOL_MINIMUM, PROTOCOL_MAXIMUM = 1, 2

PROTOCOL = "Coterie-Protocol"  # "1" or a range "1-2"
KEY = "Coterie-Key"
TIME = "Coterie-Time"
NONCE = "Coterie-Nonce"
SESSION = "Coterie-Session"  # which process of the owner speaks
REPLACES = "Coterie-Replaces"  # the process before it, which has ended
SIGNATURE = "Coterie-Signature"

CLOCK_TOLERANCE_SECONDS = 120
LONGEST_POLL_SECONDS = 25
# A process that was silent for so long is taken for gone, whatever the newcomer says.
SESSION_SECONDS = 90

LARGEST_DOCUMENT = 2 * 1024 * 1024
LARGEST_ENROLMENT = 16 * 1024
LARGEST_CHUNK = 8 * 1024 * 1024
CHUNK_BYTES = 4 * 1024 * 1024
MOST_CHUNKS = 20_000
MOST_ROWS_IN_CHUNK = 5_000_000
POINTS_IN_PARCEL = 40_000  # sealed and as base64, that stays below the largest document
MOST_PARCELS = 2_500
LARGEST_UNPACKED_CHUNK = 512 * 1024 * 1024  # against a small file that unpacks without end


def now() -> datetime:
    return datetime.now(UTC)


def stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def moment(text: str) -> datetime:
    """An exact UTC time; anything else is refused, for two readers must not differ about a deadline."""
    found = datetime.fromisoformat(text)
    if found.tzinfo is None:
        raise ValueError("a time needs its zone, such as Z")
    return found.astimezone(UTC)


def request_text(
    method: str, target: str, body: bytes, nonce: str, time: str, session: str, to: str
) -> bytes:
    """The bytes that a request signs. `target` is path and query as sent; `to` is the aggregator's key."""
    return canonical(
        {
            "method": method,
            "target": target,
            "body": sha256(body),
            "nonce": nonce,
            "time": time,
            "session": session,
            "to": to,
        }
    )


def response_text(status: int, body: bytes, nonce: str) -> bytes:
    """The bytes that an answer signs: bound to the request by its nonce, so that it cannot be replayed."""
    return canonical({"status": status, "body": sha256(body), "nonce": nonce})


def common_version(offered: str) -> int | None:
    """The highest version that both speak, from text such as '1' or '1-3'."""
    lowest, _, highest = offered.partition("-")
    if not lowest.isdecimal() or (highest and not highest.isdecimal()) or len(offered) > 20:
        return None
    best = min(int(highest or lowest), PROTOCOL_MAXIMUM)
    return best if best >= max(int(lowest), PROTOCOL_MINIMUM) else None


# Every state that a study or a contribution can be in, and the one table of what may follow what.


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
    _S.RELEASED: frozenset(),
    _S.CANCELLED: frozenset(),
    _S.EXPIRED: frozenset(),
    _S.FAILED: frozenset(),
}
CONTRIBUTION: dict[ContributionState, frozenset[ContributionState]] = {
    _C.INVITED: frozenset({_C.APPROVED, _C.REFUSED, _C.WITHDRAWN}),
    # Between approval and reservation the owner looks at its table, and may find that it does not fit.
    _C.APPROVED: frozenset({_C.RESERVED, _C.REFUSED, _C.REJECTED, _C.WITHDRAWN}),
    # A reservation that was given back (a crash before the noise was drawn) may still be refused.
    _C.RESERVED: frozenset({_C.COMPUTED, _C.REFUSED, _C.WITHDRAWN}),
    _C.COMPUTED: frozenset({_C.UPLOADING, _C.WITHDRAWN}),
    _C.UPLOADING: frozenset({_C.DELIVERED, _C.WITHDRAWN}),
    _C.DELIVERED: frozenset({_C.ACCEPTED, _C.REJECTED}),
    _C.REFUSED: frozenset(),
    _C.ACCEPTED: frozenset(),
    _C.REJECTED: frozenset(),
    _C.WITHDRAWN: frozenset(),
}


def may_follow(old: StudyState | ContributionState, new: StudyState | ContributionState) -> bool:
    if isinstance(old, StudyState):
        return new in STUDY[old]
    return new in CONTRIBUTION[old]


def is_final(state: StudyState | ContributionState) -> bool:
    return not (STUDY[state] if isinstance(state, StudyState) else CONTRIBUTION[state])


# What still counts as a participant of an owner's study, and what can no longer become one.
LEFT = frozenset({_C.REFUSED, _C.REJECTED, _C.WITHDRAWN})
SHOWN = frozenset({_S.PUBLISHED, _S.COLLECTING, _S.ASSEMBLING, _S.RELEASED})
