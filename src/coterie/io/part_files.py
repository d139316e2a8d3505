"""A release that is a folder of part files, as Spark writes them: one digest over all of them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from coterie.errors import CertificateError


def digest_of_parts(parts: Mapping[str, str]) -> str:
    """SHA-256 over `name NUL sha256 NEWLINE` of every part, sorted by name: no part can be changed, added or left out."""
    digest = hashlib.sha256(b"coterie part files 1\n")
    for name in sorted(parts):
        digest.update(f"{name}\0{parts[name]}\n".encode())
    return digest.hexdigest()


def folder_digest(folder: Path) -> str:
    parts = {}
    try:
        for path in folder.glob("*.parquet"):
            with path.open("rb") as file:
                parts[path.name] = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise CertificateError(
            f"The released folder cannot be read ({error.strerror}).", "Check the path of the release."
        ) from None
    if not parts:
        raise CertificateError(
            "There are no Parquet files in the released folder.", "Check the path of the release."
        )
    return digest_of_parts(parts)
