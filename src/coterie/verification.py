"""Does this release have the bytes that a certificate speaks of?"""

from __future__ import annotations

import hashlib
from pathlib import Path

from coterie.certificate import Certificate
from coterie.errors import CertificateError
from coterie.io.digest import table_digest
from coterie.io.part_files import folder_digest
from coterie.io.reading import read_table


def released_digest(released: str, table: str | None, certificate: Certificate) -> str:
    """The digest of a file or table, computed the way the certificate says."""
    if certificate.release.digest.over == "canonical table":
        return table_digest(read_table(released, table=table))
    if certificate.release.digest.over == "part files":
        return folder_digest(Path(released))
    digest = hashlib.sha256()
    try:
        with Path(released).open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    except OSError as error:
        raise CertificateError(
            f"The released file cannot be read ({error.strerror}).", "Check the path of the release."
        ) from None
    return digest.hexdigest()
