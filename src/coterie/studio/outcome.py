"""Which end a release came to: by the ledger's word, written down, and recorded as released once."""

from __future__ import annotations

from coterie.publication.ledger import Entry, Ledger, ReleaseState
from coterie.studio.drawing import book_of
from coterie.studio.plan import Plan, write_plan
from coterie.studio.project import Project, Released

_LOST = (
    "Somebody may have seen them, so the charge stays. A further release needs a new plan, and spends again."
)


def settle(project: Project, plan: Plan) -> Plan:
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
    write_plan(project, plan)
    return plan


def _entry(project: Project, plan: Plan) -> tuple[Entry | None, str]:
    """The plan's own entry, after the ledger has settled what dead processes left; and what it says about it."""
    book = book_of(project, plan)
    if plan.ledger is None and not book.exists():
        return None, ""
    with Ledger.open(book) as ledger:
        for entry in ledger.book().releases(fingerprint=plan.fingerprint):
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
