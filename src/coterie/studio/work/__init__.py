"""Long work, done in the worker's process: a function for each kind of job, which returns what the page shows.

It is called with the project, the job's parameters and `tell(share, words)`, which moves the progress bar (share from 0 to
1, None where unknown).
"""

from __future__ import annotations

from collections.abc import Callable

Tell = Callable[[float | None, str], None]
# The module of each kind; its function has the name of the kind.
PLACES = {
    "load": "tables",
    "describe": "tables",
    "risk": "tables",
    "recommend": "recommending",
    "look": "previews",
    "compare": "previews",
    "audit": "audit",
    "statistics": "statistics",
}
