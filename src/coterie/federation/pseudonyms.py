"""Names that join rows of the same person without telling who it is.

    pseudonym = HMAC-SHA-256(HKDF-SHA-256(group key, study id), normalised id)

The owners know the group key, the aggregator does not. Another study gives other pseudonyms, so two releases
cannot be joined on them. Whoever holds the group key *and* the pseudonyms can test ids: the certificate says so.
"""

from __future__ import annotations

import hmac
import secrets
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from numpy.typing import NDArray

from coterie.errors import DataError

COLUMN = "coterie pseudonym"
LENGTH = 32


def new_group_key() -> bytes:
    return secrets.token_bytes(32)


def normalised(identifier: str) -> str:
    """Unicode NFKC, case folded, outer white space removed: owners write the same id in many ways."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", identifier).casefold()).strip()


@dataclass(frozen=True)
class Pseudonyms:
    """`values` in ascending order, and the row that each of them stands for."""

    values: pa.Array
    order: NDArray[np.int64]


def checked_ids(column: pa.ChunkedArray, name: str) -> tuple[str, ...]:
    """One normalised id a row; ids that are missing or appear twice are refused."""
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
            f"Identifier column '{name}' has missing values.",
            "Every row needs an id: drop or fill them.",
        )
    if len(set(ids)) < len(ids):
        raise DataError(
            f"Identifier column '{name}' has ids that appear more than once.",
            "Give one row per person.",
        )
    return ids


def pseudonyms(ids: Sequence[str], group_key: bytes, study: str) -> Pseudonyms:
    """In ascending order of the pseudonyms: an order that tells nothing about the owner's."""
    key = HKDF(SHA256(), 32, salt=None, info=b"coterie pseudonym 1\n" + study.encode()).derive(group_key)
    digests = [hmac.digest(key, text.encode(), "sha256") for text in ids]
    order = np.array(sorted(range(len(digests)), key=digests.__getitem__), dtype=np.int64)
    return Pseudonyms(pa.array([digests[row] for row in order], pa.binary(LENGTH)), order)
