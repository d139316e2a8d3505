"""Random words: AES-256 in counter mode under a secret key, so that every word has a number and can be found again.

Nobody without the key tells the words from uniform ones (AES as a pseudorandom permutation; at most 2^40 blocks of
128 bits are read under one key, so that the absence of equal blocks tells nothing either).
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from coterie.schema.arrays import Whole

KEY_BYTES = 32
BLOCK = 16  # bytes
_zeros = bytes(1 << 20)


def fresh_key() -> bytes:
    """The only source of randomness of a real release: the operating system's."""
    return os.urandom(KEY_BYTES)


@dataclass(frozen=True, slots=True)
class Keystream:
    """Blocks of 16 bytes numbered (part, number): the cipher's answer to that number, big-endian."""

    key: bytes = field(repr=False)

    @classmethod
    def named(cls, secret: bytes, purpose: str, stream: str) -> Keystream:
        """A key of its own for each purpose and stream: words are never used twice."""
        name = f"{purpose}\x00{stream}".encode()
        return cls(hashlib.blake2b(name, key=secret, person=b"coterie noise", digest_size=KEY_BYTES).digest())

    def range(self, part: int, first: int, blocks: int) -> NDArray[np.uint8]:
        """Blocks first … first+blocks-1."""
        start = part.to_bytes(4, "big") + first.to_bytes(12, "big")
        encryptor = Cipher(algorithms.AES256(self.key), modes.CTR(start)).encryptor()
        out = np.empty(blocks * BLOCK, dtype=np.uint8)
        view = out.data
        for begin in range(0, len(out), len(_zeros)):
            piece = view[begin : begin + len(_zeros)]
            encryptor.update_into(_zeros[: len(piece)] if len(piece) < len(_zeros) else _zeros, piece)
        return out

    def chosen(self, part: int, numbers: Whole, blocks: int) -> NDArray[np.uint8]:
        """Blocks number·blocks … number·blocks+blocks-1 for each of the numbers, one after the other."""
        counters = np.zeros((len(numbers), blocks, 2), dtype=">u8")
        counters[:, :, 0] = part << 32
        counters[:, :, 1] = numbers[:, np.newaxis] * blocks + np.arange(blocks)
        # ECB of counters: counter mode by hand.
        encryptor = Cipher(algorithms.AES256(self.key), modes.ECB()).encryptor()
        return np.frombuffer(encryptor.update(counters.tobytes()), dtype=np.uint8)
