"""Two owners find the people that both hold, and show each other nobody else: Diffie–Hellman on blinded ids.

Each id becomes a point P of the curve P-256 whose logarithm nobody knows; owner A sends aP, owner B answers b(aP), and the
other way round. Since b(aP) = a(bP), equal ids meet in the same point, and a point of somebody whom only the other owner
holds looks random (Meadows 1986; Huberman, Franklin and Hogg 1999; secure against parties that follow the protocol under
the decisional Diffie–Hellman assumption, the hash as a random oracle). P-256 has prime order, so there is no small
subgroup; only x-coordinates travel, and those that are not on the curve are refused. The arithmetic is `cryptography`'s.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from cryptography.hazmat.primitives.asymmetric import ec

from coterie.federation.errors import FederationError

POINT_BYTES = 32
_CURVE = ec.SECP256R1()


def new_blinding_key() -> bytes:
    return ec.generate_private_key(_CURVE).private_numbers().private_value.to_bytes(POINT_BYTES, "big")


def blinded(ids: Iterable[str], key: bytes, study: str) -> list[bytes]:
    """aP for each id, in their order."""
    scalar = _scalar(key)
    return [scalar.exchange(ec.ECDH(), _point(text, study)) for text in ids]


def blinded_again(points: Iterable[bytes], key: bytes) -> list[bytes]:
    """b(aP) for each point that the other owner sent, in their order."""
    scalar = _scalar(key)
    try:
        return [scalar.exchange(ec.ECDH(), _on_curve(point)) for point in points]
    except ValueError:
        raise FederationError(
            "The other owner sent something that is no blinded id.", "Tell its administrator."
        ) from None


def pseudonym(point: bytes, study: str) -> bytes:
    """What the aggregator sees of a person whom both owners hold: nothing that one of them alone could compute."""
    return hashlib.sha256(b"coterie blinded pseudonym 1\n" + study.encode() + b"\n" + point).digest()


def split(points: bytes) -> list[bytes]:
    if len(points) % POINT_BYTES:
        raise FederationError("The other owner sent half a point.", "Tell its administrator.")
    return [points[start : start + POINT_BYTES] for start in range(0, len(points), POINT_BYTES)]


def in_parcels(points: Sequence[bytes], size: int) -> list[bytes]:
    return [b"".join(points[start : start + size]) for start in range(0, len(points), size)]


def _point(text: str, study: str) -> ec.EllipticCurvePublicKey:
    """Hash and try again: about every second x is on the curve. The number of tries is seen by this machine only."""
    start = b"coterie blinded id 1\n" + study.encode() + b"\n"
    attempt = 0
    while True:
        x = hashlib.sha256(start + attempt.to_bytes(2, "big") + text.encode()).digest()
        try:
            return _on_curve(x)
        except ValueError:
            attempt += 1


def _on_curve(x: bytes) -> ec.EllipticCurvePublicKey:
    """One of the two points with this x; both give the same x again. ValueError if there is none."""
    return ec.EllipticCurvePublicKey.from_encoded_point(_CURVE, b"\x02" + x)


def _scalar(key: bytes) -> ec.EllipticCurvePrivateKey:
    return ec.derive_private_key(int.from_bytes(key, "big"), _CURVE)
