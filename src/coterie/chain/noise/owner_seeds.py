"""Seeds of experiments: each owner its own stream. With one seed for all, their noise would be the same."""

from __future__ import annotations

import hashlib


def owner_seed(seed: int, owner: str) -> int:
    """A function of the study's seed and the owner's name, so that a study can be repeated in one process."""
    digest = hashlib.sha256(f"coterie study seed\n{seed}\n{owner}".encode()).digest()
    return int.from_bytes(digest[:7], "big")
