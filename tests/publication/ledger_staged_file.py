"""A staged file as `coterie.publication.staging` makes it, small enough to be killed at every line."""

from __future__ import annotations

import hashlib
import os
import secrets
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class StagedFile:
    temporary: Path
    target: Path
    sha256: str

    @classmethod
    def write(cls, target: Path, content: bytes, temporary: Path | None = None) -> StagedFile:
        temporary = temporary or cls.temporary_for(target)
        temporary.write_bytes(content)
        return cls(temporary, target, hashlib.sha256(content).hexdigest())

    @staticmethod
    def temporary_for(target: Path) -> Path:
        return target.with_name(f".{target.name}.{secrets.token_hex(4)}.partial")

    def publish(self) -> None:
        os.replace(self.temporary, self.target)

    def discard(self) -> None:
        self.temporary.unlink(missing_ok=True)
