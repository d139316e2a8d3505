"""The part of a method that releases rows drawn from a model of the whole table: columns → cells → model → values.

An engine encodes its records (`cells`), adds up counts (`Measures`), asks for the model once, and draws as many rows as it
likes, in pieces of any size: row i is the same whichever piece it comes in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.chain.noise.sampler import Sampler, shuffled_order
from coterie.chain.synthesis.accountant import Accountant
from coterie.chain.synthesis.cells import Cells, LabelCells, number_cells
from coterie.chain.synthesis.plan import Rule, plan_for
from coterie.chain.synthesis.synthesiser import Measures, Model, synthesise
from coterie.errors import ParameterError
from coterie.schema.attributes import Missing
from coterie.table.columns.categories import MISSING_LABEL
from coterie.table.columns.column import CategoryColumn, Column

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
MOST_MODEL_ROWS = 1 << 18  # beyond, model rows are drawn several times, each time with values of their own


@dataclass(frozen=True, slots=True)
class CodedColumn:
    """One attribute: its cells, and how the codes of its labels become numbers of cells."""

    cells: Cells
    gap: int | None = None  # the code that stands for missing among the labels of a category

    @classmethod
    def of(cls, column: Column) -> CodedColumn:
        """From what is declared about the column; its values are not looked at."""
        gaps = column.attribute.missing is Missing.OWN_CATEGORY
        if isinstance(column, CategoryColumn):
            labels = column.taxonomy.categories
            gap = labels.index(MISSING_LABEL) if gaps else None
            return cls(LabelCells(len(labels) - gaps, gaps), gap)
        return cls(number_cells(column.domain.lower, column.domain.upper, column.step, gaps))

    def encode(self, column: Column) -> Whole:
        if not isinstance(column, CategoryColumn):
            return self.cells.encode(column.values)
        codes = column.codes.astype(np.int64)
        if self.gap is not None:  # the labels behind it move up by one
            codes = np.where(codes == self.gap, -1, codes - (codes > self.gap))
        return self.cells.encode(codes)

    def decode(self, codes: Whole, uniform: Floats) -> NDArray[Any]:
        """Values as the column holds them: numbers with NaN for missing, or codes of labels."""
        values = self.cells.decode(codes, uniform)
        if not isinstance(self.cells, LabelCells):
            return values
        if self.gap is not None:
            values = np.where(values < 0, self.gap, values + (values >= self.gap))
        return values.astype(np.int32)


@dataclass(frozen=True, slots=True)
class Drawn:
    """A model and the order in which its rows are drawn."""

    model: Model
    order: Whole
    columns: tuple[CodedColumn, ...]

    def codes(self, attribute: int, first: int, count: int) -> Whole:
        rows = self.order[np.arange(first, first + count) % len(self.order)]
        return self.model.rows[attribute][rows].astype(np.int64)

    def values(self, attribute: int, first: int, count: int, sampler: Sampler) -> NDArray[Any]:
        """Rows first … first+count-1 of one attribute; `sampler` starts at row `first`."""
        words = sampler.uniform_words(count, f"coterie: values of attribute {attribute}")
        uniform = (words >> np.uint64(11)).astype(np.float64) * 2.0**-53
        return self.columns[attribute].decode(self.codes(attribute, first, count), uniform)


@dataclass(frozen=True, slots=True)
class WholeTable:
    rule: Rule = Rule()
    stages: str = (
        "correlation of all ranks · two-way tables where rows differ most, chosen by the exponential mechanism · "
        "rows repaired table by table"
    )

    def share(self, attributes: int) -> Fraction:
        """The part of the budget that the dependence between attributes gets."""
        return 1 - self.rule.marginal_share if attributes > 1 else Fraction(0)

    def columns(self, columns: Sequence[Column]) -> tuple[CodedColumn, ...]:
        return tuple(CodedColumn.of(column) for column in columns)

    def draw(
        self,
        measures: Measures,
        columns: Sequence[CodedColumn],
        records: int,
        rows: int,
        parts: Sequence[Fraction],
        accountant: Accountant,
        target: int | None = None,
    ) -> Drawn:
        """`parts`: of the whole budget, for the distribution of each attribute."""
        cells = [column.cells for column in columns]
        plan = plan_for(records, cells, parts, accountant, target=target is not None, rule=self.rule)
        size = min(MOST_MODEL_ROWS, max(records, rows))
        model = synthesise(measures, cells, records, size, plan, accountant, target=target)
        order = shuffled_order(accountant.sampler, size, "coterie: order of the model rows")
        return Drawn(model, order, tuple(columns))


def target_number(names: Sequence[str], target: str | None) -> int | None:
    if target is None:
        return None
    if target not in names:
        raise ParameterError(
            f"The target '{target}' is not a protected attribute.", f"Choose one of: {', '.join(names)}."
        )
    return list(names).index(target)
