"""What `coterie aggregator` and `coterie owner` print: guides, studies and events."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Annotated, Any

from rich.markup import escape
from typer import Argument

from coterie.cli.output import console, table_of
from coterie.federation.errors import FederationError

AGGREGATOR = """Several owners, one release: the aggregator asks, collects and joins. It never sees a raw row.

  1. coterie aggregator init ./aggregator --url https://aggregator.example:8443

  2. coterie aggregator serve ./aggregator                       leave it running

  3. coterie aggregator invite ./aggregator hospital-a --output hospital-a.invitation    one for each owner

  4. coterie aggregator study new ./aggregator study.yaml        the owners are asked

  5. coterie aggregator study release ./aggregator STUDY --output release.parquet

Exit codes: 0 done · 2 command line · 5 parameter · 6 output · 10 optional part missing · 11 a document, folder or setting ·
16 conflict · 18 the study ended without a release.
"""

OWNER = """Take part in a study without showing anybody a raw row. This process only connects outward; no port is opened.

  1. coterie owner join hospital-a.invitation --home ./owner          once

  2. coterie ledger init ./owner/ledger.sqlite --population patients --lifetime 10

  3. coterie owner run --home ./owner                                 leave it running

  4. coterie owner inspect --home ./owner                             what is asked of you

  5. coterie owner approve STUDY --home ./owner --data patients.parquet --population patients

Instead of step 5, a policy.yaml in the folder can decide (docs/how-to/federate.md).

Exit codes: 0 done · 2 command line · 8 ledger · 9 budget exceeded · 10 optional part missing · 11 a document, folder or
setting · 12 TLS failed or another aggregator's key · 13 the aggregator does not accept this key, or a clock is off ·
14 no common protocol version · 15 invitation used or expired · 16 another process uses this key, or it is too
late to decide · 17 your table or budget does not fit · 19 not reachable.
"""


StudyName = Annotated[
    str, Argument(metavar="STUDY", help="The study's id, or its first characters (at least 6).")
]


def chosen(ids: Iterable[str], study: str, lists: str) -> str:
    """The one id that begins like that; `lists` is the command that shows them."""
    matches = [name for name in ids if len(study) >= 6 and name.startswith(study)]
    if len(matches) != 1:
        problem = "Several studies begin like that." if matches else "There is no such study."
        raise FederationError(problem, f"`{lists}` lists them.")
    return matches[0]


# How studies and events look on a terminal: the same for aggregators and owners.

_GOOD, _BAD = {"RELEASED", "ACCEPTED"}, {"FAILED", "EXPIRED", "CANCELLED", "REFUSED", "REJECTED", "WITHDRAWN"}


def styled(state: str) -> str:
    colour = "#009E73" if state in _GOOD else "#D55E00" if state in _BAD else "#56B4E9"
    return f"[bold {colour}]{state}[/]"


def print_studies(studies: list[dict[str, Any]]) -> None:
    if not studies:
        console.print("There is no study yet.")
        return
    rows = (
        (
            study["id"][:12],
            escape(study["title"]),
            styled(study["state"]) + (" needs attention" if study["attention"] else ""),
            study["fragmentation"],
            escape(study["method"]),
            study["epsilon"],
            str(study["k"]),
            study["deadline"],
        )
        for study in studies
    )
    headings = ("id", "title", "state", "kind", "method", "ε", "k", "deadline")
    console.print(table_of(rows, headings, whole=("id", "state"), title="Studies", title_justify="left"))


def print_study(study: dict[str, Any], diary: list[dict[str, Any]] | None = None) -> None:
    reason = f": {escape(study['reason'])}" if study["reason"] else ""
    console.print(f"[bold]{escape(study['title'])}[/]  {styled(study['state'])}{reason}")
    if study["attention"]:
        console.print(f"  [bold #D55E00]Needs attention:[/] {escape(study['attention'])}.")
    console.print(f"  id {study['id']}")
    console.print(
        f"  {study['fragmentation']} · {escape(study['method'])} · ε {study['epsilon']} · k {study['k']} · "
        f"deadline {study['deadline']} · at least {study['minimum']} owners"
    )
    rows = (
        (
            escape(part["owner"]),
            styled(part["state"]),
            part["epsilon"],
            f"{part['received_percent']} %",
            escape(part["reason"] or ""),
        )
        for part in study["owners"]
    )
    console.print(table_of(rows, ("owner", "state", "ε", "received", "reason")))
    print_diary(reversed(diary or []), "study")


def print_diary(entries: Iterable[dict[str, Any]], *known: str) -> None:
    """`known`: what need not be said of every entry."""
    hidden = {"number", "at", "event", "seal", *known}
    for entry in entries:
        rest = " · ".join(f"{name} {value}" for name, value in entry.items() if name not in hidden)
        console.print(f"  {entry['at']}  {escape(entry['event'])}  {escape(rest)}")


class _JsonLines(logging.Formatter):
    """One line per event: when, how bad, what; a study's id and state where the event is about one."""

    def format(self, record: logging.LogRecord) -> str:
        named = {name: getattr(record, name) for name in ("study", "state") if hasattr(record, name)}
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        event = getattr(record, "event", "log")
        content = {"event": event, "at": at, "level": record.levelname.lower(), **named}
        return json.dumps({**content, "text": record.getMessage()})


@contextmanager
def log_lines(*, as_json: bool) -> Iterator[None]:
    """The service's own words while it runs: lines for people on standard error, or JSON on standard output.

    Whoever calls a command from a program of its own gets its logging back as it was.
    """
    handler = logging.StreamHandler(sys.stdout if as_json else sys.stderr)
    plain = logging.Formatter("%(asctime)s %(levelname)s %(message)s")
    handler.setFormatter(_JsonLines() if as_json else plain)
    # Nothing of alembic's but warnings: it tells of every look at the database.
    levels = {logging.getLogger(): logging.INFO, logging.getLogger("alembic"): logging.WARNING}
    before = {logger: logger.level for logger in levels}
    for logger, level in levels.items():
        logger.setLevel(level)
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)
        for logger, level in before.items():
            logger.setLevel(level)
