"""Figures as the papers draw them: lines over k, a panel per setting; and heatmaps over ε × k."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from coterie.report.charts import FieldGrid, Figure, Lines, Series, heatmap, lines
from coterie.schema.arrays import Floats

GROUP_SIZE = "k (records per group)"


@dataclass(frozen=True, slots=True)
class Line:
    """`look` chooses the colour, `dash` the line: methods by colour, ε by dash."""

    label: str
    values: Floats
    look: int
    dash: int = 0
    flat: bool = False  # a baseline that does not depend on k: no markers


@dataclass(frozen=True, slots=True)
class Panel:
    title: str
    ylabel: str
    ks: Sequence[int]
    lines: list[Line] = field(default_factory=list)
    log: bool = True


def line_panels(panels: Sequence[Panel], title: str) -> Figure:
    drawn = [
        Lines(
            panel.title,
            [
                Series(
                    line.label,
                    [(float(k), float(value)) for k, value in zip(panel.ks, line.values, strict=True)],
                    line.look,
                    line.dash,
                    marked=not line.flat,
                )
                for line in panel.lines
            ],
            y=panel.ylabel.removesuffix(", log scale"),
            log_y=panel.log,
        )
        for panel in panels
    ]
    return lines(drawn, x=GROUP_SIZE, caption="", log_x=False, title=title)


def heatmaps(
    panels: Sequence[tuple[str, Sequence[int], Floats]],
    epsilons: Sequence[str],
    label: str,
    title: str,
    *,
    log: bool,
) -> Figure:
    """Panels of (name, ks, values): rows k, columns ε; the values are written into the fields."""
    grids = [FieldGrid(name, [str(k) for k in ks], epsilons, values.tolist()) for name, ks, values in panels]
    value = label.removesuffix(", log scale")
    return heatmap(grids, row=GROUP_SIZE, column="ε", value=value, caption="", log=log, title=title)
