"""A file that only its owner may read, from its first byte."""

from __future__ import annotations

import os
from pathlib import Path


def ensure_private(path: Path) -> None:
    """Make an empty file of mode 0600, for SQLite to fill: by itself it makes what the umask leaves, mostly 0644.

    Its journals take the mode of the file. One that exists keeps its mode: whoever shares it with a group, does so.
    """
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
