"""What a measure is."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.errors import ParameterError, counted, shortened
from coterie.evaluation.clustered import ReleasedLabels, ReleasedNumbers
from coterie.evaluation.pair import Pair
from coterie.schema.arrays import Codes, Floats
from coterie.schema.exact import number
from coterie.table.columns.column import CategoryColumn, NumericColumn


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
    # What measures of one original have in common, by name: all example releases of a report share these settings.
    shared: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

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


@dataclass(frozen=True, slots=True, repr=False)
class MeasureResult:
    """A result, or the reason why there is none."""

    value: float | None
    attributes: dict[str, float] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)
    reason: str | None = None

    def __repr__(self) -> str:
        over = f" over {counted(len(self.attributes), 'attribute')}" if self.attributes else ""
        return f"<MeasureResult: {self.reason if self.value is None else f'{number(self.value)}{over}'}>"

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
    clusters: Callable[[ReleasedNumbers, Settings], Floats] | None = None
    drawn: Callable[[ReleasedLabels, Settings], Floats] | None = None
    combine: Callable[[Floats], Floats] = mean_of_attributes

    def knows(self, *, numbers: bool) -> bool:
        """Whether it measures numbers, or else labels."""
        return any((self.numbers, self.clusters) if numbers else (self.labels, self.drawn))

    def by_row(
        self, released: ReleasedNumbers | ReleasedLabels, clusters: Sequence[Codes] | None, settings: Settings
    ) -> Floats | None:
        """One number per attribute and (cell, run). `clusters` holds that of each record; None: each is its own."""
        columns: Sequence[Any]
        values: NDArray[Any]
        one: Callable[[Any, Any, Settings], float] | None
        if isinstance(released, ReleasedLabels):
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

    def compute(self, pair: Pair, settings: Settings) -> MeasureResult:
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
            return MeasureResult(None, reason=f"no {kind} is protected")
        return MeasureResult(float(self.combine(np.array(list(found.values())))), found)


DESTROYED = "destroyed"


@dataclass(frozen=True, slots=True, repr=False)
class Measure:
    """What a release is worth in one respect. Either `attribute` or `table` says how it is computed."""

    name: str
    title: str
    meaning: str  # how to read the number
    papers: str
    needs_linkage: bool  # whether row i of the release must be row i of the original
    rank: int
    attribute: ByAttribute | None = None
    table: Callable[[Pair, Settings], MeasureResult] | None = None
    higher_is_better: bool = False
    # More than all else: a grid takes it only where rows are synthetic, or where it is named.
    costly: bool = False
    # Up to which value each word holds, the best first; beyond the last one the release is DESTROYED in this respect.
    words: tuple[tuple[float, str], ...] = ()

    def __repr__(self) -> str:
        return f"<Measure {self.name}: {self.title}>"

    def word(self, value: float, by_sampling: float = 0.0) -> str:
        """The word for a value, by the stated thresholds; "" where there are none.

        `by_sampling` is the error of as many rows drawn at random from the original: it is not counted.
        """
        if not self.words:
            return ""
        return next((word for most, word in self.words if value - by_sampling <= most), DESTROYED)

    def told(self, result: MeasureResult) -> str:
        """The word for a result, and the attributes or pairs that are destroyed although the mean is better."""
        if result.value is None or not self.words:
            return ""
        word = self.word(result.value, result.details.get("by_sampling", 0.0))
        worse = self.destroyed(result) if word != DESTROYED else []
        return f"{word}; destroyed: {shortened(worse, 5)}" if worse else word

    def destroyed(self, result: MeasureResult) -> list[str]:
        """The attributes or pairs, the worst first, of which nothing is left to use."""
        entries = result.details.get("worst_pairs")
        if entries is None:
            ranked = sorted(result.attributes.items(), key=lambda entry: -entry[1])
            return [name for name, value in ranked if self.word(value) == DESTROYED]
        return [
            " × ".join(entry["pair"])
            for entry in entries
            if self.word(entry["distance"], entry.get("by_sampling", 0.0)) == DESTROYED
        ]

    def compute(self, pair: Pair, settings: Settings) -> MeasureResult:
        if self.attribute is not None:
            return self.attribute.compute(pair, settings)
        assert self.table is not None
        return self.table(pair, settings)
