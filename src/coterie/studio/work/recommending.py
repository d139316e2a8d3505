"""Recommend: the release that `coterie recommend` names, and the same at every other ε of the dial.

It looks at no value of the table.
"""

from __future__ import annotations

import math
from typing import Any

import coterie
from coterie.studio.project import Project
from coterie.studio.work import Tell

DIAL = ("0.25", "0.5", "1", "2", "2.5")  # no larger ε is recommended: the promise would be practically empty
_SHOWN = ("measure", "epsilon", "best", "strengths", "avoid", "notes", "units", "at_most")


def recommend(project: Project, parameters: dict[str, Any], tell: Tell) -> dict[str, Any]:
    """`parameters`: purpose, records, epsilon, pure."""
    tell(None, "Trying the methods on invented people")
    others = [epsilon for epsilon in DIAL if epsilon != parameters["epsilon"]]
    # Where an earlier choice came from is no fact about the columns; the page says what it does to the promise.
    schema = project.schema().model_copy(update={"parameters": None})
    found = coterie.recommend(None, schema, **parameters, beside=others).to_dict()
    for one in (found["best"], *found["strengths"]):
        one["error"] = one["error"] if math.isfinite(one["error"]) else None
    return {name: found[name] for name in _SHOWN}
