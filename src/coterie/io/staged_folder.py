"""A folder of part files, written completely under a hidden name, then renamed."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from coterie.errors import CertificateError, OutputError
from coterie.io.hold import Hold
from coterie.io.part_files import folder_digest

PARTS = "parts"  # inside a hidden folder that no ledger knows
_EARLIER = ".earlier"
EARLIER = PARTS + _EARLIER


@dataclass(frozen=True)
class StagedFolder:
    """As StagedFile; `sha256` is the digest over all parts."""

    target: Path
    temporary: Path
    sha256: str
    size: int
    force: bool
    hold: Hold | None = field(
        default=None, repr=False, compare=False
    )  # of the hidden folder around `temporary`

    over = "part files"

    def publish(self) -> None:
        if not self.temporary.exists():
            if digest_or_none(self.target) != self.sha256:
                raise OutputError(
                    f"The staged folder for {self.target} is gone.",
                    "Something removed it; write the output again.",
                )
            return
        if os.path.lexists(self.target) and not self.force:
            raise OutputError(
                f"{self.target} exists already.", "Choose another name, or replace it with --force."
            )
        put_folder(self.temporary, self.target)
        if self.hold is not None:
            self.discard()

    def discard(self) -> None:
        if self.hold is None:
            remove_any(self.temporary)
        else:
            remove_any(self.temporary.parent)
            self.hold.let_go()


def put_folder(temporary: Path, target: Path) -> None:
    """The finished folder takes the name; what had it before goes only then. Can be repeated after a kill."""
    earlier = temporary.with_suffix(_EARLIER)
    if os.path.lexists(target):
        os.rename(target, earlier)
    os.rename(temporary, target)
    remove_any(earlier)


def digest_or_none(folder: Path) -> str | None:
    try:
        return folder_digest(folder)
    except CertificateError:
        return None


def remove_any(path: Path) -> None:
    """A file, a folder, or nothing."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
