"""What both sides agree on beside the documents: protocol versions, headers, limits, times, what a request signs."""

from __future__ import annotations

from datetime import UTC, datetime

from coterie.federation.documents.signed import canonical, sha256

PROTOCOL_MINIMUM, PROTOCOL_MAXIMUM = 1, 3
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
DIARY = "Coterie-Diary"  # the last line of the owner's diary, number:seal
SEEN = "Coterie-Seen"  # the number of a line of the aggregator's diary that the owner remembers
BODY = "Coterie-Body"  # SHA-256 of the body: with it, a signature is checked before the body is read

CLOCK_TOLERANCE_SECONDS = 120
LONGEST_POLL_SECONDS = 25
# A process that was silent for so long is taken for gone, whatever the newcomer says.
SESSION_SECONDS = 90

LARGEST_DOCUMENT = 2 * 1024 * 1024
LARGEST_ENROLMENT = 16 * 1024
LARGEST_CHUNK = 8 * 1024 * 1024
CHUNK_BYTES = 4 * 1024 * 1024
UNPACKED_CHUNK_BYTES = 64 * 1024 * 1024  # as owners make them
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
    method: str, target: str, digest: str, nonce: str, time: str, session: str, to: str
) -> bytes:
    """The bytes that a request signs. `target` is path and query as sent, `digest` the SHA-256 of the body, `to` the
    aggregator's key."""
    what = {"method": method, "target": target, "body": digest}
    return canonical({**what, "nonce": nonce, "time": time, "session": session, "to": to})


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
