"""What both sides must agree on: the canonical form, signed documents, headers, versions, limits and states."""

from __future__ import annotations

import hashlib
import hmac
import json
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, TypeVar

from pydantic import ValidationError

from coterie.federation.errors import FederationError
from coterie.federation.secrets.keys import Keys, verify
from coterie.schema.domain import Frozen

# Signed documents in canonical form: one text for one meaning (JSON as in RFC 8785), so signatures fit in every language.
#
# Documents of the federation hold no floats (ε and bounds are decimal text), so the one hard part of RFC 8785,
# the shortest form of a double, never arises: a float is refused instead of being written differently elsewhere.

_LARGEST = 2**53 - 1  # beyond it, other languages would read another number
_DEEPEST = 32


def canonical(content: Any) -> bytes:
    return _text(content, 0).encode("utf-8")


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def parsed(data: bytes) -> Any:
    """JSON that has one reading only: no name twice in an object, no NaN, no float."""
    try:
        return json.loads(data, object_pairs_hook=_once, parse_constant=_no_float, parse_float=_no_float)
    except (ValueError, RecursionError) as error:
        raise _fault("It is not JSON with one reading") from error


def _text(content: Any, depth: int) -> str:
    if depth > _DEEPEST:
        raise _fault("It is nested too deeply")
    if content is None or isinstance(content, bool):
        return {None: "null", True: "true", False: "false"}[content]
    if isinstance(content, int):
        if abs(content) > _LARGEST:
            raise _fault("It holds a whole number beyond 2^53")
        return str(content)
    if isinstance(content, str):
        return _string(content)
    if isinstance(content, list | tuple):
        return "[" + ",".join(_text(item, depth + 1) for item in content) + "]"
    if isinstance(content, dict):
        # RFC 8785 §3.2.3: names are sorted by their UTF-16 code units, not by code points.
        try:
            names = sorted(content, key=lambda name: name.encode("utf-16-be"))
        except (AttributeError, UnicodeEncodeError):
            raise _fault("It has a name that is not text") from None
        pairs = (f"{_string(name)}:{_text(content[name], depth + 1)}" for name in names)
        return "{" + ",".join(pairs) + "}"
    raise _fault(f"It holds a {type(content).__name__}, which has no canonical form")


def _string(text: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise _fault("It holds text that is not Unicode") from None
    return json.dumps(text, ensure_ascii=False)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise ValueError("a name appears twice")
    return content


def _no_float(text: str) -> Any:
    raise ValueError("a float")


def _fault(reason: str) -> FederationError:
    return FederationError(
        f"The document cannot be put in canonical form. {reason}.",
        "Write numbers that are not whole as text, and every name once.",
    )


# A signed document: content, key and signature travel together, and the reader names the kind that it expects.


class Document(Frozen):
    def content(self) -> dict[str, Any]:
        return self.model_dump(mode="json")

    def canonical(self) -> bytes:
        return canonical(self.content())


D = TypeVar("D", bound=Document)


class Signed(Document):
    document: dict[str, Any]
    key: str
    signature: str

    @classmethod
    def of(cls, document: Document, kind: str, keys: Keys) -> Signed:
        content = document.content()
        return cls(document=content, key=keys.public, signature=keys.sign(kind, canonical(content)))

    def text(self) -> str:
        return self.canonical().decode()

    def opened(self, kind: str, model: type[D], *, key: str) -> D:
        """The document, if `key` signed it as this kind and every field is known."""
        same = hmac.compare_digest(self.key.encode(), key.encode())
        if not same or not verify(key, kind, canonical(self.document), self.signature):
            raise FederationError(
                f"The signature on this {kind} does not fit its content.",
                "It was changed on the way, or somebody else signed it: do not rely on it.",
            )
        return validated(model, self.document, kind)


def signed_from(data: bytes | str) -> Signed:
    return validated(Signed, parsed(data.encode() if isinstance(data, str) else data), "signed document")


def validated(model: type[D], content: Any, kind: str) -> D:
    """Names the field at fault, never its content."""
    try:
        return model.model_validate(content)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, fault["loc"])) or "the document"
        reason = fault["msg"].removeprefix("Value error, ").rstrip(".")
        raise FederationError(
            f"This {kind} cannot be accepted ({place}: {reason[:1].lower()}{reason[1:]}).",
            "Ask its sender for a correct one.",
        ) from None


PROTOCOL_MINIMUM, PROTOCOL_MAXIMUM = 1, 2
PAGE_HEADERS = {  # of the pages for people
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}

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
    _C.DELIVERED: frozenset({_C.ACCEPTED, _C.REJECTED}),
    **dict.fromkeys((_C.REFUSED, _C.ACCEPTED, _C.REJECTED, _C.WITHDRAWN), frozenset()),
}


def may_follow(old: StudyState | ContributionState, new: StudyState | ContributionState) -> bool:
    return new in (STUDY[old] if isinstance(old, StudyState) else CONTRIBUTION[old])


def is_final(state: StudyState | ContributionState) -> bool:
    return not (STUDY[state] if isinstance(state, StudyState) else CONTRIBUTION[state])


# What still counts as a participant of an owner's study, and what can no longer become one.
LEFT = frozenset({_C.REFUSED, _C.REJECTED, _C.WITHDRAWN})
SHOWN = frozenset({_S.PUBLISHED, _S.COLLECTING, _S.ASSEMBLING, _S.RELEASED})
