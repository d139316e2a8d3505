"""Paper 002, §5.1: how the split of ε = 1 between two queries changes the error of +, −, ×, ÷ (64 panels).

Four operations, and for each of four variables four values, the others at their base. The simulated mean is
drawn as in Fig. 5.2–5.5, with the exact curve over it: closed for + and −, one quadrature for × and ÷. The
mean of a quotient is infinite; its curve is that of a denominator kept 1 % of its value away from zero, and
what the simulation shows above it are the spikes that 002 describes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from coterie.report.style import COLOURS, as_png, new_figure

Array = NDArray[np.float64]
OPERATIONS = ("addition", "subtraction", "multiplication", "division")
VARIABLES = ("value A", "value B", "sensitivity A", "sensitivity B")
VALUES, SENSITIVITIES = (10.0, 100.0, 1000.0, 10000.0), (1.0, 10.0, 100.0, 1000.0)
SHARES = np.arange(1, 100) / 100.0
ITERATIONS = 10_000
GUARD = 0.01


@dataclass(frozen=True)
class Panel:
    operation: str
    variable: str
    value_a: float = 10.0
    value_b: float = 10.0
    sensitivity_a: float = 1.0
    sensitivity_b: float = 1.0

    @property
    def title(self) -> str:
        shown = {
            "value A": self.value_a,
            "value B": self.value_b,
            "sensitivity A": self.sensitivity_a,
            "sensitivity B": self.sensitivity_b,
        }[self.variable]
        return f"{self.operation}, {self.variable} = {shown:g}"


def panels() -> list[Panel]:
    """All 64."""
    fields = ("value_a", "value_b", "sensitivity_a", "sensitivity_b")
    found = []
    for operation in OPERATIONS:
        for variable, field in zip(VARIABLES, fields, strict=True):
            for size in VALUES if field.startswith("value") else SENSITIVITIES:
                found.append(Panel(operation, variable, **{field: size}))
    return found


def exact_curve(panel: Panel, shares: Array = SHARES) -> Array:
    """E|result with noise − result| for each share of ε given to A."""
    a, b = panel.sensitivity_a / shares, panel.sensitivity_b / (1.0 - shares)
    if panel.operation in ("addition", "subtraction"):
        return np.asarray((a * a + a * b + b * b) / (a + b))  # E|Lap(a) ± Lap(b)|
    # One noise is integrated numerically; given it, the other enters linearly: E|c + Lap(β)| = |c| + β·e^(−|c|/β).
    unit, weight = _laplace_nodes()
    if panel.operation == "multiplication":
        noise = a[:, None] * unit
        shift, slope = panel.value_b * noise, np.abs(panel.value_a + noise) * b[:, None]
    else:
        noisy = panel.value_b + b[:, None] * unit
        divisor = np.where(noisy >= 0, 1.0, -1.0) * np.maximum(np.abs(noisy), GUARD * panel.value_b)
        shift = panel.value_a * (1.0 / divisor - 1.0 / panel.value_b)
        slope = a[:, None] / np.abs(divisor)
    slope = np.maximum(slope, 1e-300)
    inner = np.abs(shift) + slope * np.exp(-np.minimum(np.abs(shift) / slope, 700.0))
    return np.asarray(inner @ weight)


def simulated(panel: Panel, iterations: int = ITERATIONS, seed: int = 0, shares: Array = SHARES) -> Array:
    """The mean absolute error of that many draws, as 002 computes it (no guard)."""
    generator = np.random.Generator(np.random.PCG64(seed))
    a = (
        panel.value_a
        + generator.laplace(size=(len(shares), iterations)) * (panel.sensitivity_a / shares)[:, None]
    )
    b = (
        panel.value_b
        + generator.laplace(size=(len(shares), iterations)) * (panel.sensitivity_b / (1 - shares))[:, None]
    )
    match panel.operation:
        case "addition":
            error = a + b - (panel.value_a + panel.value_b)
        case "subtraction":
            error = a - b - (panel.value_a - panel.value_b)
        case "multiplication":
            error = a * b - panel.value_a * panel.value_b
        case _:
            error = a / b - panel.value_a / panel.value_b
    return np.asarray(np.abs(error).mean(axis=1))


def _laplace_nodes() -> tuple[Array, Array]:
    """A fine trapezoid rule for ∫ f(x)·e^(−|x|)/2 dx."""
    unit = np.linspace(-45.0, 45.0, 18_001)
    weight = 0.5 * np.exp(-np.abs(unit)) * (unit[1] - unit[0])
    return unit, weight / weight.sum()


def draw(chosen: list[Panel], path: Path, columns: int = 4, iterations: int = ITERATIONS) -> None:
    """Panels in a grid: simulation as dots, exact curve as a line, logarithmic error axis."""
    rows = -(-len(chosen) // columns)
    figure, axes = new_figure(3.2 * columns, 2.4 * rows, rows, columns)
    for axis, panel in zip(axes.flat, chosen, strict=False):
        axis.plot(
            SHARES,
            simulated(panel, iterations),
            ".",
            markersize=2.5,
            color=COLOURS[1],
            label="simulated mean",
        )
        label = "exact (denominator guarded)" if panel.operation == "division" else "exact"
        axis.plot(SHARES, exact_curve(panel), color=COLOURS[0], linewidth=1.3, label=label)
        axis.set_yscale("log")
        axis.set_title(panel.title, fontsize=8)
        axis.set_xlabel("ε of query A (total ε = 1)", fontsize=7)
        axis.set_ylabel("mean absolute error", fontsize=7)
        axis.tick_params(labelsize=6)
    for axis in list(axes.flat)[len(chosen) :]:
        axis.set_visible(False)
    axes.flat[0].legend(fontsize=6, frameon=False)
    path.write_bytes(as_png(figure))
