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
# Of small surveys, in turn: a promise that fails must not hide behind much noise.
EPSILONS = ("0.1", "1", "10")
Tables = tuple[pa.Table, Schema]


@dataclass(frozen=True, slots=True)
class Kind:
    """One line of the table: a method with its settings, on some tables."""

    method: str
    tables: tuple[str, ...]
    settings: tuple[tuple[str, Any], ...] = ()
    groups: tuple[int, ...] = ()  # records per group, in turn
    epsilons: tuple[str, ...] = ("1",)

    @property
    def label(self) -> str:
        extra = "".join(f", {'δ' if name == 'delta' else name} = {value}" for name, value in self.settings)
        groups = f", k = {', '.join(map(str, self.groups))}" if self.groups else ""
        if self.epsilons != ("1",):
            groups += f", ε = {', '.join(self.epsilons)}, small surveys"
        return f"`{self.method}`{extra}{groups}"


PROVED = (
    Kind("dp-synthetic", ("demo", "normals", "households")),
    Kind("dp-synthetic", ("demo", "normals", "households"), (("delta", "1e-6"),)),
    Kind("laplace", ("demo", "normals")),
)
LEAKING = ("idp-cbls", "ir", "dp-ir")
LEAKS = (
    *(Kind(method, ("demo", "normals"), groups=GROUPS) for method in LEAKING),
    *(
        Kind(method, ("survey",), groups=(3, 5, 20, 50), epsilons=EPSILONS)
        for method in (*LEAKING, "dp-mdav")
    ),
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


def survey(people: int, seed: int) -> Tables:
    """Three to twelve questions, most with two to nine answers: nearly no two people can be told apart by few of them."""
    draws = np.random.default_rng(seed)
    common = draws.normal(size=people)
    table: dict[str, Any] = {}
    attributes: dict[str, Any] = {}
    for place in range(3 + seed % 10):
        score = 0.6 * common + 0.8 * draws.normal(size=people)
        labels = [f"answer {number}" for number in range((2, 3, 4, 6, 9)[place % 5])]
        share = np.clip((score + 2) / 4, 0, 0.999)
        if place == 0:
            table["age"] = np.rint(100 * share).astype(int)
            attributes["age"] = {"type": "integer", "role": "protect", "domain": {"lower": 0, "upper": 100}}
        else:
            table[f"q{place}"] = np.array(labels)[(share * len(labels)).astype(int)]
            attributes[f"q{place}"] = {
                "type": "categorical",
                "role": "protect",
                "categories": {"labels": labels},
            }
    return pa.table(table), Schema.load({"attributes": attributes})


TABLES: dict[str, Callable[[int, int], Tables]] = {
    "demo": lambda people, seed: (demo_population(people, seed=seed), demo_schema()),
    "normals": lambda people, seed: correlated_normals(people, 4, seed),
    "households": households,
    "survey": survey,
}


def verdict(kind: Kind, number: int, *, control: bool = True) -> Level:
    """Of the audit of one release: table, size, people and noise follow from its number."""
    name = kind.tables[number % len(kind.tables)]
    table, schema = TABLES[name](SIZES[number // len(kind.tables) % len(SIZES)], 1000 + number)
    inside, outside = hold_back(table, number, schema)
    # Other steps than those of the sizes, so that every size meets every k and ε.
    possible = [k for k in kind.groups if 2 * k <= inside.num_rows]
    groups = {"k": possible[number // len(SIZES) % len(possible)]} if kind.groups else {}
    epsilon = kind.epsilons[number // (len(SIZES) * max(len(kind.groups), 1)) % len(kind.epsilons)]
    # A noisy count of few households can be 1.
    rows = {"rows": inside.num_rows} if schema.unit is not None else {}
    settings = {**dict(kind.settings), **groups, **rows}
    release = protect(inside, schema, method=kind.method, epsilon=epsilon, seed=number, **settings)
    return audit(inside, release, schema, control=outside if control else None, seed=number).level


def verdicts(kind: Kind, releases: int, *, control: bool = True) -> list[Level]:
    return [verdict(kind, number, control=control) for number in range(releases)]


def run() -> Iterator[str]:
    releases = int(os.environ.get("COTERIE_BENCH_VERDICTS", "200"))
    yield (
        "| release (ε = 1 unless said) | control group | releases | severe | some risk | nothing found | cannot tell "
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
