"""evaluate(): every measure of a release against its original, and why some could not be taken."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from coterie.evaluation import all_measures, get_measure
from coterie.evaluation.measure import Measured, Settings
from coterie.evaluation.pair import bring_together
from coterie.schema.attributes import Schema
from coterie.table.frames import to_arrow

WARNING = "DO NOT PUBLISH: these figures are computed from the original data."


@dataclass(frozen=True, slots=True)
class Evaluation:
    measures: dict[str, Measured]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        return {
            "warning": WARNING,
            "notes": list(self.notes),
            "measures": {name: found.to_dict() for name, found in self.measures.items()},
        }


def evaluate(
    original: Any,
    released: Any,
    schema: Schema,
    *,
    measures: Sequence[str] | None = None,
    settings: Settings | None = None,
    shuffled: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Evaluation:
    """Measure a release (pandas, polars, pyarrow). Measures that need linked rows are skipped where rows moved."""
    settings = settings or Settings()
    chosen = [get_measure(name) for name in measures] if measures else list(all_measures().values())
    pair = bring_together(
        to_arrow(original, schema)[0], to_arrow(released, schema)[0], schema, shuffled=shuffled
    )
    found: dict[str, Measured] = {}
    for measure in chosen:
        if measure.needs_linkage and pair.unlinked is not None:
            found[measure.name] = Measured(None, reason=f"needs linked rows: {pair.unlinked}")
        else:
            found[measure.name] = measure.compute(pair, settings)
        if progress:
            progress(measure.name)
    return Evaluation(found, pair.notes)
