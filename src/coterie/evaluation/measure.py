"""What a measure is: one number for the whole release, one an attribute, and whether it needs rows to be linked."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.errors import ParameterError
from coterie.evaluation.clustered_labels import Drawn
from coterie.evaluation.pair import Pair
from coterie.evaluation.released import Released
from coterie.schema.arrays import Floats
from coterie.table.columns.column import CategoryColumn, Codes, NumericColumn


@dataclass(frozen=True, slots=True)
class Settings:
    """What some measures let the user choose. Everything random follows from `seed`."""

    bins: str = "auto"  # jensen-shannon: "domain" (1/100 of it), "value" (one bin per value) or "auto"
    queries: int = 1000
    target: str | None = None  # classification: the class column
    threshold: float | None = None  # … made of two classes: at most it, or above it
    classifier: str = "RandomForestClassifier"
    train_share: float = 0.66  # Soria-Comas et al., §4.2: the first 66 % of the records train
    seed: int = 0

    def __post_init__(self) -> None:
        if self.bins not in ("auto", "domain", "value"):
            raise ParameterError(f"There are no bins of kind '{self.bins}'.", "Choose auto, domain or value.")
        if self.seed < 0:
            raise ParameterError("The seed is not a whole number from 0 up.", "Give for example 1.")
        if self.threshold is None:
            return
        if not math.isfinite(self.threshold):
            raise ParameterError("The threshold is not a finite number.", "Give for example 30000.")
        if self.target is None:
            raise ParameterError(
                "There is a threshold but no class column to split.", "Name it as the target."
            )


@dataclass(frozen=True, slots=True)
class Measured:
    """A result, or the reason why there is none."""

    value: float | None
    attributes: dict[str, float] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)
    reason: str | None = None

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def mean_of_attributes(values: Floats) -> Floats:
    """Attributes lie along the first axis."""
    return np.asarray(np.mean(values, axis=0), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class ByAttribute:
    """A measure that looks at one attribute at a time, from records and, with the same result, from clusters.

    `numbers` and `labels` take original and released records. `clusters` and `drawn`, which need not be there, take one row
    of released cluster values per (cell, run) and return one number for it: a grid is then quicker. A kind of attribute that
    the measure does not know is left out.
    """

    numbers: Callable[[NumericColumn, Floats, Settings], float] | None = None
    labels: Callable[[CategoryColumn, Codes, Settings], float] | None = None
    clusters: Callable[[Released, Settings], Floats] | None = None
    drawn: Callable[[Drawn, Settings], Floats] | None = None
    combine: Callable[[Floats], Floats] = mean_of_attributes

    @property
    def of_numbers(self) -> bool:
        return self.numbers is not None or self.clusters is not None

    @property
    def of_labels(self) -> bool:
        return self.labels is not None or self.drawn is not None

    def by_row(
        self, released: Released | Drawn, clusters: Sequence[NDArray[np.int32]] | None, settings: Settings
    ) -> Floats | None:
        """One number per attribute and (cell, run). `clusters` holds that of each record; None: each is its own."""
        columns: Sequence[Any]
        values: NDArray[Any]
        one: Callable[[Any, Any, Settings], float] | None
        if isinstance(released, Drawn):
            if self.drawn is not None:
                return self.drawn(released, settings)[None]
            columns, values, one = (released.clustered.source,), released.codes[None], self.labels
        else:
            gaps = released.clusters.numbers.gaps and self.numbers is not None
            if self.clusters is not None and not gaps:
                return self.clusters(released, settings)
            columns, values, one = released.clusters.numbers.sources, released.values, self.numbers
        if one is None:
            return None
        places: Sequence[Any] = [slice(None)] * len(columns) if clusters is None else clusters
        lines: Iterable[tuple[Any, Any, Any]] = zip(columns, values, places, strict=True)
        return np.array(
            [[one(column, row[place], settings) for row in rows] for column, rows, place in lines]
        )

    def compute(self, pair: Pair, settings: Settings) -> Measured:
        found: dict[str, float] = {}
        for name, column in pair.original.items():
            released = pair.released[name]
            if isinstance(column, CategoryColumn):
                if self.labels is not None:
                    assert isinstance(released, CategoryColumn)
                    found[name] = self.labels(column, released.codes, settings)
            elif self.numbers is not None:
                assert isinstance(released, NumericColumn)
                found[name] = self.numbers(column, released.values, settings)
        if not found:
            kind = "numeric attribute" if self.numbers is not None else "category"
            return Measured(None, reason=f"no {kind} is protected")
        return Measured(float(self.combine(np.array(list(found.values())))), found)


@dataclass(frozen=True, slots=True)
class Measure:
    """Either `attribute` or `table` says how it is computed."""

    name: str
    title: str
    meaning: str  # how to read the number
    papers: str
    needs_linkage: bool  # whether row i of the release must be row i of the original
    rank: int
    attribute: ByAttribute | None = None
    table: Callable[[Pair, Settings], Measured] | None = None
    higher_is_better: bool = False
    costly: bool = (
        False  # more than all else: a grid takes it only where rows are synthetic, or where it is named
    )

    def compute(self, pair: Pair, settings: Settings) -> Measured:
        if self.attribute is not None:
            return self.attribute.compute(pair, settings)
        assert self.table is not None
        return self.table(pair, settings)
