"""A run that holds the whole table keeps what it freed; one with a limit of memory, and a server, give it back."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import os, sys
import coterie.cli
assert "pyarrow" not in sys.modules  # the pool looks only once, when it is loaded
coterie.cli.app = lambda **_: print(os.environ.get("MIMALLOC_PURGE_DELAY"))
for arguments in {lines!r}:
    os.environ.pop("MIMALLOC_PURGE_DELAY", None)
    sys.argv[1:] = arguments
    coterie.cli.main()
"""


LINES = [
    (["protect", "in.parquet"], "-1"),
    (["protect", "in.parquet", "--memory", "2GB"], "None"),
    (["protect", "in.parquet", "--memory=2GB"], "None"),
    (["studio"], "None"),
    ([], "None"),
]


def test_freed_memory_is_kept_only_by_runs_without_a_limit() -> None:
    script = SCRIPT.format(lines=[arguments for arguments, _ in LINES])
    child = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert child.stdout.split() == [delay for _, delay in LINES]
