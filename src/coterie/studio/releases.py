"""Releases under way. Never twice: a plan is begun once, and how it ended is read from the ledger.

A release runs in a thread of the server, not in the worker, which may be cancelled. The intent is on the disk before any
noise is drawn. Whatever ends the server, the next look at the project opens the ledger, which finishes what was charged
and gives back what was not (coterie.publication.ledger), and finds the plan's own entry by its fingerprint.

A release that no ledger counts goes the same way through a journal in the project's folder: a ledger that counts
releases instead of ε, so that there is one road, and one place where it can be wrong.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import Any, NoReturn

import coterie
from coterie.errors import CoterieError, DataError, LedgerError, ParameterError
from coterie.publication.ledger import Entry, Ledger, ReleaseState, without_credentials
from coterie.publication.publishing import publish_charged
from coterie.studio.jobs import error_in_words, time_left
from coterie.studio.project import PastRelease, Project
from coterie.studio.release_plan import ReleaseForm, ReleasePlan, made_from, plan_of


@dataclass(slots=True)
class DrawProgress:
    thread: threading.Thread | None = None
    attributes: int = 1
    done: int = 0
    words: str = "Beginning"
    started: float = field(default_factory=time.monotonic)

    def shown(self) -> dict[str, Any]:
        """The release as a job is shown, so that the same script follows it."""
        # How long rows and files take, nobody can say: better no number than a wrong one.
        share = self.done / (self.attributes + 1) if 0 < self.done < self.attributes else None
        told = {"kind": "release", "state": "running", "share": share, "words": self.words}
        return {**told, **time_left(self.started, share)}


def draw(project: Project, plan: ReleasePlan, address: str | None, progress: DrawProgress) -> None:
    """Reads the table, protects it, charges it and writes the files; tells how far it is.

    `address`: of a database, with its password, which no plan holds.
    """

    def protected(what: str, done: float, total: float) -> None:
        progress.done = int(progress.attributes * done / total)
        progress.words = f"Drawing noise: {progress.done} of {progress.attributes} attributes"
        if progress.done == progress.attributes:
            progress.words = "Putting the rows together and writing the files"

    progress.words = "Reading the table"
    schema, table = project.schema(), project.typed_table()
    if made_from(Project(project.folder)) != plan.made_from:
        raise DataError("The table or its description was changed meanwhile.", "Plan the release again.")
    progress.words = "Grouping the records"
    book = plan.book(project)
    coterie.publish(
        table,
        schema,
        plan.place(address),
        **plan.choice.settings,
        output_table=plan.table,
        certificate=plan.certificate,
        internal=plan.internal,
        sign=plan.key,
        ledger=book if plan.ledger else None,
        population=plan.population,
        journal=None if plan.ledger else book,
        request=plan.fingerprint,
        despite=plan.despite,
        progress=protected,
    )


def never() -> NoReturn:
    raise LedgerError("This release was charged before; its noise is not drawn again.", "See the ledger.")


_LOST = (
    "Somebody may have seen them, so the charge stays. A further release needs a new plan, and spends again."
)


def settle(project: Project, plan: ReleasePlan) -> ReleasePlan:
    """Opening the ledger finishes what was charged, and gives back what was not."""
    entry, message = _entry(project, plan)
    if entry is None or entry.state is ReleaseState.ABANDONED:
        plan = plan.ended(
            "nothing",
            plan.problem or "The studio was stopped before anything was published.",
            plan.advice or "Begin anew when you like.",
        )
    elif entry.state is ReleaseState.RELEASED:
        _record(project, plan, entry)
        plan = plan.ended("done")
    elif entry.state is ReleaseState.LOST:
        plan = plan.ended("lost", message or "The release is charged, but its files are gone.", _LOST)
    else:
        words = message or plan.problem or "The release is charged, but not all of it is in place."
        plan = plan.ended("waiting", words, "Finishing it costs nothing and draws no noise.")
    plan.write(project)
    return plan


def _entry(project: Project, plan: ReleasePlan) -> tuple[Entry | None, str]:
    """The plan's own entry, after the ledger has settled what dead processes left; and what it says about it."""
    book = plan.book(project)
    if plan.ledger is None and not book.exists():
        return None, ""
    with Ledger.open(book) as ledger:
        for entry in ledger.book().releases(fingerprint=plan.fingerprint):
            said = (told.message for told in ledger.recovered if told.entry.release == entry.release)
            return entry, next(said, "")
    return None, ""


def _record(project: Project, plan: ReleasePlan, entry: Entry) -> None:
    current = Project(project.folder)
    if any(released.plan == plan.id for released in current.state.released):
        return
    promise = plan.draft.guarantee
    released = PastRelease.model_validate(
        {
            **plan.model_dump(include={*PastRelease.model_fields}),
            "plan": plan.id,
            "at": entry.changed_at,
            "cost": plan.cost or "none",
            "status": promise.status,
            "label": promise.label,
        }
    )
    current.change(released=(*current.state.released, released))


_UNDER_WAY = ParameterError(
    "A release of this project is under way or not settled yet.", "See what became of it first."
)


class Releases:
    def __init__(self) -> None:
        self._locks: dict[str, threading.Lock] = {}
        self._running: dict[str, DrawProgress] = {}
        self._addresses: dict[str, str] = {}  # of databases, with their passwords: in memory only

    def plan(self, project: Project, asked: ReleaseForm) -> ReleasePlan:
        """A new plan takes the place of one that was never begun, whose confirmation page is then worth nothing."""
        plan = plan_of(project, asked)
        with self._lock(project):
            old = ReleasePlan.read(project)
            if old is not None and old.state in ("begun", "waiting"):
                raise _UNDER_WAY
            plan.write(project)
        self._addresses[plan.id] = asked.address
        return plan

    def begin(self, project: Project, identity: str, despite: str = "") -> None:
        """Draw the noise of this plan, once. Asked again for the same plan, do nothing."""
        with self._lock(project):
            plan = ReleasePlan.read(project)
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
            plan = plan.model_copy(update={"despite": despite})
            plan.ended("begun").write(project)
            progress = DrawProgress(attributes=len(project.schema().protected))
            self._running[project.id] = progress
            progress.thread = threading.Thread(
                target=self._run, args=(project, plan, progress), name=f"release {project.id}"
            )
            progress.thread.start()

    def look(self, project: Project) -> tuple[ReleasePlan | None, DrawProgress | None, CoterieError | None]:
        """The project's last plan, settled if nobody works on it any more, or what keeps it from being settled."""
        with self._lock(project):
            plan, progress = ReleasePlan.read(project), self._running.get(project.id)
            if plan is None or plan.state != "begun" or progress is not None:
                return plan, progress, None
            try:
                return settle(project, plan), None, None
            except CoterieError as unsettled:
                return plan, None, unsettled

    def finish(self, project: Project, address: str = "") -> None:
        """Put in place what is charged already. Charges nothing, draws nothing."""
        with self._lock(project):
            plan = ReleasePlan.read(project)
            if plan is None or plan.state != "waiting" or project.id in self._running:
                return
            if address:
                if without_credentials(address) != plan.data:
                    raise ParameterError("This is another database.", f"Give the address of {plan.data}.")
                self._addresses[plan.id] = address
            plan = settle(project, plan)
            if plan.state != "waiting" or plan.table is None:
                return
            destination = plan.destination(project, self._addresses.get(plan.id))
            with Ledger.open(plan.book(project)) as ledger:
                purpose = plan.purpose(project.schema(), destination.shown)
                publish_charged(never, destination, ledger, purpose)
            settle(project, plan)

    def forgettable(self, project: Project) -> None:
        """Refuse to forget a project whose release is not settled."""
        plan, _, _ = self.look(project)
        if plan is not None and plan.state in ("begun", "waiting"):
            raise _UNDER_WAY

    def close(self) -> None:
        """A release that has begun comes to its end before the server does."""
        for progress in list(self._running.values()):
            if progress.thread is not None:
                progress.thread.join()

    def _lock(self, project: Project) -> threading.Lock:
        return self._locks.setdefault(project.id, threading.Lock())

    def _run(self, project: Project, plan: ReleasePlan, progress: DrawProgress) -> None:
        problem = advice = ""
        try:
            draw(project, plan, self._addresses.get(plan.id), progress)
        except Exception as error:
            problem, advice = error_in_words(error)
        with self._lock(project):
            try:
                settle(project, plan.ended("begun", problem, advice))
            except CoterieError:  # the next look at the page tries again, and says what is wrong
                plan.ended("begun", problem, advice).write(project)
            finally:
                del self._running[project.id]
