"""How the command speaks: tables for people, JSON for programs, errors on standard error."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

from rich import box
from rich.console import Console, RenderableType
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from coterie.errors import CoterieError

# Names and reasons may be written by other parties: nothing of theirs steers a terminal.
_STEERING = dict.fromkeys(
    (*range(9), *range(11, 32), *range(127, 160), *range(8234, 8239), *range(8294, 8298)), "�"
)


class _Console(Console):
    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(text.translate(_STEERING), **options)


console = _Console(highlight=False)
errors = _Console(stderr=True, highlight=False)

# Okabe–Ito colours, told apart by colour-blind readers; the word is always printed too.
STATUS_STYLE = {
    "proved": "bold #009E73",
    "bounded": "#56B4E9",
    "conditional": "#E69F00",
    "heuristic": "#E69F00",
    "refuted": "bold #D55E00",
    "none": "dim",
}


# A table with one line below its headings.
PLAIN: dict[str, Any] = {"box": box.SIMPLE_HEAD, "padding": (0, 1, 0, 0)}


def wants_json(arguments: Sequence[str]) -> bool:
    return "--json" in arguments


def print_json(content: Any) -> None:
    print(json.dumps(content, indent=2, ensure_ascii=False))


def say(content: Any, *lines: RenderableType, as_json: bool) -> None:
    """JSON for programs, or lines and what else can be drawn for people."""
    if as_json:
        print_json(content)
    else:
        for line in lines:
            console.print(line)


def say_event(content: Any, *lines: str, as_json: bool) -> None:
    """The same while a service runs: one line of JSON per event."""
    if as_json:
        print(json.dumps(content), flush=True)
    else:
        for line in lines:
            console.print(line, soft_wrap=True)


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


def note(words: str, *, before: str = "Note", to: Console = console) -> None:
    to.print(f"[#E69F00]{before}:[/] {escape(words)}")


def warn(words: str) -> None:
    console.print(f"[bold #D55E00]Warning:[/] {escape(words)}")


def listed(text: str) -> list[str]:
    """Words separated by commas."""
    return [word.strip() for word in text.split(",") if word.strip()]


def table_of(
    rows: Iterable[Sequence[str]],
    headings: Sequence[str],
    *,
    whole: Collection[str] = (),
    right: Collection[str] = (),
    **settings: Any,
) -> Table:
    """Columns that are `whole` never wrap; those on the `right` hold numbers."""
    table = Table(**settings)
    for heading in headings:
        justify: Literal["right", "left"] = "right" if heading in right else "left"
        table.add_column(escape(heading), justify=justify, no_wrap=heading in whole, overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def promise_line(status: str, label: str) -> str:
    return f"Promise: {styled_status(status)}. {escape(label)}."


def print_certificate(issued: str, status: str, lines: Iterable[tuple[str, str]]) -> None:
    """A certificate is a file from elsewhere, and names of columns may hold brackets: all of it is escaped."""
    text = "\n".join(
        f"[bold]{heading:11}[/] {f'{styled_status(status)}: ' if heading == 'Promise' else ''}{escape(content)}"
        for heading, content in lines
    )
    console.print(Panel(text, title=f"Certificate of {escape(issued)}", expand=False))


def next_steps(source: Any, released: Any, schema: Any, opening: str) -> None:
    """The way from a release to a dossier that somebody signs."""
    both = shlex.join([str(source), str(released), "--schema", str(schema)])
    release = shlex.quote(str(released))
    console.print(opening)
    for command in (
        f"coterie evaluate {both} --output checks",
        f"coterie audit {both} --control OTHERS --output checks",
        f"coterie dossier {release}",
    ):
        console.print(f"  {escape(command)}", soft_wrap=True)
    console.print(
        "[dim]OTHERS: people of the same population who are not in the table. Without them, leave --control out: some "
        "attacks then give no verdict.[/]"
    )


def bar(counted: str, *, quiet: bool) -> Any:
    """How far something is, as `rich.progress.Progress` shows it; `counted` says in what."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn(counted), TimeElapsedColumn())
    left = (TextColumn("left:"), TimeRemainingColumn())
    return Progress(*columns, *left, console=errors, transient=True, disable=quiet)


@contextmanager
def spinner(words: str, *, quiet: bool) -> Iterator[Callable[[str], None]]:
    """A line that says what is being done; call what it gives to change the words."""
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=errors, transient=True, disable=quiet) as bar:
        task = bar.add_task(words, total=None)
        yield lambda told: bar.update(task, description=escape(told))
