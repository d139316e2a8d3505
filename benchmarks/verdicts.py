"""How often an audit says "severe": of releases that are proved at ε = 1, and of releases that give people away.

Wanted: at most 1 % of the first, at least 99 % of the second. Each release is of another table, other people
and other noise; a fifth of the people (whole households, where the schema names them) is held back as control group. The
releases that leak are audited twice, with that control group and without one. COTERIE_BENCH_VERDICTS sets the number of
releases of each kind (200 unless told).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.audit import correlated_normals
from coterie import Schema, audit, demo_population, demo_schema, protect
from coterie.auditing.attacks.finding import Level, proportion
from coterie.auditing.auditing_method import hold_back

# Small tables, where luck is largest, and one of a thousand people.
SIZES = (150, 300, 600, 1200)
GROUPS = (5, 10, 20)  # records per group, in turn
Tables = tuple[pa.Table, Schema]


@dataclass(frozen=True, slots=True)
class Kind:
    """One line of the table: a method with its settings, on some tables."""

    method: str
    tables: tuple[str, ...]
    settings: tuple[tuple[str, Any], ...] = ()
    grouped: bool = False

    @property
    def label(self) -> str:
        extra = "".join(f", {'δ' if name == 'delta' else name} = {value}" for name, value in self.settings)
        groups = f", k = {', '.join(map(str, GROUPS))}" if self.grouped else ""
        return f"`{self.method}`{extra}{groups}"


PROVED = (
    Kind("dp-synthetic", ("demo", "normals", "households")),
    Kind("dp-synthetic", ("demo", "normals", "households"), (("delta", "1e-6"),)),
    Kind("laplace", ("demo", "normals")),
)
LEAKS = (
    Kind("idp-cbls", ("demo", "normals"), grouped=True),
    Kind("ir", ("demo", "normals"), grouped=True),
    Kind("dp-ir", ("demo", "normals"), grouped=True),
)


def households(people: int, seed: int) -> Tables:
    """Members of a household are alike: the same region, ages and incomes around those of the household."""
    draws = np.random.default_rng(seed)
    sizes = draws.integers(1, 6, people)
    home = np.repeat(np.arange(people), sizes)[:people]
    middle, wealth = draws.uniform(15, 75, people), draws.normal(10, 0.6, people)
    region = draws.choice(["north", "east", "south", "west"], people)
    table = {
        "home": home,
        "age": np.clip(np.rint(middle[home] + draws.normal(0, 12, people)), 0, 100).astype(int),
        "income": np.clip(np.exp(wealth[home] + draws.normal(0, 0.3, people)), 0, 200_000),
        "region": region[home],
        "sex": draws.choice(["f", "m"], people),
    }
    schema = {
        "unit": {"column": "home", "at_most": 5},
        "attributes": {
            "home": {"role": "identifier"},
            "age": {"type": "integer", "role": "protect", "domain": {"lower": 0, "upper": 100}},
            "income": {"type": "continuous", "role": "protect", "domain": {"lower": 0, "upper": 200_000}},
            "region": {
                "type": "categorical",
                "role": "protect",
                "categories": {"labels": ["north", "east", "south", "west"]},
            },
            "sex": {"type": "categorical", "role": "protect", "categories": {"labels": ["f", "m"]}},
        },
    }
    return pa.table(table), Schema.load(schema)


TABLES: dict[str, Callable[[int, int], Tables]] = {
    "demo": lambda people, seed: (demo_population(people, seed=seed), demo_schema()),
    "normals": lambda people, seed: correlated_normals(people, 4, seed),
    "households": households,
}


def verdict(kind: Kind, number: int, *, control: bool = True) -> Level:
    """Of the audit of one release: table, size, people and noise follow from its number."""
    name = kind.tables[number % len(kind.tables)]
    table, schema = TABLES[name](SIZES[number // len(kind.tables) % len(SIZES)], 1000 + number)
    inside, outside = hold_back(table, number, schema)
    groups = {"k": GROUPS[number % len(GROUPS)]} if kind.grouped else {}
    rows = (
        {"rows": inside.num_rows} if schema.unit is not None else {}
    )  # a noisy count of few households can be 1
    settings = {**dict(kind.settings), **groups, **rows}
    release = protect(inside, schema, method=kind.method, epsilon=1, seed=number, **settings)
    return audit(inside, release, schema, control=outside if control else None, seed=number).level


def verdicts(kind: Kind, releases: int, *, control: bool = True) -> list[Level]:
    return [verdict(kind, number, control=control) for number in range(releases)]


def run() -> Iterator[str]:
    releases = int(os.environ.get("COTERIE_BENCH_VERDICTS", "200"))
    yield (
        "| release, ε = 1 | control group | releases | severe | some risk | nothing found | cannot tell "
        "| severe, 95 % interval |"
    )
    yield "|---|---|--:|--:|--:|--:|--:|--:|"
    for kinds, alone in ((PROVED, False), (LEAKS, True)):
        for kind in kinds:
            yield _line(kind, verdicts(kind, releases), "held back")
        for kind in kinds if alone else PROVED[:1]:
            yield _line(kind, verdicts(kind, releases, control=False), "none")


def _line(kind: Kind, found: list[Level], control: str) -> str:
    counts = [found.count(level) for level in (Level.SEVERE, Level.SOME, Level.NOTHING, Level.UNKNOWN)]
    share = proportion(counts[0], len(found))
    cells = (kind.label, control, f"{len(found):,}", *map(str, counts))
    return f"| {' | '.join(cells)} | {100 * share.low:.1f} – {100 * share.high:.1f} % |"


if __name__ == "__main__":
    for line in run():
        print(line)
