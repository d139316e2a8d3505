"""Who signed a certificate (Ed25519, key files that only their owner can read), and over which bytes it speaks."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from coterie.errors import CertificateError, OutputError, ParameterError, reading
from coterie.promise.certificate import Certificate, Digest, Signature
from coterie.table.digest import file_sha256, folder_digest, table_digest
from coterie.table.reading import read_table


def make_key(path: str | Path) -> str:
    """Make an Ed25519 key pair to sign certificates with.

    Parameters
    ----------
    path : str or Path
        Where the private key goes (mode 0600). The public half goes beside it, as PATH.pub.

    Returns
    -------
    str
        The fingerprint of the key, SHA256:…, to be told to those who verify.

    Raises
    ------
    OutputError
        Where a file of that name exists, or cannot be written.

    Examples
    --------
    >>> import coterie, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     coterie.make_key(f"{folder}/key").partition(":")[0]
    'SHA256'
    """
    path = Path(path)
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    # Both halves or none: one alone would look like a pair that works.
    written: list[Path] = []
    for target, content, mode in (
        (path.with_name(path.name + ".pub"), public, 0o644),
        (path, private, 0o600),
    ):
        try:
            handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        except OSError as error:
            for half in written:
                half.unlink()
            raise OutputError(
                f"The key file cannot be written ({error.strerror}).",
                "Choose a new name in a folder of yours.",
            ) from None
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        written.append(target)
    return fingerprint(key.public_key())


def sign(certificate: Certificate, key_file: Path) -> Certificate:
    key = load_private_key(key_file)
    public = key.public_key()
    signature = Signature(
        algorithm="Ed25519",
        public_key=base64.b64encode(public.public_bytes_raw()).decode(),
        fingerprint=fingerprint(public),
        value=base64.b64encode(key.sign(certificate.canonical())).decode(),
    )
    return certificate.model_copy(update={"signature": signature})


def load_private_key(path: Path) -> Ed25519PrivateKey:
    key = _load(path, private=True)
    assert isinstance(key, Ed25519PrivateKey)
    return key


def check_signature(certificate: Certificate, trusted: str | Path | None = None) -> str | None:
    """The signer's fingerprint, or None for an unsigned certificate; a bad signature is an error.

    Without a trusted key this shows only that the certificate is as its signer made it, not who that was.
    """
    signature, signer = certificate.signature, None
    if signature is not None:
        try:
            public = Ed25519PublicKey.from_public_bytes(base64.b64decode(signature.public_key, validate=True))
            public.verify(base64.b64decode(signature.value, validate=True), certificate.canonical())
            signer = fingerprint(public)
            if signature.fingerprint != signer:
                raise ValueError
        except (InvalidSignature, ValueError):
            raise CertificateError(
                "The certificate's signature does not fit its content.",
                "It was changed after signing: do not rely on it.",
            ) from None
    if trusted is not None:
        require_signer(signer, str(trusted))
    return signer


def require_signer(signer: str | None, trusted: str) -> None:
    """`trusted` is a public key file, or a fingerprint (SHA256:…) as one reads it out on the telephone."""
    expected = trusted.strip()
    if not expected.startswith("SHA256:"):
        key = _load(Path(trusted), private=False)
        assert isinstance(key, Ed25519PublicKey)
        expected = fingerprint(key)
    if signer is None:
        raise CertificateError(
            "The certificate is not signed.", "Ask its issuer for a signed one, or verify without a key."
        )
    if not hmac.compare_digest(signer.encode(), expected.encode()):
        raise CertificateError(
            "The certificate is signed by another key than the one you trust.", "Ask who issued it."
        )


def fingerprint(key: Ed25519PublicKey) -> str:
    return "SHA256:" + hashlib.sha256(key.public_bytes_raw()).hexdigest()[:32]


def _load(path: Path, *, private: bool) -> object:
    kind = "private" if private else "public"
    advice = "Make a pair with `coterie certificate key FILE` (in Python `make_key`); sign with FILE, verify with FILE.pub."
    with reading(f"The {kind} key file {path}", ParameterError, advice):
        content = path.read_bytes()
    try:
        key: object = (
            serialization.load_pem_private_key(content, password=None)
            if private
            else serialization.load_pem_public_key(content)
        )
    except (ValueError, TypeError):
        key = None
    if not isinstance(key, Ed25519PrivateKey if private else Ed25519PublicKey):
        raise ParameterError(f"The {kind} key file {path} is no Ed25519 key.", advice)
    return key


# Does this release have the bytes that a certificate speaks of?


def require_digest(released: str, table: str | None, digest: Digest) -> None:
    """Refuse a release whose bytes are not those that were certified."""
    if released_digest(released, table, digest) != digest.value:
        raise CertificateError(
            "The release and the certificate do not belong together: the digests differ. Perhaps the data were "
            "changed since they were certified.",
            "Give the file as it was written, and its own certificate.",
        )


def released_digest(released: str, table: str | None, digest: Digest) -> str:
    """The digest of a file or table, computed the way the certificate says."""
    if digest.over == "canonical table":
        return table_digest(read_table(released, table=table))
    if digest.over == "part files":
        return folder_digest(Path(released))
    with reading(f"The released file {released}", CertificateError):
        return file_sha256(Path(released))
