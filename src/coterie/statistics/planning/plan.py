"""A plan: the split of the budget and the errors to expect. Also the file of a split made by hand."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import yaml

from coterie.errors import ParameterError, counted, reading
from coterie.schema.exact import as_text, parse_epsilon
from coterie.schema.frame_kind import to_kind
from coterie.statistics.planning.design import Design
from coterie.statistics.prediction.target_error import PredictedError
from coterie.statistics.specification.specification import Specification

_ADVICE = (
    "Write one line for each thing measured, as `coterie stats plan --json` names it: 'count | all': 0.5"
)


def read_split(path: Path) -> dict[str, Fraction]:
    with reading("The split", ParameterError):
        text = path.read_text(encoding="utf-8")
    try:
        content = yaml.load(text, yaml.BaseLoader)  # texts: 0.1 is one tenth
    except yaml.YAMLError:
        raise ParameterError("The split is not valid YAML.", _ADVICE) from None
    if not isinstance(content, dict) or not content:
        raise ParameterError("The split is not a list of names and budgets.", _ADVICE)
    return {str(name): parse_epsilon(value, f"the budget of '{name}'") for name, value in content.items()}


def split_text(split: Mapping[str, Fraction]) -> str:
    texts = {name: as_text(budget) for name, budget in split.items()}
    return str(yaml.safe_dump(texts, allow_unicode=True, sort_keys=False, width=1000))


@dataclass(frozen=True)
class AllocatorRow:
    """One line of the comparison of allocators."""

    allocator: str
    title: str
    score: float
    standard_error: float
    worst_score: float | None
    errors: tuple[PredictedError, ...]
    not_applicable: str = ""


@dataclass(frozen=True)
class GuessLoss:
    """How much worse the plan's score is than that of the split made for the truth.

    The truth is the guess times or divided by 1 + off_by: all values one way, and mixed. `mean_loss` is over these
    directions; `worst_loss` is the worst met at this or any smaller distance, so it never falls.
    """

    off_by: float
    mean_loss: float
    worst_loss: float


@dataclass(frozen=True, repr=False)
class Plan:
    """A split of the budget, and the errors to expect under it.

    Attributes
    ----------
    split : dict
        The budget of each thing that is measured, by its name.
    errors : tuple
        For each target: mean, median and 95 % point of |released − true|.
    score : float
        The weighted mean of the errors, each divided by its unit. Smaller is better.

    Examples
    --------
    >>> import coterie
    >>> asked = coterie.statistics.from_sql("SELECT AVG(rent) FROM people", coterie.demo_schema())
    >>> chosen = coterie.statistics.plan(asked)
    >>> len(chosen.split)
    2
    >>> chosen.errors[0].name
    'mean_rent'
    """

    design: Design
    allocator: str
    budgets: tuple[Fraction, ...]
    score: float
    standard_error: float
    errors: tuple[PredictedError, ...]
    rows: tuple[AllocatorRow, ...] = ()
    guess_losses: tuple[GuessLoss, ...] = ()
    warnings: tuple[str, ...] = ()  # what a reader of the release should know as well
    notes: tuple[str, ...] = ()  # what only the planner needs
    as_in_paper: bool = False
    expected: Mapping[str, float] = field(default_factory=dict)

    @property
    def specification(self) -> Specification:
        return self.design.specification

    @property
    def digest(self) -> str:
        """Names the plan: same specification, same split, same digest."""
        content = {
            "specification": self.specification.digest,
            "allocator": self.allocator,
            "as_in_paper": self.as_in_paper,
            "budgets": {name: as_text(budget) for name, budget in self.split.items()},
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    @property
    def split(self) -> dict[str, Fraction]:
        """The budget of each thing that is measured, by its name."""
        return {m.name: b for m, b in zip(self.design.measurements, self.budgets, strict=True)}

    @property
    def scales(self) -> dict[str, float]:
        """The noise of each measurement: Laplace b, Gaussian σ, or 2Δu/ε of a choice among ranks."""
        pairs = zip(self.design.metric.sources, self.budgets, strict=True)
        return {source.name: source.law.noise_scale(float(budget)) for source, budget in pairs}

    def __repr__(self) -> str:
        budget = self.specification.budget
        measured = f"{counted(len(self.budgets), 'measurement')} by {self.allocator}"
        return f"<Plan of {self.specification.release}: {budget}, {measured}>"

    def to_frame(self, kind: str = "arrow") -> Any:
        """One row per target: the error to expect. `kind`: arrow, pandas or polars."""
        columns = {
            "target": [error.name for error in self.errors],
            "mean_error": [error.mean for error in self.errors],
            "standard_error": [error.standard_error for error in self.errors],
            "median": [error.median for error in self.errors],
            "p95": [error.p95 for error in self.errors],
        }
        return to_kind(pa.table(columns), kind)

    def to_dict(self) -> dict[str, Any]:
        """Everything a program needs; no number here comes from the data (unless as_in_paper)."""
        design = self.design
        return {
            "plan": self.digest,
            "release": self.specification.release,
            "budget": str(self.specification.budget),
            "currency": self.specification.budget.currency,
            "neighbours": self.specification.neighbours.value,
            "allocator": self.allocator,
            "as_in_paper": self.as_in_paper,
            "score": self.score,
            "score_standard_error": self.standard_error,
            "parallel_groups": design.parallel,
            "measurements": [
                {
                    "name": m.name,
                    "budget": as_text(b),
                    "noise": q.family.value,
                    "scale": self.scales[m.name],
                    "sensitivity": m.bound.nominal(self.specification.neighbours, m.where.everyone),
                    "formula": m.bound.formula,
                    "proof": m.bound.proof,
                }
                for m, b, q in zip(design.measurements, self.budgets, design.metric.sources, strict=True)
            ],
            "errors": [
                _error(error, made.names)
                for error, made in zip(self.errors, design.metric.errors, strict=True)
            ],
            "routes": {name: route.value for name, route in design.routes.items()},
            "expected": dict(self.expected),
            "expected_from": self.specification.expected_from,
            "allocators": [
                {
                    "allocator": row.allocator,
                    "score": None if row.not_applicable else row.score,
                    "worst_score": row.worst_score,
                    "not_applicable": row.not_applicable or None,
                    "errors": {error.name: error.mean for error in row.errors},
                }
                for row in self.rows
            ],
            "if_the_guess_is_off": [
                {"by": loss.off_by, "mean_loss": loss.mean_loss, "worst_loss": loss.worst_loss}
                for loss in self.guess_losses
            ],
            "warnings": list(self.warnings),
            "notes": list(self.notes),
        }


def _error(error: PredictedError, uses: tuple[str, ...]) -> dict[str, Any]:
    return {
        "name": error.name,
        "measured_from": list(uses),
        "mean": error.mean,
        "standard_error": error.standard_error,
        "between_tables": error.between_tables,
        "median": error.median,
        "p95": error.p95,
        "method": error.basis.value,
    }
