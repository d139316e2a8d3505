"""`coterie …` as a shell runs it, in this process: a start of Python costs more than most commands do."""

from __future__ import annotations

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import Any

import pytest

from coterie.cli import main
from coterie.cli.output import console, errors


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def words(self) -> str:
        """Both outputs on one line, as if the terminal were wide."""
        return " ".join((self.out + " " + self.err).replace("│", " ").split())

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def run_command(*words: object) -> Ran:
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["coterie", *map(str, words)])
        for screen in (console, errors):  # as wide as COLUMNS says now, not when this process first asked
            patch.setattr(screen, "_width", None)
        with pytest.raises(SystemExit) as ended:
            main()
    code = ended.value.code
    return Ran(code if isinstance(code, int) else int(code is not None), out.getvalue(), err.getvalue())
