"""Recommend: the release that `coterie recommend` names, at every ε of the dial. It looks at no value of the table."""

from __future__ import annotations

from inspect import signature
from typing import Any

import coterie
from coterie.studio.project import Project
from coterie.studio.work import Tell

DIAL = ("0.25", "0.5", "1", "2", "2.5")  # no larger ε is recommended: the promise would be practically empty


# The dial is asked for one ε at a time, and a choice of the studio has no δ.
PLAIN: dict[str, Any] = {
    name: value
    for name, value in (("pure", True), ("beside", ()))
    if name in signature(coterie.recommend).parameters
}


def recommend(project: Project, parameters: dict[str, Any], tell: Tell) -> dict[str, Any]:
    """`parameters`: purpose, records."""
    schema, found = project.schema(), []
    for place, epsilon in enumerate(DIAL):
        tell(place / len(DIAL), f"Trying the methods on invented people at ε = {epsilon}")
        asked = {
            "purpose": parameters["purpose"],
            "records": parameters["records"],
            "epsilon": epsilon,
        } | PLAIN
        found.append(coterie.recommend(None, schema, **asked).to_dict())
    return {"dial": found}
