"""What a measure is: one number for the whole release, one an attribute, and whether it needs rows to be linked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.schema import Attribute
from coterie.utility.clustered import ClusteredColumn
from coterie.utility.pair import Pair

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Settings:
    """What some measures let the user choose. Everything random follows from `seed`."""

    bins: str = "auto"  # jensen-shannon: "domain" (1/100 of it), "value" (one bin a value) or "auto"
    queries: int = 1000
    target: str | None = None  # classification: the class column
    threshold: float | None = None  # … made of two classes: at most it, or above it
    classifier: str = "RandomForestClassifier"
    train_share: float = 0.66  # 000 §4.2: the first 66 % of the records train
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Measured:
    """A result, or the reason why there is none."""

    value: float | None
    attributes: dict[str, float] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)
    reason: str | None = None

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


ByAttribute = Callable[[Floats, Floats, Attribute, Settings], float]
ByCluster = Callable[[ClusteredColumn, Floats, Settings], Floats]
Combine = Callable[[Floats], Floats]


@dataclass(frozen=True, slots=True)
class Measure:
    """`compute` looks at rows. `by_cluster`, where there is one, gives the same number from cluster values alone.

    by_cluster(column, values, settings) takes one row of `values` a run and returns one number a run; `combine` turns
    one number an attribute (along the first axis) into the number of the table.
    """

    name: str
    title: str
    meaning: str  # how to read the number
    papers: str
    needs_linkage: bool  # whether row i of the release must be row i of the original
    compute: Callable[[Pair, Settings], Measured]
    rank: int
    by_cluster: ByCluster | None = None
    combine: Combine | None = None
    higher_is_better: bool = False
    default: bool = True  # whether `coterie evaluate` gives it without being asked


def mean_of_attributes(values: Floats) -> Floats:
    return np.asarray(np.mean(values, axis=0), dtype=np.float64)


def over_attributes(
    by_attribute: ByAttribute, combine: Combine = mean_of_attributes
) -> Callable[[Pair, Settings], Measured]:
    """A measure of the table from one of a numeric column."""

    def compute(pair: Pair, settings: Settings) -> Measured:
        if not pair.numeric:
            return Measured(None, reason="no numeric attribute is protected")
        found = {
            attribute.name: by_attribute(
                pair.original[attribute.name], pair.released[attribute.name], attribute, settings
            )
            for attribute in pair.numeric
        }
        return Measured(float(combine(np.array(list(found.values())))), found)

    return compute
