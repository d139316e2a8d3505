"""What a method is: one part for each stage of the chain, a promise, and where it comes from."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import cast

from coterie.chain.mechanism import Described, Mechanism
from coterie.chain.synthesis.whole_table import WholeTable, target_number
from coterie.errors import ParameterError, nearest
from coterie.methods.grouping import INDIVIDUAL_RANKING, OPTIMAL_UNIVARIATE, Grouping
from coterie.methods.guarantee import Promise
from coterie.schema.attributes import Attribute, Role, Schema
from coterie.table.columns.column import Column, NumericColumn

_MOST_ROWS = 10**10  # that can be asked for, in any engine
GROUPINGS = {"equal": INDIVIDUAL_RANKING, "optimal": OPTIMAL_UNIVARIATE}


@dataclass(frozen=True, slots=True, repr=False)
class Method:
    """grouping · (centroid · sensitivity · noise) for numbers and for categories, and what that promises.

    `rank` orders the tables that readers see.
    """

    name: str
    title: str
    papers: str
    grouping: Grouping
    numeric: Described
    categorical: Described
    promise: Promise
    why: str  # why the promise has its status
    attack: str  # the best attack known against it
    rank: int
    minimum_k: int = 1
    fixed_k: int | None = None
    adds_noise: bool = True  # False: no ε describes it, and no ledger can record it
    splits_budget: bool = True  # False: every attribute gets the whole ε, and m attributes cost mε
    lists: bool = False  # of single columns, each in a random order of its own: rows mean nothing
    whole_table: WholeTable | None = None  # all attributes are measured and modelled together
    public_k: Callable[[int, Fraction], int] | None = None  # n, ε_a → k where the user gives none
    # q clusters → between which multiples of ε the list of centroids costs, where the method counts one
    understated: Callable[[int], tuple[Fraction, Fraction]] | None = None

    def __repr__(self) -> str:
        return f"<Method {self.name}: {self.title}>"

    def mechanism(self, column: Column) -> Mechanism:
        # A method for whole tables has no stages for one column, and none are asked for.
        return cast(Mechanism, self.numeric if isinstance(column, NumericColumn) else self.categorical)

    @property
    def synthetic(self) -> bool:
        """Whether rows stand for nobody."""
        return self.lists or self.whole_table is not None

    def measured(self, schema: Schema) -> tuple[Attribute, ...]:
        """The protected attributes whose values are read. Synthetic rows compute derived attributes instead."""
        derived = schema.edit_rules.derived if self.whole_table is not None else frozenset()
        return tuple(attribute for attribute in schema.protected if attribute.name not in derived)

    def cost(self, epsilon: Fraction, attributes: int) -> Fraction:
        """The ε that all the noise together is calibrated for: it stands on the certificate."""
        return epsilon if self.splits_budget else attributes * epsilon

    def grouped(self, grouping: str) -> Method:
        """The same method with groups of equal size, or with optimal groups of k to 2k−1 records."""
        if grouping not in GROUPINGS:
            raise ParameterError(f"There is no grouping '{grouping}'.", nearest(grouping, GROUPINGS))
        if grouping == "equal":
            return self
        if self.grouping.multivariate or not self.grouping.ranked:
            raise ParameterError(
                f"Method '{self.name}' does not rank attributes one by one.",
                "Optimal grouping takes the place of individual ranking: choose a method that uses it.",
            )
        return replace(self, grouping=GROUPINGS[grouping])

    def check_schema(self, schema: Schema) -> None:
        """What this method cannot do with these attributes."""
        if schema.unit is not None and self.whole_table is None:
            raise ParameterError(
                f"Method '{self.name}' has no statement for units: it is about rows, and their number is public.",
                f"Choose dp-synthetic. (Without `unit` in the schema, a {schema.unit.word} of several rows is promised less "
                "than one row, or nothing.)",
            )
        if schema.unit is not None and schema.with_role(Role.KEEP):
            raise ParameterError(
                f"'{schema.with_role(Role.KEEP)[0].name}' is released untouched, row by row, and would show the number of "
                "rows, which is private where the schema names a unit.",
                "Protect that column, or drop it with `role: identifier`.",
            )
        if schema.totals is not None and not self.synthetic:
            raise ParameterError(
                f"Method '{self.name}' releases a row for each record, and `totals` are for synthetic rows.",
                "Choose dp-synthetic, or take `totals` out of the schema: then the weight is protected like other numbers.",
            )
        gaps = [a.name for a in schema.protected if a.gaps and not a.type.labelled]
        if gaps and self.whole_table is None and not self.numeric.takes_gaps:
            raise ParameterError(
                f"Method '{self.name}' has no proof for missing values of '{gaps[0]}'.",
                "Choose dp-synthetic, which also models whose values are missing, or write `missing: impute`, and no "
                "`not_applicable`.",
            )

    def check_rows(self, schema: Schema, rows: int | None, target: str | None) -> None:
        """The number of rows and the target: what only a method that models the whole table can be asked for."""
        if self.whole_table is None:
            if rows is not None or target is not None:
                raise ParameterError(
                    f"Method '{self.name}' releases one row per record, and knows no target.",
                    "Leave out rows and target, or choose a method that models the whole table, such as dp-synthetic.",
                )
            return
        if rows is not None:
            if isinstance(rows, bool) or not hasattr(rows, "__index__") or rows < 1:
                raise ParameterError(
                    "The number of rows is not a whole number from 1 up.", "Give for example 1000."
                )
            if rows > _MOST_ROWS:
                raise ParameterError(
                    f"The number of rows is above {_MOST_ROWS:,}.",
                    "Ask for fewer: a model of some hundred thousand rows draws them, and more rows tell no more.",
                )
            if schema.with_role(Role.KEEP):
                raise ParameterError(
                    "Columns that are kept have one value per record, so the number of rows cannot be chosen.",
                    "Leave out rows, or protect or drop the columns with `role: keep`.",
                )
        if target is not None and not isinstance(target, str):
            raise ParameterError(
                "The target is not the name of an attribute.", "Give the name of one attribute."
            )
        measured = [attribute.name for attribute in self.measured(schema)]
        if target_number(measured, target) is not None and len(measured) == 1:
            raise ParameterError(
                f"The target '{target}' is the only protected attribute: nothing is left to predict it from.",
                "Leave out the target, or protect other attributes as well.",
            )

    def check_k(self, k: int | None, records: int, epsilon: Fraction | None = None) -> int:
        """The k to use, or a sentence about why it is impossible. `epsilon` is the mean share of an attribute."""
        if k is None and self.public_k is not None and epsilon is not None:
            return self.public_k(records, epsilon)
        if self.fixed_k is not None:
            if k not in (None, self.fixed_k):
                raise ParameterError(
                    f"Method '{self.name}' groups nobody: its k is always {self.fixed_k}.",
                    "Leave k out, or choose a method that groups records (`coterie methods`).",
                )
            k = self.fixed_k
        if k is None:
            raise ParameterError(
                f"Method '{self.name}' needs k, the number of records per group.", "Give k, for example 10."
            )
        if isinstance(k, bool) or not hasattr(k, "__index__"):  # NumPy's integers are welcome
            raise ParameterError("k is not a whole number.", "Give a whole number such as 10.")
        k = operator.index(k)
        if k < self.minimum_k:
            raise ParameterError(
                f"k = {k} is too small for '{self.name}'.", f"Its smallest k is {self.minimum_k}."
            )
        if k > records:
            raise ParameterError(
                f"k = {k} is larger than the number of records.",
                "Choose a smaller k.",
                detail=f"It can be up to {records}.",
            )
        return k
