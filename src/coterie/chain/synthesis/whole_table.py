"""The part of a method that releases rows drawn from a model of the whole table: columns → cells → model → values.

An engine encodes its records (`cells`), adds up counts (`Measures`), asks for the model once, and draws as many rows as it
likes, in pieces of any size: row i is the same whichever piece it comes in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.chain.noise.sampler import Sampler, shuffled_order
from coterie.chain.synthesis.accountant import Accountant, Reading
from coterie.chain.synthesis.cells import Cells, LabelCells, number_cells, powers_for
from coterie.chain.synthesis.decimals import noisy_step, price
from coterie.chain.synthesis.enforcement import RowRules, mixed
from coterie.chain.synthesis.plan import Rule, distribution_share, plan_for
from coterie.chain.synthesis.synthesiser import Measures, Model, synthesise
from coterie.errors import ParameterError
from coterie.schema.arrays import Floats, Whole, Words
from coterie.table.columns.column import CategoryColumn, Column

_PIECE = 1 << 16  # records that are encoded or drawn at a time
MOST_MODEL_ROWS = 1 << 18  # beyond, model rows are drawn several times, each time with values of their own


@dataclass(frozen=True, slots=True)
class CodedColumn:
    """One attribute: its cells, and how the codes of its labels become numbers of cells."""

    cells: Cells
    gap: int | None = None  # the code that stands for missing among the labels of a category
    places: Reading | None = None  # how many records have 0, 1, … decimal places, where that was read

    @classmethod
    def of(
        cls, column: Column, step: float | None, powers: int, places: Reading | None = None
    ) -> CodedColumn:
        """Code a column by its declaration; its values are not looked at. `step` was measured, where none is declared."""
        gaps = column.attribute.gaps
        if isinstance(column, CategoryColumn):
            return cls(LabelCells(column.label_count - gaps, gaps), column.gap)
        lower, upper = column.domain.lower, column.domain.upper
        if column.step is not None:
            step = column.step
        return cls(number_cells(lower, upper, step, gaps, powers), places=places)

    def encode(self, column: Column) -> Whole:
        """Piece by piece: what is computed on the way stays small."""
        values: NDArray[Any] = column.codes if isinstance(column, CategoryColumn) else column.values
        found = np.empty(len(values), dtype=np.int64)
        for start in range(0, len(values), _PIECE):
            found[start : start + _PIECE] = self._encoded(values[start : start + _PIECE])
        return found

    def _encoded(self, values: NDArray[Any]) -> Whole:
        if not isinstance(self.cells, LabelCells):
            return self.cells.encode(values)
        codes = values.astype(np.int64)
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
    names: tuple[str, ...] = ()  # of the columns
    rules: RowRules | None = None  # that every row satisfies

    def codes(self, attribute: int, first: int, count: int) -> Whole:
        rows = self.order[np.arange(first, first + count) % len(self.order)]
        codes: Whole = self.model.rows[attribute][rows].astype(np.int64)
        return codes

    def values(self, attribute: int, first: int, count: int, sampler: Sampler) -> NDArray[Any]:
        """Rows first … first+count-1 of one attribute, before any rule; `sampler` starts at row `first`."""
        words = sampler.uniform_words(count, f"coterie: values of attribute {attribute}")
        column = self.columns[attribute]
        found = np.empty(count, dtype=np.int32 if isinstance(column.cells, LabelCells) else np.float64)
        for start in range(0, count, _PIECE):
            piece = words[start : start + _PIECE]
            uniform = (piece >> np.uint64(11)).astype(np.float64) * 2.0**-53
            codes = self.codes(attribute, first + start, len(piece))
            found[start : start + _PIECE] = column.decode(codes, uniform)
        return found

    def rows(self, first: int, count: int, sampler: Sampler) -> dict[str, NDArray[Any]]:
        """Rows first … first+count-1 of all attributes, derived ones too; every rule is satisfied."""
        found = {name: self.values(n, first, count, sampler) for n, name in enumerate(self.names)}
        if self.rules is None:
            return found
        return self.rules.enforced(found, sampler.uniform_words(count, "coterie: edit rules"), self._again)

    def _again(self, name: str, words: Words, tries: Whole) -> NDArray[Any]:
        """Other rows of the model, and values inside their cells, for rows that violate a rule."""
        number, turns = self.names.index(name), tries.astype(np.uint64)
        row = mixed(words, turns << np.uint64(20)) % np.uint64(self.model.rows.shape[1])
        inside = mixed(words, (turns << np.uint64(20)) + np.uint64(number + 1))
        uniform = (inside >> np.uint64(11)).astype(np.float64) * 2.0**-53
        return self.columns[number].decode(self.model.rows[number][row].astype(np.int64), uniform)


@dataclass(frozen=True, slots=True)
class WholeTable:
    rule: Rule = field(default_factory=Rule)
    stages: str = (
        "correlation of all ranks · two-way tables where rows differ most, chosen by the exponential mechanism · "
        "rows repaired table by table"
    )

    def parts(
        self, records: int, weights: Sequence[Fraction], accountant: Accountant, *, target: bool = False
    ) -> list[Fraction]:
        """The part of the whole that the distribution of each attribute gets, by its weight."""
        share = distribution_share(records, len(weights), accountant, target=target, rule=self.rule)
        total = sum(weights, Fraction(0))
        return [share * weight / total for weight in weights]

    def columns(
        self,
        columns: Sequence[Column],
        decimals: Callable[[Sequence[int]], Sequence[Whole]],
        records: int,
        parts: Sequence[Fraction],
        accountant: Accountant,
    ) -> tuple[CodedColumn, ...]:
        """The cells of each attribute. `decimals` adds up `decimal_counts` of some columns, over all records.

        Where the schema says nothing of decimal places, they are read for a small part of the attribute's budget.
        """
        prices = [
            Fraction(0)
            if isinstance(column, CategoryColumn) or column.step is not None
            else price(records, parts[number], accountant)
            for number, column in enumerate(columns)
        ]
        asked = [number for number, cost in enumerate(prices) if cost > 0]
        steps: dict[int, tuple[float | None, Reading]] = {}
        for number, counts in zip(asked, decimals(asked) if asked else (), strict=True):
            column = columns[number]
            assert not isinstance(column, CategoryColumn)
            lower, upper, name = column.domain.lower, column.domain.upper, f"attribute {number}"
            steps[number] = noisy_step(counts, records, prices[number], lower, upper, accountant, name)
        signals = [records / accountant.deviation(part) for part in parts]
        return tuple(
            CodedColumn.of(column, step, powers_for(signals[number]), places)
            for number, column in enumerate(columns)
            for step, places in (steps.get(number, (None, None)),)
        )

    def draw(
        self,
        measures: Measures,
        columns: Sequence[CodedColumn],
        records: int,
        rows: int,
        parts: Sequence[Fraction],
        accountant: Accountant,
        target: int | None = None,
        built: Callable[[float], None] = lambda share: None,
    ) -> Drawn:
        """`parts`: of the whole budget, for the distribution of each attribute; less what `columns` spent of them."""
        cells = [column.cells for column in columns]
        read = {entry.what: entry.part for entry in accountant.spent}
        parts = [part - read.get(f"attribute {i}: decimal places", 0) for i, part in enumerate(parts)]
        plan = plan_for(records, cells, parts, accountant, target=target is not None, rule=self.rule)
        size = min(MOST_MODEL_ROWS, max(records, rows))
        model = synthesise(measures, cells, records, size, plan, accountant, target=target, built=built)
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
