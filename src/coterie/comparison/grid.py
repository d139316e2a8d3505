"""Which cells a comparison has, and which it cannot have and why."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from coterie.errors import ParameterError
from coterie.methods import LISTED, all_methods, get_method
from coterie.registry import unknown
from coterie.schema.exact import Number, as_text, parse_epsilon

MOST_LINES = 12  # of choices that were left out


@dataclass(frozen=True, slots=True, order=True)
class Cell:
    """One choice of method, k and ε; all its runs belong to it."""

    method: str
    k: int
    epsilon: Fraction

    def __hash__(self) -> int:
        """Fraction's own hash takes a modular power."""
        return hash((self.method, self.k, self.epsilon.as_integer_ratio()))

    @property
    def key(self) -> tuple[str, int, str]:
        return self.method, self.k, as_text(self.epsilon)


@dataclass(frozen=True, slots=True)
class Skipped:
    """Choices that were left out, and the sentence that says why: one k with every ε, or one ε with every k."""

    method: str
    reason: str
    k: int | None = None
    epsilon: Fraction | None = None

    def to_json(self) -> dict[str, str | int | None]:
        epsilon = None if self.epsilon is None else as_text(self.epsilon)
        return {"method": self.method, "k": self.k, "epsilon": epsilon, "reason": self.reason}


def left_out(skipped: Iterable[Skipped]) -> list[str]:
    """A line for each reason, with the methods that it holds for. Of very many (`--k 5-5000`) the first and a number."""
    methods: dict[tuple[str, str], list[str]] = {}
    for entry in skipped:
        which = f"k = {entry.k}" if entry.epsilon is None else f"ε = {as_text(entry.epsilon)}"
        methods.setdefault((which, entry.reason), []).append(entry.method)
    lines = [f"{', '.join(names)}, {which}: {reason}" for (which, reason), names in methods.items()]
    if len(lines) > MOST_LINES:
        lines[MOST_LINES - 1 :] = [f"and {len(lines) - MOST_LINES + 1:,} more such choices"]
    return lines


@dataclass(frozen=True, slots=True)
class Grid:
    """Run r of every cell draws its noise as `protect(…, seed=seed + r)` does."""

    methods: tuple[str, ...]
    epsilons: tuple[Fraction, ...]
    ks: tuple[int, ...]
    runs: int = 10
    seed: int = 0

    def plan(self, records: int, attributes: int = 1) -> tuple[list[Cell], list[Skipped]]:
        """Cells in the order of work: all methods and ε of one k together. Impossible ones come back with a reason.

        A method with a public rule for k has the k of that rule, too. Without any k, others have about √n.
        """
        cells: dict[Cell, None] = {}
        skipped: list[Skipped] = []
        epsilons = sorted(self.epsilons)
        for method in map(get_method, self.methods):
            if method.public_k is not None:
                for epsilon in epsilons:
                    k = method.check_k(None, records, epsilon / attributes)
                    cells[Cell(method.name, k, epsilon)] = None
            usual = () if method.public_k is not None else (max(method.minimum_k, math.isqrt(records)),)
            for k in (method.fixed_k,) if method.fixed_k else self.ks or usual:
                try:
                    method.check_k(k, records)
                except ParameterError as error:
                    skipped.append(Skipped(method.name, error.problem, k=k))
                    continue
                cells.update(dict.fromkeys(Cell(method.name, k, epsilon) for epsilon in epsilons))
        order = {name: place for place, name in enumerate(self.methods)}
        planned = sorted(cells, key=lambda cell: (cell.k, order[cell.method]))  # a method's ε are in order
        if not planned:
            raise ParameterError(
                "No cell of the grid is possible: " + skipped[0].reason if skipped else "The grid is empty.",
                "Choose k from 3 up to the number of records, and at least one method.",
            )
        return planned, skipped


def make_grid(
    methods: Sequence[str], epsilons: Iterable[Number], ks: Iterable[int], runs: int = 10, seed: int = 0
) -> Grid:
    """Check what the user wrote; repeated entries count once."""
    for name in methods:
        if not isinstance(name, str):  # grids are stored by the names of their methods
            raise unknown("method", name, all_methods(), LISTED)
    names = tuple(dict.fromkeys(get_method(name).name for name in methods))
    if not names:
        raise ParameterError(
            "No method was named.", "Give some, for example dp-synthetic, laplace and dp-ir."
        )
    total = tuple(sorted({parse_epsilon(epsilon) for epsilon in epsilons}))
    if not total:
        raise ParameterError("No ε was named.", "Give some, for example 0.1 and 1.")
    sizes = tuple(sorted(set(ks)))
    if any(isinstance(k, bool) or not isinstance(k, int) or k < 1 for k in sizes):
        raise ParameterError("k is not a whole number from 1 up.", "Give for example 5, 10 and 50.")
    if runs < 1:
        raise ParameterError("A cell needs at least one run.", "Give for example 10.")
    if seed < 0:
        raise ParameterError("The seed is not a whole number from 0 up.", "Give for example 1.")
    return Grid(names, total, sizes, runs, seed)
