"""One look for all figures: colour-blind safe, labelled, printable."""

from __future__ import annotations

import io
import warnings
from typing import Any

from coterie.errors import MissingExtra

# Okabe–Ito; the first is for the original data.
INK = "#333333"
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#999999")
STATUS_COLOUR = {
    "proved": "#009E73",
    "bounded": "#56B4E9",
    "conditional": "#E69F00",
    "heuristic": "#E69F00",
    "refuted": "#D55E00",
    "none": "#999999",
}
STATUS_HATCH = {
    "proved": "",
    "bounded": "..",
    "conditional": "//",
    "heuristic": "xx",
    "refuted": "\\\\",
    "none": "",
}


def new_figure(width: float, height: float, rows: int = 1, columns: int = 1) -> tuple[Any, Any]:
    """A figure without global state: no pyplot, so threads and servers may draw too."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra.named("report", "Drawing figures") from None
    figure = Figure(figsize=(width, height), layout="constrained", dpi=144)
    axes = figure.subplots(rows, columns, squeeze=False)
    for axis in axes.flat:
        axis.spines[["top", "right"]].set_visible(False)
        axis.tick_params(labelsize=8)
    return figure, axes


def plain_log(scale: Any, low: float, high: float) -> None:
    """A log scale with numbers as people write them; those between powers of ten only where few powers are shown."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    few = high < 30 * low
    scale.set_tick_params(which="minor", labelsize=7)
    scale.set_major_formatter(
        FuncFormatter(lambda value, _: f"{value:,.10g}" if 1e-4 <= value < 1e7 else f"{value:.0e}")
    )
    scale.set_minor_locator(LogLocator(subs=(2, 5) if few else tuple(range(2, 10))))
    scale.set_minor_formatter(FuncFormatter(lambda value, _: f"{value:,.3g}") if few else NullFormatter())


def plain_text(text: str, most: int = 40) -> str:
    """A user's name or label in one line: cut in its middle where it is long, and never typeset as $mathematics$."""
    line = " ".join(text.split())
    if len(line) > most:
        line = f"{line[: most - most // 2 - 1]}…{line[-(most // 2) :]}"
    return line.replace("$", r"\$")


def as_png(figure: Any) -> bytes:
    layout, buffer = figure.get_layout_engine(), io.BytesIO()
    with warnings.catch_warnings():
        # A script that the font lacks is drawn as boxes: the reader sees it, and paths of our files help nobody.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        if layout is not None:  # arranged here, once: matplotlib would draw everything for it and then again
            layout.execute(figure)
            figure.set_layout_engine(None)
        figure.savefig(buffer, format="png")
    return buffer.getvalue()
