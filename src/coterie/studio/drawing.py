"""The one draw of real noise: reads the table, protects it, charges it and writes the files; tells how far it is."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any

from coterie.errors import DataError, LedgerError
from coterie.publication.ledger import Ledger
from coterie.publication.protect import protect
from coterie.publication.publishing import Destination, publish_charged
from coterie.publication.release import Release
from coterie.studio.plan import Plan, made_from
from coterie.studio.planning import JOURNAL, purpose
from coterie.studio.project import Project
from coterie.table.hidden_files import put_file


@dataclass(slots=True)
class Progress:
    thread: Thread | None = None
    attributes: int = 1
    done: int = 0
    words: str = "Beginning"
    started: float = field(default_factory=time.monotonic)

    def shown(self) -> dict[str, Any]:
        """As a job is shown, so that the same script follows it."""
        seconds, share = time.monotonic() - self.started, self.done / (self.attributes + 1)
        if (
            self.done >= self.attributes
        ):  # how long rows and files take, nobody can say: better no number than a wrong one
            share = 0.0
        left = seconds * (1 - share) / share if share else None
        return {
            "kind": "release",
            "state": "running",
            "share": share or None,
            "words": self.words,
            "seconds": round(seconds, 1),
            "left": None if left is None else round(left, 1),
        }


def draw(project: Project, plan: Plan, destination: Destination, progress: Progress) -> None:
    schema, choice = project.schema(), plan.choice

    def protected(what: str, done: float, total: float) -> None:
        progress.done += 1
        progress.words = f"Drawing noise: {progress.done} of {progress.attributes} attributes"
        if progress.done == progress.attributes:
            progress.words = "Putting the rows together and writing the files"

    def make() -> Release:
        progress.words = "Reading the table"
        table = project.typed_table()
        if made_from(Project(project.folder)) != plan.made_from:
            raise DataError("The table or its description was changed meanwhile.", "Plan the release again.")
        progress.words = "Grouping the records"
        return protect(
            table,
            schema,
            method=choice.method,
            epsilon=choice.epsilon or None,
            k=choice.k,
            grouping=choice.grouping,
            shuffle=choice.shuffle,
            clip=choice.clip,
            progress=protected,
        )

    book = book_of(project, plan)
    if plan.ledger is None and not book.exists():
        _make_journal(book)
    with Ledger.open(book) as ledger:
        publish_charged(make, destination, ledger, purpose(plan, schema, destination.shown))


def never() -> Release:
    raise LedgerError("This release was charged before; its noise is not drawn again.", "See the ledger.")


def book_of(project: Project, plan: Plan) -> Path:
    return Path(plan.ledger) if plan.ledger else project.folder / "journal.sqlite"


def _make_journal(book: Path) -> None:
    """Whole or not at all: a journal that is there has its account, whenever the studio was killed."""
    new = book.with_name("journal.new")
    for left in (new, new.with_name(f"{new.name}-journal")):
        left.unlink(missing_ok=True)
    Ledger.add_population(new, JOURNAL, 10**300)
    put_file(new, book)
