"""One table over owners of rows, and of attributes: what Fig. 5 and 6 of Del Vasto-Terrientes et al. compare.

Rows are dealt to the owners anew in every run (§5.1.2). Each owner protects its fragment exactly as it would over the
services: the same method, its share of ε, and the seed that coterie.chain.noise.seeded gives it. The error is that of the
whole table, Eq. (5), with the variances of the original one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from coterie.chain.noise.seeded import owner_seed
from coterie.comparison.engine import Trials, run_cells
from coterie.comparison.grid import Cell
from coterie.comparison.shared_work import SortedTable
from coterie.evaluation.measure import Measure, Settings
from coterie.evaluation.normalised_sse import SUMMED_SQUARES
from coterie.papers.expectations import Expected, against, expected, ranking_alone
from coterie.papers.experiment import ExperimentOutcome, Judgement
from coterie.papers.fragmented import EPSILONS, PRINTED, RESTS_ON
from coterie.papers.grids import heatmaps
from coterie.schema.arrays import Floats
from coterie.schema.attributes import Schema
from coterie.schema.exact import parse_epsilon
from coterie.table.checked import check
from coterie.table.columns.column import NumericColumn

METHOD = "idp-ls"
PLACES = {"central": "one place", "vertical": "owners of attributes", "horizontal": "owners of rows"}
DRAWS = 20_000
DEALS = 5  # of which the closed form is worked out: each deal of rows has its own

# Not scaled: fragments are added up first, and the variance of the whole table divides the sum.
SQUARED = Measure(
    name="squared error",
    title="sum of squared errors",
    meaning="in squared units of the attribute",
    papers="Del Vasto-Terrientes et al., Eq. (5), before division",
    needs_linkage=True,
    attribute=SUMMED_SQUARES,
    rank=99,
)


@dataclass(frozen=True)
class Setting:
    """A table, how its owners describe it, and what each of them holds."""

    table: pa.Table
    schema: Schema
    describe_part: Callable[[pa.Table], Schema]  # of an owner who only sees its rows
    rows: Sequence[int]
    holders: Mapping[str, Sequence[str]]
    ks: tuple[int, ...]
    alike: bool = False  # every attribute has the same share of ε, as in one place, whoever holds it

    def share(self, holder: str) -> Fraction:
        """§4.2.2: ε/m for each of m owners."""
        if self.alike:
            return Fraction(len(self.holders[holder]), len(self.schema.attributes))
        return Fraction(1, len(self.holders))

    @property
    def shares(self) -> dict[str, float]:
        """An owner's share is split again over its l attributes."""
        return {name: float(self.share(h)) / len(held) for h, held in self.holders.items() for name in held}

    @property
    def variances(self) -> Floats:
        columns = check(self.table.select([a.name for a in self.schema.attributes]), self.schema).columns
        return np.array([np.var(c.values, ddof=1) for c in columns.values() if isinstance(c, NumericColumn)])

    @cached_property
    def known(self) -> Mapping[str, list[list[Expected]]]:
        """The closed forms of summed squared errors, per place."""
        return {place: closed_forms(self, place) for place in PLACES}

    def deals(self, runs: int) -> list[list[pa.Table]]:
        """The rows of each owner, run by run."""
        found = []
        for run in range(runs):
            order = np.random.Generator(np.random.PCG64(run)).permutation(self.table.num_rows)
            found.append([self.table.take(pa.array(c)) for c in np.split(order, np.cumsum(self.rows)[:-1])])
        return found


@dataclass(frozen=True)
class Fragmented:
    """Squared errors with the axes k, ε, run, attribute: in one place, over owners of rows, over owners of attributes."""

    setting: Setting
    errors: Mapping[str, Floats]

    @property
    def runs(self) -> int:
        return int(self.errors["central"].shape[2])

    @cached_property
    def exact(self) -> Fragmented:
        """The closed forms instead of the runs; of owners of rows, one per deal."""
        shape = (len(self.setting.ks), len(EPSILONS))
        errors = {}
        for place, deals in self.setting.known.items():
            means = np.array([[cell.mean for cell in deal] for deal in deals])
            errors[place] = np.moveaxis(means.reshape(len(deals), *shape, -1), 0, 2)
        return replace(self, errors=errors)

    def without(self, block: int, blocks: int) -> Fragmented:
        kept = np.arange(self.runs) * blocks // self.runs != block
        return replace(self, errors={name: values[:, :, kept] for name, values in self.errors.items()})

    def per_run(self, place: str, reading: str) -> Floats:
        """Mean SSE, axes k, ε, run."""
        return combine(self.errors[place] / self.setting.table.num_rows, self.setting.variances, reading)

    def mean(self, place: str, reading: str) -> Floats:
        return np.asarray(self.per_run(place, reading).mean(axis=2))

    def difference(self, place: str, reading: str) -> Floats:
        """The difference as the papers' heatmaps show it: a fragmented release that is better counts as 0."""
        return np.asarray(np.maximum(self.mean(place, reading) - self.mean("central", reading), 0.0))

    def outcome(
        self, reading: str, judged: Sequence[Judgement], words: Mapping[str, str], title: str, notes: tuple[str, ...]
    ) -> ExperimentOutcome:  # fmt: skip
        ks = self.setting.ks
        panels = [(said, ks, self.difference(place, reading)) for place, said in words.items()]
        title = f"Del Vasto-Terrientes et al., {title}, mean of {self.runs} runs"
        figure = heatmaps(panels, EPSILONS, "mean SSE above one place", title, log=False)
        columns: dict[str, Any] = {"k": np.repeat(ks, len(EPSILONS)), "epsilon": [*EPSILONS] * len(ks)}
        for place in ("central", "horizontal", "vertical"):
            columns[place] = self.mean(place, reading).ravel()
        return ExperimentOutcome((*judged, *formula(self)), figure, pa.table(columns), notes)


def combine(errors: Floats, variances: Floats, reading: str) -> Floats:
    """Eq. (5) as printed, or with σ and 1/l inside the root; attributes on the last axis."""
    if reading == PRINTED.name:
        return np.asarray((errors / variances**2).sum(axis=-1) / len(variances) ** 2)
    return np.asarray((errors / variances).mean(axis=-1))


def fragmented(setting: Setting, runs: int) -> Fragmented:
    table, schema, ks = setting.table, setting.schema, setting.ks
    budgets = [parse_epsilon(text) for text in EPSILONS]
    whole = _errors(table, schema, ks, budgets, range(runs))
    dealt = np.zeros_like(whole)
    for run, fragments in enumerate(setting.deals(runs)):
        for number, fragment in enumerate(fragments, start=1):
            seed = owner_seed(run, f"owner-{number}")
            part = _errors(fragment, setting.describe_part(fragment), ks, budgets, [seed])
            dealt[:, :, run : run + 1] += part
    names = [attribute.name for attribute in schema.attributes]
    split = np.zeros_like(whole)
    for holder, held in setting.holders.items():
        described = Schema(attributes=tuple(schema[name] for name in held))
        shares = [budget * setting.share(holder) for budget in budgets]
        seeds = [owner_seed(run, holder) for run in range(runs)]
        places = [names.index(name) for name in held]
        split[..., places] = _errors(table.select(list(held)), described, ks, shares, seeds)
    return Fragmented(setting, {"central": whole, "vertical": split, "horizontal": dealt})


def _errors(
    table: pa.Table,
    schema: Schema,
    ks: Sequence[int],
    budgets: Sequence[Fraction],
    seeds: Sequence[int] | range,
) -> Floats:
    """Squared errors with the axes k, ε, run, attribute."""
    ready = SortedTable(check(table.select([a.name for a in schema.attributes]), schema).columns)
    cells = [Cell(METHOD, k, budget) for k in ks for budget in budgets]
    found = np.zeros((len(cells), len(seeds), len(schema.attributes)))
    # Seeds that follow each other share their work; those of owners do not follow each other.
    consecutive = isinstance(seeds, range)
    for place, seed in enumerate([seeds[0]] if consecutive else seeds):
        runs = len(seeds) if consecutive else 1
        for block in run_cells(ready, cells, Trials(runs, seed, [SQUARED], Settings())):
            for values, cell in zip(block.values[SQUARED.name], block.cells, strict=True):
                found[cells.index(cell), place : place + runs] = values
    return found.reshape(len(ks), len(budgets), *found.shape[1:])


# Against the closed forms: in one place, of every owner of attributes, and of every owner of rows in some of the deals.


def closed_forms(setting: Setting, place: str) -> list[list[Expected]]:
    """Summed squared errors: a list per deal (one, where rows stay together), of cells in the order of k and ε."""
    keys = [(METHOD, epsilon, k) for k in setting.ks for epsilon in EPSILONS]
    if place != "horizontal":
        shares = setting.shares if place == "vertical" else None
        return [list(expected(setting.table, setting.schema, keys, "sse-sum", shares=shares).values())]
    return [
        [
            _added(parts)
            for parts in zip(
                *(expected(f, setting.describe_part(f), keys, "sse-sum").values() for f in fragments),
                strict=True,
            )
        ]
        for fragments in setting.deals(DEALS)
    ]


def _added(parts: Sequence[Expected]) -> Expected:
    """Fragments are independent: means and variances add up."""
    return Expected(
        np.sum([part.mean for part in parts], axis=0),
        np.sum([part.variance for part in parts if part.variance is not None], axis=0),
        np.max([part.extreme for part in parts if part.extreme is not None], axis=0),
    )


def formula(found: Fragmented) -> tuple[Judgement, ...]:
    """One judgement per place: every attribute in every cell."""
    judged = []
    for place, said in PLACES.items():
        deals = found.setting.known[place]
        errors = found.errors[place]
        runs = min(DEALS, found.runs) if place == "horizontal" else found.runs
        measured = errors[:, :, :runs].mean(axis=2).reshape(-1, errors.shape[-1])
        mean, variance, extreme = (
            np.array([[getattr(cell, name) for cell in deal] for deal in deals[:runs]])
            for name in ("mean", "variance", "extreme")
        )
        error = np.sqrt(variance.mean(axis=0) / runs)
        slack = 2 * extreme.max(axis=0) / runs
        claim = f"{said}: every attribute's mean error is what the printed formulas give"
        judged.append(against(mean.mean(axis=0), measured, error, slack, runs, RESTS_ON, claim))
    setting = found.setting
    return (*judged, ranking_alone(setting.table, setting.schema, setting.ks))


# A difference of two means of fifty runs is mostly chance: a published one is judged by what such runs can show.

# Of differences (last axes k, ε; below 0 counts as 0) and the error in one place.
Statistic = Callable[[Floats, Floats], Floats]


def by_chance(
    found: Fragmented,
    place: str,
    reading: str,
    of: Statistic,
    claim: str,
    published: str,
    least: float,
    most: float,
    tolerance: str,
    shown: str,
) -> Judgement:
    """It holds if a mean of so many runs can lie between `least` and `most`, and ours lies where such means do."""
    exact = {name: found.exact.mean(name, reading) for name in (place, "central")}
    spread = sum(np.cov(found.per_run(name, reading).reshape(-1, found.runs)) for name in exact)
    generator = np.random.Generator(np.random.PCG64(0))
    drawn = generator.multivariate_normal(
        (exact[place] - exact["central"]).ravel(), spread / found.runs, size=DRAWS, method="eigh"
    )
    possible = of(np.maximum(drawn, 0.0).reshape(-1, *exact["central"].shape), exact["central"])
    low, high = (float(limit) for limit in np.quantile(possible, (0.0005, 0.9995)))
    ours = float(of(found.difference(place, reading)[None], exact["central"])[0])
    without = float(of(np.maximum(exact[place] - exact["central"], 0.0)[None], exact["central"])[0])
    measured = (
        f"{shown.format(ours)}; {shown.format(without)} without chance, from {shown.format(low)} to {shown.format(high)} "
        f"in 999 of 1,000 sets of {found.runs} runs"
    )
    holds = bool(low <= most and high >= least and low <= ours <= high)
    return Judgement(claim, published, measured, tolerance, holds, "below 1 in 500")
