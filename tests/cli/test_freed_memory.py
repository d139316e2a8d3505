"""A run that holds the whole table keeps what it freed; one with a limit of memory, and a server, give it back."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

SCRIPT = """
import os, sys
import coterie.cli
assert "pyarrow" not in sys.modules  # the pool looks only once, when it is loaded
coterie.cli.app = lambda **_: print(os.environ.get("MIMALLOC_PURGE_DELAY"))
sys.argv[1:] = {arguments!r}
coterie.cli.main()
"""


@pytest.mark.parametrize(
    ("arguments", "delay"),
    [
        (["protect", "in.parquet"], "-1"),
        (["protect", "in.parquet", "--memory", "2GB"], "None"),
        (["protect", "in.parquet", "--memory=2GB"], "None"),
        (["studio"], "None"),
        ([], "None"),
    ],
)
def test_freed_memory_is_kept_only_by_runs_without_a_limit(arguments: list[str], delay: str) -> None:
    script = SCRIPT.format(arguments=arguments)
    clean = {name: value for name, value in os.environ.items() if name != "MIMALLOC_PURGE_DELAY"}
    child = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=clean
    )
    assert child.stdout.split() == [delay]
