"""How studies look on a terminal: the same for aggregators and owners."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from coterie.cli.output import console

AsJson = Annotated[bool, typer.Option("--json", help="Machine-readable output.")]
_GOOD, _BAD = {"RELEASED", "ACCEPTED"}, {"FAILED", "EXPIRED", "CANCELLED", "REFUSED", "REJECTED", "WITHDRAWN"}


def styled(state: str) -> str:
    colour = "#009E73" if state in _GOOD else "#D55E00" if state in _BAD else "#56B4E9"
    return f"[bold {colour}]{state}[/]"


def print_studies(studies: list[dict[str, Any]]) -> None:
    if not studies:
        console.print("There is no study yet.")
        return
    table = Table(title="Studies", title_justify="left")
    for heading in ("id", "title", "state", "kind", "method", "ε", "k", "deadline"):
        table.add_column(heading, overflow="fold")
    for study in studies:
        table.add_row(
            study["id"][:12],
            escape(study["title"]),
            styled(study["state"]),
            study["fragmentation"],
            escape(study["method"]),
            study["epsilon"],
            str(study["k"]),
            study["deadline"],
        )
    console.print(table)


def print_study(study: dict[str, Any], diary: list[dict[str, Any]] | None = None) -> None:
    reason = f": {escape(study['reason'])}" if study["reason"] else ""
    console.print(f"[bold]{escape(study['title'])}[/]  {styled(study['state'])}{reason}")
    console.print(f"  id {study['id']}")
    console.print(
        f"  {study['fragmentation']} · {escape(study['method'])} · ε {study['epsilon']} · k {study['k']} · "
        f"deadline {study['deadline']} · at least {study['minimum']} owners"
    )
    table = Table()
    for heading in ("owner", "state", "ε", "chunks", "bytes", "reason"):
        table.add_column(heading, overflow="fold")
    for part in study["owners"]:
        table.add_row(
            escape(part["owner"]),
            styled(part["state"]),
            part["epsilon"],
            f"{part['received']}/{part['chunks']}",
            f"{part['bytes']:,}",
            escape(part["reason"] or ""),
        )
    console.print(table)
    for entry in reversed(diary or []):
        known = {"number", "at", "event", "seal", "study"}
        rest = " · ".join(f"{name} {value}" for name, value in entry.items() if name not in known)
        console.print(f"  {entry['at']}  {escape(entry['event'])}  {escape(rest)}")
