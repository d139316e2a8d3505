"""Does this release have the bytes that a certificate speaks of?"""

from __future__ import annotations

import hashlib
from pathlib import Path

from coterie.errors import CertificateError
from coterie.promise.certificate import Certificate, Digest
from coterie.table.digest import folder_digest, table_digest
from coterie.table.reading import read_table


def released_digest(released: str, table: str | None, certificate: Certificate) -> str:
    """The digest of a file or table, computed the way the certificate says."""
    return digest_like(released, table, certificate.release.digest)


def digest_like(released: str, table: str | None, digest: Digest) -> str:
    if digest.over == "canonical table":
        return table_digest(read_table(released, table=table))
    if digest.over == "part files":
        return folder_digest(Path(released))
    found = hashlib.sha256()
    try:
        with Path(released).open("rb") as file:
            while block := file.read(1 << 20):
                found.update(block)
    except OSError as error:
        raise CertificateError(
            f"The released file {released} cannot be read ({error.strerror}).", "Check the path."
        ) from None
    return found.hexdigest()
