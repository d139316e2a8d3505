"""report.html: one file, no network, the verdict first."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib import resources
from typing import Any

from coterie._version import __version__
from coterie.comparison.comparison import Comparison
from coterie.comparison.grid import left_out
from coterie.errors import MissingExtra
from coterie.evaluation import get_measure
from coterie.evaluation.measure import Measured
from coterie.methods import get_method
from coterie.methods.guarantee import beside_in_words
from coterie.report.charts import Figure, number
from coterie.report.charts.figure import script, style
from coterie.report.ranking import Best, key_to_errors, usual_measure
from coterie.report.verdict import Verdict
from coterie.schema.exact import as_text


def page_style() -> str:
    """What every page of ours needs that is one file: type, tables, both themes, and the figures' own rules."""
    return _resource("page.css") + style()


def _resource(name: str) -> str:
    return resources.files("coterie.report").joinpath("templates", name).read_text(encoding="utf-8")


def render_report(
    comparison: Comparison,
    verdict: Verdict,
    best: list[Best],
    figures: Mapping[str, Figure],
    *,
    title: str,
    certificate: str | None,
    certificate_of: str,
    sample: str | None,
    extra_measures: Mapping[str, Mapping[str, Measured]],
    issued: datetime | None = None,
) -> str:
    """The page. `sample` names the public or synthetic table that was used instead of the real one."""
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError:
        raise MissingExtra.named("report", "The HTML report") from None
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["number"] = _number
    template = _resource("report.html.j2")
    promises = _promises(comparison, best)
    return environment.from_string(template).render(
        title=title,
        version=__version__,
        issued=f"{(issued or datetime.now(UTC)).astimezone(UTC):%d %B %Y, %H:%M} UTC",
        comparison=comparison,
        runs=f"{comparison.grid.runs} {'run' if comparison.grid.runs == 1 else 'runs'}",
        left_out=left_out(comparison.skipped),
        verdict=verdict,
        figures=figures,
        promises=promises,
        style=page_style(),
        script=script(),
        best_as_evaluated=verdict.top.as_evaluated,
        best={
            as_text(epsilon): [_best_row(entry, best) for entry in best if entry.cell.epsilon == epsilon]
            for epsilon in comparison.epsilons
        },
        key_to_errors=key_to_errors(best),
        extra=extra_measures,
        worst_pairs={
            name: result.details["worst_pairs"]
            for name, line in extra_measures.items()
            for result in line.values()
            if "worst_pairs" in result.details
        },
        extra_measures=[get_measure(name) for name in next(iter(extra_measures.values()), {})],
        measures=[get_measure(name) for name in comparison.results.values],
        rows=_rows(comparison),
        certificate=certificate,
        certificate_of=certificate_of,
        sample=sample,
    )


def _number(value: float | None) -> str:
    return "–" if value is None or math.isnan(value) else number(value)


def _promises(comparison: Comparison, best: list[Best]) -> list[dict[str, Any]]:
    """One entry per method, for its best cell at the largest ε."""
    found = {entry.cell.method: entry for entry in best}  # ε rises, so the largest stays
    return [
        {
            "method": get_method(name),
            "cell": entry.cell,
            "guarantee": entry.guarantee,
            "beside": beside_in_words(entry.guarantee.beside),
        }
        for name, entry in found.items()
    ]


def _best_row(entry: Best, best: list[Best]) -> dict[str, Any]:
    return {
        "method": entry.cell.method,
        "k": entry.cell.k if entry.cell.k > 1 else "–",
        "error": entry.error,
        "spread": entry.spread if entry.spread > 1e-9 * entry.error else 0.0,
        "words": entry.words,
        "star": "" if entry.measure == usual_measure(best) else "*",
        "status": entry.guarantee.status.value,
        "near": ", ".join(map(str, entry.near)) if entry.cell.k > 1 else "–",
    }


def _rows(comparison: Comparison) -> list[dict[str, Any]]:
    means = {name: comparison.results.mean(name) for name in comparison.results.values}
    return [
        {
            "method": cell.method,
            "k": cell.k if cell.k > 1 else "–",
            "epsilon": as_text(cell.epsilon),
            "values": [means[name][cell] for name in means],
        }
        for cell in comparison.results.cells
    ]
