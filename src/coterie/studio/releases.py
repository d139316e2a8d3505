"""Releases under way. Never twice: a plan is begun once, and how it ended is read from the ledger.

A release runs in a thread of the server, not in the worker, which may be cancelled. The intent is on the disk before any
noise is drawn. Whatever ends the server, the next look at the project opens the ledger, which finishes what was charged
and gives back what was not (coterie.ledger), and finds the plan's own entry by its fingerprint.

A release that no ledger counts goes the same way through a journal in the project's folder: a ledger that counts
releases instead of ε, so that there is one road, and one place where it can be wrong.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from coterie.errors import CoterieError, DataError, LedgerError, ParameterError
from coterie.ledger import Entry, Ledger, State, without_credentials
from coterie.publishing import Destination, publish_charged
from coterie.release import Release, protect
from coterie.studio.plan import Plan, made_from, read_plan, write_plan
from coterie.studio.planning import JOURNAL, Asked, inputs, plan_of, purpose
from coterie.studio.project import Project, Released

_UNDER_WAY = ParameterError(
    "A release of this project is under way or not settled yet.", "See what became of it first."
)


@dataclass(slots=True)
class Progress:
    thread: threading.Thread | None = None
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


class Releases:
    def __init__(self) -> None:
        self._locks: dict[str, threading.Lock] = {}
        self._running: dict[str, Progress] = {}
        self._addresses: dict[str, str] = {}  # of databases, with their passwords: in memory only

    def plan(self, project: Project, asked: Asked) -> Plan:
        """A new plan takes the place of one that was never begun, whose confirmation page is then worth nothing."""
        plan = plan_of(project, asked)
        with self._lock(project):
            old = read_plan(project)
            if old is not None and old.state in ("begun", "waiting"):
                raise _UNDER_WAY
            write_plan(project, plan)
        self._addresses[plan.id] = asked.address
        return plan

    def begin(self, project: Project, identity: str) -> None:
        """Draw the noise of this plan, once. Asked again for the same plan, do nothing."""
        with self._lock(project):
            plan = read_plan(project)
            if plan is None or plan.id != identity:
                raise ParameterError(
                    "This confirmation belongs to an older plan; nothing was released by it.",
                    "Look at the plan that stands here now, or make a new one.",
                )
            if plan.state != "planned":
                return
            if made_from(Project(project.folder)) != plan.made_from:
                raise ParameterError(
                    "The table, its description or the method was changed since this plan was made; nothing was released.",
                    "Plan the release again.",
                )
            destination = self._destination(project, plan)
            write_plan(project, plan.ended("begun"))
            progress = Progress(attributes=len(project.schema().protected))
            self._running[project.id] = progress
            progress.thread = threading.Thread(
                target=self._run, args=(project, plan, destination, progress), name=f"release {project.id}"
            )
            progress.thread.start()

    def look(self, project: Project) -> tuple[Plan | None, Progress | None]:
        """The project's last plan, settled if nobody works on it any more."""
        with self._lock(project):
            plan, progress = read_plan(project), self._running.get(project.id)
            if plan is not None and plan.state == "begun" and progress is None:
                plan = self._settle(project, plan)
            return plan, progress

    def finish(self, project: Project, address: str = "") -> None:
        """Put in place what is charged already. Charges nothing, draws nothing."""
        with self._lock(project):
            plan = read_plan(project)
            if plan is None or plan.state != "waiting" or project.id in self._running:
                return
            if address:
                if without_credentials(address) != plan.data:
                    raise ParameterError("This is another database.", f"Give the address of {plan.data}.")
                self._addresses[plan.id] = address
            plan = self._settle(project, plan)
            if plan.state != "waiting" or plan.table is None:
                return
            destination = self._destination(project, plan)
            with Ledger.open(_book(project, plan)) as ledger:
                publish_charged(
                    _never, destination, ledger, purpose(plan, project.schema(), destination.shown)
                )
            self._settle(project, plan)

    def forgettable(self, project: Project) -> None:
        """Refuse to forget a project whose release is not settled."""
        with suppress(CoterieError):
            self.look(project)
        plan = read_plan(project)
        if plan is not None and plan.state in ("begun", "waiting"):
            raise _UNDER_WAY

    def close(self) -> None:
        """A release that has begun comes to its end before the server does."""
        for progress in list(self._running.values()):
            if progress.thread is not None:
                progress.thread.join()

    def _lock(self, project: Project) -> threading.Lock:
        return self._locks.setdefault(project.id, threading.Lock())

    def _run(self, project: Project, plan: Plan, destination: Destination, progress: Progress) -> None:
        problem = advice = ""
        try:
            _publish(project, plan, destination, progress)
        except CoterieError as error:
            problem, advice = error.problem, error.advice
        except Exception as error:
            # An exception's own text may hold data values: name its kind only.
            problem = f"Something went wrong inside Coterie ({type(error).__name__})."
            advice = "This is a bug: please report what you did."
        with self._lock(project):
            try:
                self._settle(project, plan.ended("begun", problem, advice))
            except CoterieError:  # the next look at the page tries again, and says what is wrong
                write_plan(project, plan.ended("begun", problem, advice))
            finally:
                del self._running[project.id]

    def _settle(self, project: Project, plan: Plan) -> Plan:
        """Which end it came to, by the ledger's word; written down, and recorded as released once."""
        entry, message = _entry(project, plan)
        if entry is None or entry.state is State.ABANDONED:
            plan = plan.ended(
                "nothing",
                plan.problem or "The studio was stopped before anything was published.",
                plan.advice or "Begin anew when you like.",
            )
        elif entry.state is State.RELEASED:
            _record(project, plan, entry)
            plan = plan.ended("done")
        elif entry.state is State.LOST:
            plan = plan.ended("lost", message or "The release is charged, but its files are gone.", _LOST)
        else:
            words = message or plan.problem or "The release is charged, but not all of it is in place."
            plan = plan.ended("waiting", words, "Finishing it costs nothing and draws no noise.")
        write_plan(project, plan)
        return plan

    def _destination(self, project: Project, plan: Plan) -> Destination:
        data = plan.data
        if plan.table is not None:
            data = self._addresses.get(plan.id, plan.data)
        return Destination(
            data=data,
            table=plan.table,
            certificate=Path(plan.certificate),
            internal=Path(plan.internal) if plan.internal else None,
            key=Path(plan.key) if plan.key else None,
            inputs=inputs(project),
        )


_LOST = (
    "Somebody may have seen them, so the charge stays. A further release needs a new plan, and spends again."
)


def _publish(project: Project, plan: Plan, destination: Destination, progress: Progress) -> None:
    schema, choice = project.schema(), plan.choice

    def protected(attribute: str) -> None:
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

    book = _book(project, plan)
    if plan.ledger is None and not book.exists():
        Ledger.add_population(book, JOURNAL, 10**9)
    with Ledger.open(book) as ledger:
        publish_charged(make, destination, ledger, purpose(plan, schema, destination.shown))


def _never() -> Release:
    raise LedgerError("This release was charged before; its noise is not drawn again.", "See the ledger.")


def _book(project: Project, plan: Plan) -> Path:
    return Path(plan.ledger) if plan.ledger else project.folder / "journal.sqlite"


def _entry(project: Project, plan: Plan) -> tuple[Entry | None, str]:
    """The plan's own entry, after the ledger has settled what dead processes left; and what it says about it."""
    book = _book(project, plan)
    if plan.ledger is None and not book.exists():
        return None, ""
    with Ledger.open(book) as ledger:
        for entry in ledger.book().entries.values():
            if entry.purpose.fingerprint == plan.fingerprint:
                said = (told.message for told in ledger.recovered if told.entry.release == entry.release)
                return entry, next(said, "")
    return None, ""


def _record(project: Project, plan: Plan, entry: Entry) -> None:
    current = Project(project.folder)
    if any(released.plan == plan.id for released in current.state.released):
        return
    promise = plan.draft.guarantee
    released = Released(
        plan=plan.id,
        data=plan.data,
        table=plan.table,
        certificate=plan.certificate,
        internal=plan.internal,
        key=plan.key,
        at=entry.changed_at,
        choice=plan.choice,
        cost=plan.cost or "none",
        status=promise.status,
        label=promise.label,
        ledger=plan.ledger,
        population=plan.population,
    )
    current.change(released=(*current.state.released, released))
