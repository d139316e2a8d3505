"""Targets of the same form are evaluated together: fifty means are one array operation, not fifty.

Two equations have the same form if they differ only in which quantities they use and in their constants.
The form is an expression over x0, x1, … (quantities) and #0, #1, … (constants)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coterie.statistics.prediction.autodiff import Tape
from coterie.statistics.prediction.noise_model import Family
from coterie.statistics.prediction.target_error import PROBABILITY, unit_noise
from coterie.statistics.specification.equations import Expression, Op, name, names_in

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Form:
    """What equations of one form share."""

    expression: Expression
    families: tuple[Family, ...]
    summary: str


@dataclass(frozen=True)
class Batch:
    """`targets[i]` uses the quantities `inputs[i]` and the constants `constants[i]`."""

    form: Form
    tape: Tape
    targets: tuple[int, ...]
    inputs: NDArray[np.int64]
    constants: Array

    def errors(
        self, members: NDArray[np.int64], scales: Array, values: Array, exponent: int, slopes: bool
    ) -> tuple[Array, Array]:
        """Errors (members) and, if asked for, their slopes by scale (members × inputs)."""
        inputs = self.inputs[members]
        constants = {f"#{j}": self.constants[members, j : j + 1] for j in range(self.constants.shape[1])}
        unit = unit_noise(tuple(family.smooth for family in self.form.families), exponent)
        count = inputs.shape[1]
        centre = {f"x{i}": values[inputs[:, i], None] for i in range(count)}
        noisy = {f"x{i}": centre[f"x{i}"] + scales[inputs[:, i], None] * unit[i] for i in range(count)}
        results = self.tape.run({**noisy, **constants})
        deviation = results[-1] - self.tape.value({**centre, **constants})
        size = np.abs(deviation)
        probability = PROBABILITY.get(self.form.summary)
        error = size.mean(axis=1) if probability is None else np.quantile(size, probability, axis=1)
        if not slopes:
            return error, np.empty((len(members), 0))
        gradients = self.tape.gradient(results, np.sign(deviation))
        weights = _weights(size, probability)
        slope = np.stack(
            [
                (np.broadcast_to(gradients[f"x{i}"] * unit[i], size.shape) * weights).sum(axis=1)
                for i in range(count)
            ],
            axis=1,
        )
        return error, slope


def _weights(size: Array, probability: float | None) -> Array:
    """Which draws carry the slope: all of them for a mean, those around it for a quantile."""
    if probability is None:
        return np.full((1, 1), 1.0 / size.shape[1])
    draws = size.shape[1]
    rank = np.argsort(np.argsort(size, axis=1), axis=1)
    near = np.abs(rank - int(probability * draws)) <= max(8, draws // 40)
    return np.asarray(near / near.sum(axis=1, keepdims=True))


def make_batches(
    expressions: Sequence[Expression],
    inputs: Sequence[tuple[int, ...]],
    families: Sequence[tuple[Family, ...]],
    summaries: Sequence[str],
) -> tuple[Batch, ...]:
    groups: dict[Form, list[tuple[int, list[float]]]] = {}
    for index, expression in enumerate(expressions):
        constants: list[float] = []
        places = {used: f"x{i}" for i, used in enumerate(names_in(expression))}
        form = Form(_form(expression, places, constants), families[index], summaries[index])
        groups.setdefault(form, []).append((index, constants))
    return tuple(
        Batch(
            form,
            Tape.of(form.expression),
            tuple(index for index, _ in members),
            np.array([inputs[index] for index, _ in members], dtype=np.int64).reshape(len(members), -1),
            np.array([constants for _, constants in members]).reshape(len(members), -1),
        )
        for form, members in groups.items()
    )


def _form(node: Expression, places: dict[str, str], constants: list[float]) -> Expression:
    if node.op is Op.NAME:
        return name(places[node.name])
    if node.op is Op.NUMBER:
        constants.append(node.number)
        return name(f"#{len(constants) - 1}")
    if node.op is Op.POWER:  # the exponent decides the rule of the derivative: it stays
        return Expression(node.op, (_form(node.arguments[0], places, constants), node.arguments[1]))
    return Expression(node.op, tuple(_form(argument, places, constants) for argument in node.arguments))
