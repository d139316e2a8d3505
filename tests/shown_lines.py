"""Run the lines that a page shows, as if they were pasted into a shell and into Python.

A real shell splits the commands into words; then they run in this process, for a start of Python costs more than most of
them do. That the words also start a process is for the tests of the commands themselves, and of the choose page.
"""

from __future__ import annotations

import io
import subprocess
from contextlib import chdir, redirect_stdout
from pathlib import Path

from typer.testing import CliRunner

from coterie.cli.app import app

_PRINTS_ITS_WORDS = 'coterie() { printf \'%s\\0\' "$#" "$@"; }'


def run_lines(folder: Path, *lines: tuple[str, str]) -> str:
    """Titles and texts as a page has them; returns what they print. Fails with the first that fails."""
    with chdir(folder):
        return "".join(_python(text) if "Python" in title else _commands(text) for title, text in lines)


def _commands(text: str) -> str:
    shell = subprocess.run(
        ["bash", "-euc", f"{_PRINTS_ITS_WORDS}\n{text}"], capture_output=True, text=True, check=True
    )
    said, rest = "", shell.stdout.split("\0")
    while rest != [""]:
        words, rest = rest[1 : int(rest[0]) + 1], rest[int(rest[0]) + 1 :]
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, f"{words}\n{done.output}\n{done.exception!r}"
        said += done.output
    assert said, f"no command in:\n{text}"
    return said


def _python(text: str) -> str:
    imported = [line for line in text.splitlines() if line.startswith(("import ", "from "))]
    assert set(imported) <= {
        "import coterie",
        "from coterie.studio.sampling import sample_rows",
        "from coterie.studio.sampling import sample_and_control",
    }, "public names only"
    with redirect_stdout(io.StringIO()) as said:
        exec(compile(text, "shown", "exec"), {"__name__": "__main__"})
    return said.getvalue()
