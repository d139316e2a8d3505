"""Who counted the last release of a project, of rows or of statistics: the next one about the same people goes there."""

from __future__ import annotations

from coterie.studio.desk.desk import Desk, ReleasedStatistics
from coterie.studio.project import Project, Released


def last_account(project: Project) -> tuple[str, str]:
    """The ledger's path and the population, or two empty texts where no release was counted."""
    entries: list[Released | ReleasedStatistics] = [*project.state.released, *Desk(project).state.released]
    counted = [(entry.at, entry.ledger, entry.population) for entry in entries if entry.ledger]
    _, ledger, population = max(counted, key=lambda found: found[0], default=("", "", ""))
    return ledger or "", population or ""
