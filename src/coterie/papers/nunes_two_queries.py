"""Nunes 2024, Fig. 5.2–5.5: how the split of ε = 1 between two queries changes the error of +, −, ×, ÷ (64 panels).

Four operations, and for each of four variables four values, the others at their base. The simulated mean is
drawn as in the figures, with the exact curve over it: closed for + and −, one quadrature for × and ÷. The
mean of a quotient is infinite; its curve is that of a denominator kept 1 % of its value away from zero, and
what the simulation shows above it are the spikes that Nunes 2024 describes.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from coterie.papers.experiment import Experiment, ExperimentOutcome, Judgement, as_printed
from coterie.papers.judging import counted
from coterie.report.charts import Figure, Lines, Series, lines
from coterie.schema.arrays import Floats

OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "addition": operator.add,
    "subtraction": operator.sub,
    "multiplication": operator.mul,
    "division": operator.truediv,
}
VARIABLES = {
    "value A": "value_a",
    "value B": "value_b",
    "sensitivity A": "sensitivity_a",
    "sensitivity B": "sensitivity_b",
}
VALUES, SENSITIVITIES = (10.0, 100.0, 1000.0, 10000.0), (1.0, 10.0, 100.0, 1000.0)
SHARES = np.arange(1, 100) / 100.0
ITERATIONS = 10_000
GUARD = 0.01


@dataclass(frozen=True)
class SplitPanel:
    operation: str
    variable: str
    value_a: float = 10.0
    value_b: float = 10.0
    sensitivity_a: float = 1.0
    sensitivity_b: float = 1.0

    @property
    def title(self) -> str:
        return f"{self.operation}, {self.variable} = {getattr(self, VARIABLES[self.variable]):g}"


def panels() -> list[SplitPanel]:
    """All 64."""
    found = []
    for operation in OPERATIONS:
        for variable, field in VARIABLES.items():
            for size in VALUES if field.startswith("value") else SENSITIVITIES:
                found.append(SplitPanel(operation, variable, **{field: size}))
    return found


def exact_curve(panel: SplitPanel, shares: Floats = SHARES) -> Floats:
    """E|result with noise − result| for each share of ε given to A."""
    a, b = panel.sensitivity_a / shares, panel.sensitivity_b / (1.0 - shares)
    if panel.operation in ("addition", "subtraction"):
        return np.asarray((a * a + a * b + b * b) / (a + b))  # E|Lap(a) ± Lap(b)|
    # One noise is integrated numerically; given it, the other enters linearly: E|c + Lap(β)| = |c| + β·e^(−|c|/β).
    return np.array([_given_one_noise(panel, float(x), float(y)) for x, y in zip(a, b, strict=True)])


def _given_one_noise(panel: SplitPanel, a: float, b: float) -> float:
    if panel.operation == "multiplication":
        unit, weight = _laplace_nodes(0.0)
        shift, slope = panel.value_b * a * unit, np.abs(panel.value_a + a * unit) * b
    else:
        unit, weight = _laplace_nodes(-panel.value_b / b)
        noisy = panel.value_b + b * unit
        divisor = np.where(noisy >= 0, 1.0, -1.0) * np.maximum(np.abs(noisy), GUARD * panel.value_b)
        shift, slope = panel.value_a * (1.0 / divisor - 1.0 / panel.value_b), a / np.abs(divisor)
    slope = np.maximum(slope, 1e-300)
    inner = np.abs(shift) + slope * np.exp(-np.minimum(np.abs(shift) / slope, 700.0))
    return float(inner @ weight)


def simulated(
    panel: SplitPanel, iterations: int = ITERATIONS, seed: int = 0, shares: Floats = SHARES
) -> Floats:
    """The mean absolute error of that many draws, as Nunes 2024 computes it (no guard)."""
    generator = np.random.Generator(np.random.PCG64(seed))
    a = panel.value_a + noise(generator, iterations, panel.sensitivity_a, shares)
    b = panel.value_b + noise(generator, iterations, panel.sensitivity_b, 1 - shares)
    result = OPERATIONS[panel.operation]
    return np.asarray(np.abs(result(a, b) - result(panel.value_a, panel.value_b)).mean(axis=1))


def noise(generator: np.random.Generator, iterations: int, sensitivity: float, budgets: Floats) -> Floats:
    """A row per budget, of scale sensitivity/ε (§5.1.2)."""
    return generator.laplace(size=(len(budgets), iterations)) * (sensitivity / budgets)[:, None]


def _laplace_nodes(around: float) -> tuple[Floats, Floats]:
    """Nodes and weights for ∫ f(x)·e^(−|x|)/2 dx, crowded where a denominator is zero."""
    near = np.geomspace(1e-9, 45.0, 1200)
    unit = np.unique(np.concatenate([np.linspace(-45.0, 45.0, 6001), around - near, around + near]))
    unit = unit[np.abs(unit) <= 45.0]
    gaps = np.diff(unit)
    weight = 0.5 * np.concatenate([[gaps[0]], gaps[1:] + gaps[:-1], [gaps[-1]]]) * 0.5 * np.exp(-np.abs(unit))
    return unit, weight / weight.sum()


def draw(chosen: Sequence[SplitPanel], means: Sequence[Floats], title: str = "") -> Figure:
    """One picture per panel: simulation as dots, exact curve as a line, logarithmic error axis."""

    def over_shares(values: Floats) -> list[tuple[float, float]]:
        return [(float(share), float(value)) for share, value in zip(SHARES, values, strict=True)]

    drawn = []
    for panel, mean in zip(chosen, means, strict=True):
        exact = "exact (denominator guarded)" if panel.operation == "division" else "exact"
        simulation = Series("simulated mean", over_shares(mean), look=1, joined=False)
        drawn.append(
            Lines(panel.title, [simulation, Series(exact, over_shares(exact_curve(panel)), marked=False)])
        )
    axis = "ε of query A (total ε = 1)"
    return lines(drawn, x=axis, y="mean absolute error", caption="", log_x=False, title=title)


def experiment(operation: str, number: str) -> Experiment:
    """One figure of Nunes 2024, §5.1 with all sixteen panels of its operation."""

    def compute(reading: str, runs: int) -> ExperimentOutcome:
        chosen = [panel for panel in panels() if panel.operation == operation]
        means = [simulated(panel) for panel in chosen]
        curves = [exact_curve(panel) for panel in chosen]
        rows = [
            {"panel": panel.title, "epsilon_a": float(share), "simulated": float(m), "exact": float(c)}
            for panel, mean, curve in zip(chosen, means, curves, strict=True)
            for share, m, c in zip(SHARES, mean, curve, strict=True)
        ]
        simulation = (
            _quotient(operation, chosen, means, curves) if operation == "division" else _smooth(means, curves)
        )
        said = _said(operation, {p.title: c for p, c in zip(chosen, curves, strict=True)})
        return ExperimentOutcome((*said, *simulation), draw(chosen, means, title), pa.Table.from_pylist(rows))

    title = f"{operation}: the error of two noisy queries over the split of ε"
    paper = f"Nunes 2024, §5.1, Fig. {number[0]}.{number[1]}"
    readings = (as_printed("the scale is sensitivity/ε, the budgets of both queries add up to 1 (§5.1)"),)
    return Experiment(f"nunes-fig{number}", title, paper, (), 10, compute, readings)


def _smooth(means: Sequence[Floats], curves: Sequence[Floats]) -> tuple[Judgement, ...]:
    worst = max(float(np.abs(m / c - 1).max()) for m, c in zip(means, curves, strict=True))
    claim = "simulated means are those of scale sensitivity/ε (exact curve), 16 panels × 99 splits"
    error = "below 1 in 1,000"  # the spread of such a mean is at most 1.3 % of it
    return (
        Judgement(claim, "simulation only", f"{worst:.1%} off at most", "within 8 %", worst <= 0.08, error),
    )


def _quotient(
    operation: str, chosen: Sequence[SplitPanel], means: Sequence[Floats], curves: Sequence[Floats]
) -> tuple[Judgement, ...]:
    known = {p.title: (m, c) for p, m, c in zip(chosen, means, curves, strict=True)}
    small, large = (known[f"{operation}, value B = {size}"] for size in (10, 10000))
    excess, calm = float((small[0] / small[1]).max()), float(np.abs(large[0] / large[1] - 1).max())
    error = "below 1 in 1,000"
    return (
        Judgement(
            "spikes with a small denominator", "random spikes", f"{excess:.0f} × the curve", "above 3 ×", excess > 3, error
        ),
        Judgement(
            "with a denominator of 10,000 simulated means are those of scale sensitivity/ε (exact curve)",
            "much smoother", f"{calm:.1%} off at most", "within 8 %", calm <= 0.08, error,
        ),
    )  # fmt: skip


def _said(operation: str, curves: Mapping[str, Floats]) -> tuple[Judgement, ...]:
    """What the text says of a figure, judged by the exact curves."""

    def best(variable: str, size: int) -> float:
        return float(SHARES[curves[f"{operation}, {variable} = {size}"].argmin()])

    base, sensitive = best("sensitivity A", 1), best("sensitivity A", 100)
    claim = "best share of query A at sensitivity 1, 100"
    found = [
        Judgement(
            claim,
            "moves towards the more sensitive query",
            f"{base:g}, {sensitive:g}",
            "larger",
            sensitive > base,
        )
    ]
    alike = [f"{operation}, value {query} = {size}" for query in "AB" for size in (10, 100, 1000, 10000)]
    if operation in ("addition", "subtraction"):
        same = max(float(np.abs(curves[name] / curves[alike[0]] - 1).max()) for name in alike)
        found += [
            Judgement(
                "best share of query A in the baseline", "perfectly divided", f"{base:g}", "0.5", base == 0.5
            ),
            Judgement("values do not change the noise", "identical", f"{same:.0%} apart", "0 %", same == 0),
        ]
    if operation == "multiplication":
        right = best("value B", 100)
        proof = (
            f"its own expansion has nA·qB: a larger qB makes the noise of A dear. At qB = 100 the best share of A is "
            f"{right:g}, at qA = 100 it is {best('value A', 100):g}: the budget moves away from the query whose value "
            "grows, as the sentence before says"
        )
        found += [
            Judgement(
                "qB = 100 moves the best split to the right", "shifts to the right", f"{right:g}", f"above {base:g}",
                right > base,
            ),
            Judgement(
                "the best split comes closer to the query whose value grows", "the key conclusion of §5.1.2",
                f"{right:g} for A at qB = 100", f"below {base:g}", right < base,
                slip=proof if right > base > best("value A", 100) else "",
            ),
        ]  # fmt: skip
    if operation == "division":
        lower = [
            curves[f"division, value B = {size}"] < curves["division, value B = 10"]
            for size in (100, 1000, 10000)
        ]
        found.append(
            counted(
                "a larger denominator lowers the noise everywhere",
                "at all points",
                np.array(lower),
                "every point",
            )
        )
    return tuple(found)


EXPERIMENT = tuple(
    experiment(operation, f"5{number}") for number, operation in enumerate(OPERATIONS, start=2)
)
