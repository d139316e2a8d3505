"""Two owners find the people that both hold, and show each other nobody else: Diffie–Hellman on blinded ids.

Each id becomes a point P of the curve P-256 whose logarithm nobody knows; owner A sends aP, owner B answers b(aP), and the
other way round. Since b(aP) = a(bP), equal ids meet in the same point, and a point of somebody whom only the other owner
holds looks random (Meadows 1986; Huberman, Franklin and Hogg 1999; secure against parties that follow the protocol under
the decisional Diffie–Hellman assumption, the hash as a random oracle). P-256 has prime order, so there is no small
subgroup; only x-coordinates travel, and those that are not on the curve are refused. The arithmetic is `cryptography`'s."""

from __future__ import annotations

import hashlib
import hmac
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from numpy.typing import NDArray

from coterie.errors import DataError
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


# Names that join rows of the same person without telling who it is.
#
#     pseudonym = HMAC-SHA-256(HKDF-SHA-256(group key, study id), normalised id)
#
# The owners know the group key, the aggregator does not. Another study gives other pseudonyms, so two releases
# cannot be joined on them. Whoever holds the group key *and* the pseudonyms can test ids: the certificate says so.

COLUMN = "coterie pseudonym"
LENGTH = 32


def normalised(identifier: str) -> str:
    """Unicode NFKC, case folded, outer white space removed: owners write the same id in many ways."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", identifier).casefold()).strip()


@dataclass(frozen=True)
class Pseudonyms:
    """`values` in ascending order, and the row that each of them stands for."""

    values: pa.Array
    order: NDArray[np.int64]


def checked_ids(column: pa.ChunkedArray, name: str) -> tuple[str, ...]:
    """One normalised id per row; ids that are missing or appear twice are refused."""
    if pa.types.is_nested(column.type) or pa.types.is_floating(column.type):
        raise DataError(
            f"Column '{name}' holds {column.type}, which is no identifier.",
            "Give a column of text or whole numbers.",
        )
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    ids = tuple(normalised(text) for text in pc.fill_null(column.cast(pa.string()), "").to_pylist())
    if not all(ids):
        raise DataError(
            f"Identifier column '{name}' has missing values.", "Every row needs an id: drop or fill them."
        )
    if len(set(ids)) < len(ids):
        raise DataError(
            f"Identifier column '{name}' has ids that appear more than once.", "Give one row per person."
        )
    return ids


def pseudonyms(ids: Sequence[str], group_key: bytes, study: str) -> Pseudonyms:
    """In ascending order of the pseudonyms: an order that tells nothing about the owner's."""
    key = HKDF(SHA256(), 32, salt=None, info=b"coterie pseudonym 1\n" + study.encode()).derive(group_key)
    digests = [hmac.digest(key, text.encode(), "sha256") for text in ids]
    order = np.array(sorted(range(len(digests)), key=digests.__getitem__), dtype=np.int64)
    return Pseudonyms(pa.array([digests[row] for row in order], pa.binary(LENGTH)), order)
