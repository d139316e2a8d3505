"""Equations that analysts use all the time, ready to name instead of to write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from coterie.errors import ParameterError, nearest
from coterie.statistics.names import split_labels


@dataclass(frozen=True, slots=True)
class ReadyMade:
    title: str
    arguments: tuple[str, ...]
    formula: str


READY_MADE: Mapping[str, ReadyMade] = {
    "ratio": ReadyMade("a/b", ("a", "b"), "{a} / {b}"),
    "difference": ReadyMade("a − b", ("a", "b"), "{a} - {b}"),
    "share": ReadyMade(
        "part of whole, kept in [0, 1]", ("part", "whole"), "min(max({part} / {whole}, 0), 1)"
    ),
    "percent_change": ReadyMade("100·(new/old − 1)", ("new", "old"), "100 * ({new} / {old} - 1)"),
    "t_test": ReadyMade(
        "two-sample t with unequal variances (002 §5.4.2)",
        ("mean1", "std1", "n1", "mean2", "std2", "n2"),
        "({mean1} - {mean2}) / sqrt({std1} ** 2 / {n1} + {std2} ** 2 / {n2})",
    ),
    "z_test": ReadyMade(
        "two-sample z for proportions, pooled",
        ("share1", "n1", "share2", "n2"),
        "({share1} - {share2}) / sqrt(max(({n1} * {share1} + {n2} * {share2}) / ({n1} + {n2})"
        " * (1 - ({n1} * {share1} + {n2} * {share2}) / ({n1} + {n2})), 0.000001) * (1 / {n1} + 1 / {n2}))",
    ),
    "odds_ratio": ReadyMade(
        "(a·d)/(b·c) of a two-by-two table of counts", ("a", "b", "c", "d"), "({a} * {d}) / ({b} * {c})"
    ),
    "correlation": ReadyMade(
        "Pearson's r from n, Σx, Σy, Σx², Σy², Σxy, kept in [−1, 1]",
        ("n", "sum_x", "sum_y", "sum_xx", "sum_yy", "sum_xy"),
        "min(max((({n} * {sum_xy}) - {sum_x} * {sum_y}) / sqrt(max({n} * {sum_xx} - {sum_x} ** 2, 0)"
        " * max({n} * {sum_yy} - {sum_y} ** 2, 0)), -1), 1)",
    ),
}


def formula_of(name: str, arguments: object, where: str) -> str:
    """The formula with the names of statistics filled in."""
    if name not in READY_MADE:
        raise ParameterError(f"{where} names an unknown ready-made equation.", nearest(name, READY_MADE))
    ready = READY_MADE[name]
    if isinstance(arguments, list) and len(arguments) == len(ready.arguments):
        arguments = dict(zip(ready.arguments, arguments, strict=True))
    if not isinstance(arguments, dict) or set(arguments) != set(ready.arguments):
        raise ParameterError(
            f"{where}: '{name}' needs the statistics {', '.join(ready.arguments)}.",
            f"Write of: {{{', '.join(f'{argument}: NAME' for argument in ready.arguments)}}}, or a list in order.",
        )
    quoted = {argument: _reference(str(statistic)) for argument, statistic in arguments.items()}
    return ready.formula.format(**quoted)


def _reference(statistic: str) -> str:
    """A group's label in quotes, so that any label can stand in a formula."""
    base, bracket, label = statistic.partition("[")
    if not bracket:
        return statistic
    labels = split_labels(label.rstrip().removesuffix("]"))
    return f"{base}[{', '.join(repr(part) for part in labels)}]"
