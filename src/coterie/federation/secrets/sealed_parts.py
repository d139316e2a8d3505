"""An owner's part under a key of its own: whoever carries or keeps the chunks cannot read them until the key comes.

The key is drawn for one part of one study, so the number of a chunk is nonce enough; study and number are bound in.
"""

from __future__ import annotations

import secrets

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from coterie.federation.errors import FederationError

OVERHEAD_BYTES = 16


def new_part_key() -> bytes:
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
