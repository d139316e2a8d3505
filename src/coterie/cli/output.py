"""How the command speaks: tables for people, JSON for programs, errors on standard error."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape

from coterie.errors import CoterieError

console = Console(highlight=False)
errors = Console(stderr=True, highlight=False)

# Okabe–Ito colours, told apart by colour-blind readers; the word is always printed too.
STATUS_STYLE = {
    "proved": "bold #009E73",
    "bounded": "#56B4E9",
    "conditional": "#E69F00",
    "heuristic": "#E69F00",
    "refuted": "bold #D55E00",
    "none": "dim",
}


def wants_json(arguments: Sequence[str]) -> bool:
    return "--json" in arguments


def print_json(content: Any) -> None:
    print(json.dumps(content, indent=2, ensure_ascii=False))


def print_error(
    error: CoterieError, *, as_json: bool, exit_code: int | None = None, name: str | None = None
) -> None:
    if as_json:
        content = {"error": name or type(error).__name__, "problem": error.problem, "advice": error.advice}
        if error.detail:
            content["detail"] = error.detail
        errors.print_json(json.dumps({**content, "exit_code": exit_code or error.exit_code}))
    else:
        errors.print(f"[bold #D55E00]Error:[/] {escape(error.located)}\n       {escape(error.advice)}")


def styled_status(status: str) -> str:
    return f"[{STATUS_STYLE[status]}]{status}[/]"
