"""What `coterie stats` prints: a plan as tables with their reading, a release as values with intervals."""

from __future__ import annotations

from rich.markup import escape
from rich.table import Table

from coterie.cli.output import console, print_json, styled_status
from coterie.report.plan_figure import UNITS
from coterie.statistics.planning.plan import Plan
from coterie.statistics.prediction.rank_law import Basis
from coterie.statistics.releasing.release_store import Published

MOST_VALUES = 30  # printed after a release; the file has all


def show_plan(chosen: Plan, proofs: bool) -> None:
    specification = chosen.specification
    console.print(
        f"[bold]{escape(specification.release)}[/]: {specification.budget}, {specification.neighbours} neighbours, "
        f"allocator [bold]{chosen.allocator}[/], score {chosen.score:.4g} ± {chosen.standard_error:.1g}"
    )
    if len(chosen.rows) > 1:
        _show_comparison(chosen)
    _show_split(chosen)
    _show_errors(chosen)
    for loss in chosen.guess_losses:
        console.print(
            f"If the expected values are off by {loss.off_by:.0%} (times or divided by {1 + loss.off_by:g}): the score "
            f"is {loss.mean_loss:.1%} above that of the split made for the truth on average, {loss.worst_loss:.1%} "
            "at worst up to there."
        )
    for formula, proof in dict.fromkeys((m.bound.formula, m.bound.proof) for m in chosen.design.measurements):
        console.print(f"Sensitivity: {escape(formula)}")
        if proofs:
            console.print(f"  [dim]{escape(proof)}[/]")
    console.print(
        f"Based on: {escape(specification.expected_from)}. The data were not looked at."
        if not chosen.as_in_paper
        else "[bold #D55E00]Based on the data themselves.[/]"
    )
    _show_notes((*chosen.warnings, *chosen.notes))


def _show_split(chosen: Plan) -> None:
    specification, design = chosen.specification, chosen.design
    unit = specification.budget.currency
    console.print(f"\n[bold]The split[/]: what is measured, and the {unit} it gets")
    table = Table("measured", unit, "noise", "scale", "sensitivity", box=None, pad_edge=False)
    for m, budget, quantity in zip(
        design.measurements, chosen.budgets, design.metric.quantities, strict=True
    ):
        sensitivity = m.bound.nominal(specification.neighbours, m.where.everyone)
        table.add_row(
            escape(m.name),
            f"{float(budget):.5g}",
            quantity.family.value,
            f"{chosen.scales[m.name]:.4g}",
            f"{sensitivity:.4g}",
        )
    console.print(table)


def _show_errors(chosen: Plan) -> None:
    console.print(
        "\n[bold]Errors to expect[/]: |released − true|, its mean, and what half and 95 % of releases keep"
    )
    table = Table("target", "mean error", "± s.e.", "median", "95 %", "how", box=None, pad_edge=False)
    for error in chosen.errors:
        numbers = (f"{n:.4g}" for n in (error.mean, error.standard_error, error.median, error.p95))
        table.add_row(escape(error.name), *numbers, error.basis.value)
    console.print(table)
    if any(error.between_tables for error in chosen.errors):
        console.print(
            "[dim]For quantiles the standard error covers how tables of the same shape differ around the quantile.[/]"
        )
    if any(error.basis is Basis.ASSUMED for error in chosen.errors):
        console.print(
            "[dim]'assumption': depends on something that the specification does not state; see the notes.[/]"
        )


def _show_comparison(chosen: Plan) -> None:
    """allocator × (score, mean errors), as many targets as the window is wide."""
    unit = UNITS[chosen.specification.relative_to]
    console.print(
        f"\n[bold]Allocators[/]: score = weighted mean of error ÷ {unit}; then the mean error of targets"
    )
    worst = any(row.worst_score is not None for row in chosen.rows)
    shown = _that_fit([error.name for error in chosen.errors], console.width - (38 if worst else 29))
    table = Table(box=None, pad_edge=False)
    for heading in ("allocator", "score", *(["worst"] if worst else []), *shown):
        table.add_column(escape(heading), no_wrap=True)
    for row in chosen.rows:
        if row.not_applicable:
            continue
        by_name = {error.name: error.mean for error in row.errors}
        extra = [f"{row.worst_score:.4g}"] if worst and row.worst_score is not None else []
        table.add_row(row.allocator, f"{row.score:.4g}", *extra, *(f"{by_name[n]:.4g}" for n in shown))
    console.print(table)
    left = len(chosen.errors) - len(shown)
    if left > 0:
        console.print(f"[dim]and {left} more targets; --json lists all[/]")
    if worst:
        console.print("[dim]worst: the score at the worst point of the expected ranges[/]")
    for row in chosen.rows:
        if row.not_applicable:
            console.print(f"[dim]{row.allocator}: {escape(row.not_applicable)}[/]")


def _that_fit(names: list[str], room: int) -> list[str]:
    """From the end, where the equations stand: they are the point."""
    shown: list[str] = []
    for name in reversed(names):
        room -= max(len(name), 9) + 2
        if room < 0 and shown:
            break
        shown.insert(0, name)
    return shown


def report_release(published: Published, as_json: bool) -> None:
    certificate = published.certificate
    if as_json:
        print_json(
            {
                "output": str(published.path),
                "certificate": str(published.certificate_path),
                "again": published.again,
                "plan": certificate.plan,
                "guarantee": certificate.guarantee.model_dump(mode="json"),
                "notes": list(certificate.notes),
                "warning": published.warning or None,
                "outdated": published.outdated or None,
            }
        )
        return
    if published.again:
        console.print("This release is stored already: [bold]nothing was spent[/].")
    if published.outdated:
        console.print(f"[#E69F00]Note:[/] {escape(published.outdated)}.")
    _show_values(published)
    console.print(f"Statistics: [bold]{escape(str(published.path))}[/]")
    console.print(
        f"Promise: {styled_status(certificate.guarantee.status)}. {escape(certificate.guarantee.label)}."
    )
    _show_notes(certificate.notes)
    if published.warning:
        console.print(f"[bold #D55E00]Warning:[/] {escape(published.warning)}.")
    console.print(f"Certificate: {escape(str(published.certificate_path))}")


def _show_values(published: Published) -> None:
    rows = published.values
    table = Table("released", "value", "95 % interval", box=None, pad_edge=False)
    for row in rows[:MOST_VALUES]:
        value, lower, upper = (float(row[key]) for key in ("value", "lower_95", "upper_95"))
        table.add_row(escape(str(row["name"])), f"{value:.6g}", f"{lower:.6g} to {upper:.6g}")
    console.print(table)
    if len(rows) > MOST_VALUES:
        console.print(f"[dim]and {len(rows) - MOST_VALUES} more in the file[/]")


def _show_notes(notes: tuple[str, ...]) -> None:
    for note in notes:
        console.print(f"[#E69F00]Note:[/] {escape(note)}")
