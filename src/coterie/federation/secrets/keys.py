"""Keys of owners and aggregators, in files that only they can read: Ed25519 to sign, X25519 to seal."""

from __future__ import annotations

import base64
import errno
import hashlib
import hmac
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from coterie.federation.errors import FederationError
from coterie.table.hidden_files import write_whole

SIGNING, SEALING, WITNESS = "signing.pem", "sealing.pem", "witness.key"
NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_KEY = re.compile(r"[A-Za-z0-9+/]{43}=")


@dataclass(frozen=True, repr=False)
class Keys:
    """Both private keys of one party. No repr: a private key must not reach a log."""

    signing: Ed25519PrivateKey
    sealing: X25519PrivateKey
    first: bytes | None = None  # what marks were made with before these keys took the place of others

    @classmethod
    def generate(cls) -> Keys:
        return cls(Ed25519PrivateKey.generate(), X25519PrivateKey.generate())

    @property
    def witness(self) -> bytes:
        """The same for ever, through every change of keys."""
        own = hashlib.sha256(b"coterie witness 1\n" + self.signing.private_bytes_raw()).digest()
        return self.first or own

    @property
    def public(self) -> str:
        return as_text(self.signing.public_key().public_bytes_raw())

    @property
    def sealing_public(self) -> str:
        return as_text(self.sealing.public_key().public_bytes_raw())

    def witness_mark(self, number: int, seal: str) -> str:
        """A line of a diary for the other side to remember. Keyed: nobody else can guess what the line says."""
        return f"{number}:{hmac.digest(self.witness, f'{number} {seal}'.encode(), 'sha256').hex()}"

    def sign(self, kind: str, content: bytes) -> str:
        return as_text(self.signing.sign(_framed(kind, content)))

    def save(self, folder: Path) -> None:
        for name, key in ((SIGNING, self.signing), (SEALING, self.sealing)):
            write_private(folder / name, pem(key))

    @classmethod
    def made(cls, folder: Path) -> Keys:
        """Once. Half a pair was never used: the disk was full, or the process was killed in between."""
        if not all((folder / name).exists() for name in (SIGNING, SEALING)):
            for name in (SIGNING, SEALING):
                (folder / name).unlink(missing_ok=True)
            cls.generate().save(folder)
        return cls.load(folder)

    @classmethod
    def load(cls, folder: Path) -> Keys:
        signing, sealing = (_load(folder / name) for name in (SIGNING, SEALING))
        if not isinstance(signing, Ed25519PrivateKey) or not isinstance(sealing, X25519PrivateKey):
            raise _unreadable(folder)
        first = folder / WITNESS
        return cls(signing, sealing, first.read_bytes() if first.exists() else None)


def verify(key: str, kind: str, content: bytes, signature: str) -> bool:
    """Whether `key` signed this content as a document of this kind. Ed25519 verification is constant in time."""
    try:
        public = Ed25519PublicKey.from_public_bytes(_of_full_order(raw_key(key)))
        public.verify(base64.b64decode(signature, validate=True), _framed(kind, content))
    except (InvalidSignature, ValueError):
        return False
    return True


def fingerprint(key: str) -> str:
    """The same short name as on signed certificates (coterie.promise.signing)."""
    return "SHA256:" + hashlib.sha256(raw_key(key)).hexdigest()[:32]


def peer_fingerprint(key: str, sealing_key: str) -> str:
    """What owners compare with each other. It covers both: a swapped sealing key could read what is sealed to its owner."""
    both = b"coterie owner 1\n" + raw_key(key) + raw_key(sealing_key)
    return "SHA256:" + hashlib.sha256(both).hexdigest()[:32]


# Points of small order, as the sign bit leaves them: a "signature" under one of them fits every document.
_SMALL_ORDER = frozenset(
    bytes.fromhex(point)
    for point in (
        "00" * 32,
        "01" + "00" * 31,
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        *(f"{first:x}" + "ff" * 30 + "7f" for first in (0xEC, 0xED, 0xEE)),
    )
)


def _of_full_order(key: bytes) -> bytes:
    if key[:31] + bytes([key[31] & 0x7F]) in _SMALL_ORDER:
        raise ValueError("a key of small order")
    return key


def require_sound(key: str, sealing_key: str) -> None:
    """Check both public keys of a new owner. Weak ones would make signatures or secrets worthless, or stop other owners."""
    try:
        _of_full_order(raw_key(key))
        seal(b"", sealing_key, "")
    except ValueError:
        raise FederationError("These keys cannot be used.", "Make new ones.") from None


def raw_key(key: str) -> bytes:
    if not _KEY.fullmatch(key):
        raise ValueError("not a key of 32 bytes")
    return base64.b64decode(key, validate=True)


def as_text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def write_private(path: Path, content: bytes) -> None:
    """Mode 0600 from the first byte, never over an existing file, whole or not at all."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            path.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise _unwritable(path, error) from None


def keep_private(path: Path, content: bytes) -> None:
    """Write a private file in place of what may be there: whole or not at all."""
    try:
        write_whole(path, content)
    except OSError as error:
        raise _unwritable(path, error) from None


def private_folder(folder: Path, advice: str, *, new: bool = False) -> None:
    """Made, with all above it, for its owner alone; a `new` one must not be there yet."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=not new)
        folder.chmod(0o700)
    except OSError as error:
        raise FederationError(f"{folder} cannot be made ({error.strerror}).", advice) from None


def _unwritable(path: Path, error: OSError) -> Exception:
    if error.errno in NO_ROOM:
        return error
    return FederationError(
        f"{path} cannot be written ({error.strerror}).", "Choose a new folder that you may write."
    )


def pem(key: Ed25519PrivateKey | X25519PrivateKey | ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _framed(kind: str, content: bytes) -> bytes:
    """The kind is signed too: a signature on one kind of document is worth nothing on another."""
    return f"coterie {kind} 1\n".encode() + content


def _load(path: Path) -> object:
    try:
        if path.stat().st_mode & 0o077:
            raise FederationError(
                f"The key file {path} can be read by others.", f"Close it first: chmod 600 {path}"
            )
        return serialization.load_pem_private_key(path.read_bytes(), password=None)
    except (OSError, ValueError, TypeError):
        raise _unreadable(path.parent) from None


def _unreadable(folder: Path) -> FederationError:
    return FederationError(
        f"The keys in {folder} cannot be read.", "Name the folder that `init` or `join` made, unchanged."
    )


# A secret for one reader, through hands that must not read it: X25519, HKDF-SHA-256, ChaCha20-Poly1305.
#
# A fresh key pair for every message; the reader's key and the purpose are bound in, so that a sealed secret
# cannot be replayed to another reader or in another study.

_NONCE = 12


def seal(secret: bytes, reader: str, purpose: str) -> str:
    """base64(ephemeral key ‖ nonce ‖ ciphertext) for the X25519 key `reader`."""
    ephemeral = X25519PrivateKey.generate()
    mine = ephemeral.public_key().public_bytes_raw()
    theirs = raw_key(reader)
    try:
        shared = ephemeral.exchange(X25519PublicKey.from_public_bytes(theirs))
    except ValueError:
        raise FederationError("Nothing can be sealed to this key.", "Its owner needs new ones.") from None
    nonce = secrets.token_bytes(_NONCE)
    context = purpose.encode()
    sealed = ChaCha20Poly1305(_key(shared, mine + theirs, context)).encrypt(nonce, secret, context)
    return as_text(mine + nonce + sealed)


def unseal(sealed: str, key: X25519PrivateKey, purpose: str) -> bytes:
    try:
        raw = base64.b64decode(sealed, validate=True)
        theirs, nonce, body = raw[:32], raw[32 : 32 + _NONCE], raw[32 + _NONCE :]
        shared = key.exchange(X25519PublicKey.from_public_bytes(theirs))
        own = key.public_key().public_bytes_raw()
        context = purpose.encode()
        return ChaCha20Poly1305(_key(shared, theirs + own, context)).decrypt(nonce, body, context)
    except (InvalidTag, ValueError):
        raise FederationError(
            "The sealed group key cannot be opened with this owner's key.",
            "It was sealed for somebody else or changed on the way: tell the lead owner.",
        ) from None


def _key(shared: bytes, parties: bytes, context: bytes) -> bytes:
    return HKDF(SHA256(), 32, salt=parties, info=b"coterie seal 1\n" + context).derive(shared)


# An owner's part under a key of its own: the aggregator keeps the chunks, and cannot read them before it has the key.
#
# The key is drawn for one part of one study, so the number of a chunk is nonce enough; study and number are bound in.

OVERHEAD_BYTES = 16


def new_key() -> bytes:
    """A new key for one part, or for the pseudonyms of one study."""
    return secrets.token_bytes(32)


def seal_chunk(data: bytes, key: bytes, study: str, number: int) -> bytes:
    return ChaCha20Poly1305(key).encrypt(number.to_bytes(12, "big"), data, _place(study, number))


def open_chunk(data: bytes, key: bytes, study: str, number: int) -> bytes:
    try:
        return ChaCha20Poly1305(key).decrypt(number.to_bytes(12, "big"), data, _place(study, number))
    except InvalidTag:
        raise FederationError(
            "A chunk of the contribution is wrong: its key does not open it.", "Ask the owner what it sent."
        ) from None


def _place(study: str, number: int) -> bytes:
    return f"coterie chunk 1\n{study} {number}".encode()


# New keys in the place of old ones, without losing what was begun under the old: those stay in the folder `former`.
#
# The new keys wait in `keys-next` until the other side may learn of them; then a mark is made there. Whoever loads the keys
# of a folder finishes a change that was marked and cut off.

NEXT, FORMER, _MARK = "keys-next", "former", "accepted"


def next_keys(folder: Path) -> Keys:
    """Made once: a change that was cut off goes on with the same ones."""
    place = folder / NEXT
    place.mkdir(mode=0o700, exist_ok=True)
    return Keys.made(place)


def use_next_keys(folder: Path, old: Keys) -> Keys:
    """Use the next keys from now on. The old ones still sign and open what names them."""
    former = folder / FORMER / fingerprint(old.public).removeprefix("SHA256:")
    former.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in (SIGNING, SEALING):
        keep_private(former / name, (folder / name).read_bytes())
    # What the other side remembers of our diary was marked with this.
    keep_private(folder / WITNESS, old.witness)
    keep_private(folder / NEXT / _MARK, b"")
    return current_keys(folder)


def current_keys(folder: Path) -> Keys:
    place = folder / NEXT
    if (place / _MARK).exists():
        for name in (SIGNING, SEALING):
            keep_private(folder / name, (place / name).read_bytes())
        shutil.rmtree(place)
    return Keys.load(folder)


def former_keys(folder: Path) -> Iterator[tuple[Path, Keys]]:
    for place in sorted((folder / FORMER).glob("*")):
        yield place, Keys.load(place)
