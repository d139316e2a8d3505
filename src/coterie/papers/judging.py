"""How a claim is judged: from enough runs, with the chance that other seeds would have judged otherwise.

A number is compared with a range; its standard error comes from leaving out one block of runs at a time. A claim about
many points is contradicted where a point lies on the wrong side by more than chance allows, all points together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.special import stdtr, stdtrit

from coterie.papers.experiment import Judgement
from coterie.schema.arrays import Flags, Floats

BLOCKS = 20
FAMILY = 1e-3  # of a claim about many points: how likely chance contradicts any of them


def chance(probability: float) -> str:
    """In words a reader can compare: below 1 in a power of ten."""
    if probability > 0.01:
        return f"about {probability:.0%}"
    power = min(int(-math.log10(max(probability, 1e-300))), 6)
    return f"below 1 in {10**power:,}"


def beyond(standard_errors: float, blocks: int = BLOCKS) -> str:
    """The chance of a Student's t so far out, with the blocks' degrees of freedom."""
    return chance(float(stdtr(blocks - 1, -abs(standard_errors))))


AGREE = 6.0  # standard errors that a statistic of the runs may lie from its closed form


class ManyRuns(Protocol):
    """Grids, fragments, forests: many runs, of which a block can be left out."""

    @property
    def runs(self) -> int: ...

    def without(self, block: int, blocks: int) -> Any: ...


@dataclass(frozen=True)
class RunEstimate:
    """A statistic of whole grids (one number or several) from the runs, its standard error, and its closed form."""

    value: Floats
    error: Floats
    exact: Floats | None = None


def jackknife(of: Callable[..., Any], *grids: ManyRuns, exact: Sequence[Any] = ()) -> RunEstimate:
    """The standard error comes from leaving out every block of runs once; `exact` are the grids of closed forms."""
    blocks = min(BLOCKS, min(grid.runs for grid in grids))
    left = np.array([of(*(grid.without(block, blocks) for grid in grids)) for block in range(blocks)])
    error = np.asarray(np.sqrt((blocks - 1) * np.var(left, axis=0)))
    closed = np.atleast_1d(np.asarray(of(*exact), dtype=np.float64)) if exact else None
    return RunEstimate(np.atleast_1d(np.asarray(of(*grids), dtype=np.float64)), np.atleast_1d(error), closed)


def within(
    claim: str,
    published: str,
    found: RunEstimate,
    low: float,
    high: float,
    tolerance: str,
    shown: str = "{:.2f}",
) -> Judgement:
    """Numbers inside a range. Where there is a closed form, it decides, and the runs must agree with it."""
    decides = found.value if found.exact is None else found.exact
    out = np.maximum(low - decides, decides - high)  # below 0: inside, so far
    holds = bool((out <= 0).all())
    measured = _range(found.value, shown, found.error)
    if found.exact is not None and found.error.any():
        off = np.abs(found.value - found.exact)
        agree = bool((off <= AGREE * found.error + 1e-9 * np.abs(found.exact)).all())
        measured = f"{_range(found.exact, shown)}; {measured} in runs" + ("" if agree else ", which disagree")
        return Judgement(claim, published, measured, tolerance, holds and agree, "below 1 in 1,000")
    if not found.error.any():
        return Judgement(claim, published, measured, tolerance, holds)
    steps = np.divide(out, found.error, out=np.full_like(out, np.inf), where=found.error > 0)
    return Judgement(claim, published, measured, tolerance, holds, beyond(float(np.max(steps))))


def _range(values: Floats, shown: str, error: Floats | None = None) -> str:
    """One number with its standard error, or from the smallest to the largest of several."""
    if len(values) > 1:
        return f"{shown.format(values.min())} to {shown.format(values.max())}"
    give = f" ± {shown.format(error[0]).lstrip('+')}" if error is not None and error[0] > 0 else ""
    return shown.format(values[0]) + give


def everywhere(
    claim: str,
    published: str,
    gaps: Floats,
    allowed: float = 0.0,
    least: float = 0.9,
    what: str = "points",
    exact: Floats | None = None,
) -> Judgement:
    """A claim about many points: `gaps` (last axis: runs) are above 0 where it holds; `exact` are their closed forms.

    At most the share `allowed` may be contradicted, at least the share `least` must be confirmed, beyond chance. Where
    there are closed forms they decide, and the runs must not contradict them.
    """
    runs = gaps.shape[-1]
    flat = gaps.reshape(-1, runs)
    mean = flat.mean(axis=1)
    error = flat.std(axis=1, ddof=1) / math.sqrt(runs) if runs > 1 else np.zeros(len(flat))
    critical = float(-stdtrit(max(runs - 1, 1), FAMILY / len(flat)))
    confirmed, contradicted = mean > critical * error, mean < -critical * error
    measured = f"confirmed at {confirmed.sum()} of {len(flat)} {what}, contradicted at {contradicted.sum()}"
    if exact is not None:
        above = exact.ravel() > 0
        agree = not (confirmed & ~above).any() and not (contradicted & above).any()
        tolerance = "every one" if not allowed else f"at least {1 - allowed:.0%}"
        measured = f"{above.sum()} of {len(flat)} {what}; in runs {measured}" + (
            "" if agree else ", which disagrees"
        )
        return Judgement(
            claim,
            published,
            measured,
            tolerance,
            bool(above.mean() >= 1 - allowed and agree),
            "below 1 in 1,000",
        )
    most = "none" if not allowed else f"at most {allowed:.0%}"
    tolerance = f"contradicted: {most}; confirmed: at least {least:.0%}"
    holds = bool(contradicted.mean() <= allowed and confirmed.mean() >= least)
    return Judgement(
        claim, published, measured, tolerance, holds, "exact" if not error.any() else "below 1 in 1,000"
    )


def counted(
    claim: str, published: str, holds: Flags, tolerance: str, least: float = 1.0, what: str = "points",
    error: str = "exact",
) -> Judgement:  # fmt: skip
    """A claim about many points without noise: it holds if at least this part of them keeps it."""
    measured = f"{int(holds.sum())} of {holds.size} {what}"
    return Judgement(claim, published, measured, tolerance, bool(holds.mean() >= least), error)
