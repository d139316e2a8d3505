"""A secret for one reader, through hands that must not read it: X25519, HKDF-SHA-256, ChaCha20-Poly1305.

A fresh key pair for every message; the reader's key and the purpose are bound in, so that a sealed secret
cannot be replayed to another reader or in another study.
"""

from __future__ import annotations

import base64
import secrets

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from coterie.federation.errors import FederationError
from coterie.federation.keys import as_text, raw_key

_NONCE = 12


def seal(secret: bytes, reader: str, purpose: str) -> str:
    """base64(ephemeral key ‖ nonce ‖ ciphertext) for the X25519 key `reader`."""
    ephemeral = X25519PrivateKey.generate()
    mine = ephemeral.public_key().public_bytes_raw()
    theirs = raw_key(reader)
    shared = ephemeral.exchange(X25519PublicKey.from_public_bytes(theirs))
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
