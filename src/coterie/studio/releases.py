"""Releases under way. Never twice: a plan is begun once, and how it ended is read from the ledger.

A release runs in a thread of the server, not in the worker, which may be cancelled. The intent is on the disk before any
noise is drawn. Whatever ends the server, the next look at the project opens the ledger, which finishes what was charged
and gives back what was not (coterie.publication.ledger), and finds the plan's own entry by its fingerprint.

A release that no ledger counts goes the same way through a journal in the project's folder: a ledger that counts
releases instead of ε, so that there is one road, and one place where it can be wrong.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from pathlib import Path

from coterie.errors import CoterieError, ParameterError
from coterie.publication.ledger import Ledger, without_credentials
from coterie.publication.publishing import Destination, publish_charged
from coterie.studio.drawing import Progress, book_of, draw, never
from coterie.studio.outcome import settle
from coterie.studio.plan import Plan, made_from, read_plan, write_plan
from coterie.studio.planning import Asked, inputs, plan_of, purpose
from coterie.studio.project import Project

_UNDER_WAY = ParameterError(
    "A release of this project is under way or not settled yet.", "See what became of it first."
)


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
                plan = settle(project, plan)
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
            plan = settle(project, plan)
            if plan.state != "waiting" or plan.table is None:
                return
            destination = self._destination(project, plan)
            with Ledger.open(book_of(project, plan)) as ledger:
                publish_charged(
                    never, destination, ledger, purpose(plan, project.schema(), destination.shown)
                )
            settle(project, plan)

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
            draw(project, plan, destination, progress)
        except CoterieError as error:
            problem, advice = error.located, error.advice
        except Exception as error:
            # An exception's own text may hold data values: name its kind only.
            problem = f"Something went wrong inside Coterie ({type(error).__name__})."
            advice = "This is a bug: please report what you did."
        with self._lock(project):
            try:
                settle(project, plan.ended("begun", problem, advice))
            except CoterieError:  # the next look at the page tries again, and says what is wrong
                write_plan(project, plan.ended("begun", problem, advice))
            finally:
                del self._running[project.id]

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
