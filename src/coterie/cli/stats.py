"""coterie stats: plan the split of a budget over statistics, publish them, list the allocators."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table
from typer import Argument, Option

import coterie
from coterie import statistics
from coterie.cli.options import AsJson, LedgerToCharge, NoiseSeed, SignWith, SourceTable, asked
from coterie.cli.output import console, note, print_json, promise_line, say, spinner, table_of, warn
from coterie.errors import ParameterError
from coterie.publication.staging import stage_bytes
from coterie.report.plan_figure import UNITS, plan_figure
from coterie.report.statistics_page import statistics_page
from coterie.schema.exact import number
from coterie.statistics.allocators import DEFAULT
from coterie.statistics.planning.plan import Plan
from coterie.statistics.prediction.rank_law import Basis
from coterie.statistics.releasing.released_files import Published

app = typer.Typer(
    help="Publish summary statistics with the best possible split of the budget.", no_args_is_help=True
)
Spec = Annotated[Path, Argument(metavar="SPEC", help="The specification, a YAML file.")]
ByName = Annotated[str, Option("--allocator", "-a", help="See `coterie stats allocators`.")]
AsInPaper = Annotated[
    bool, Option("--as-in-paper", help="Plan on the data, as Nunes 2024 does. Not differentially private.")
]
Solve = Annotated[str | None, Option(help="`epsilon`: the smallest budget that meets all tolerances.")]
Split = Annotated[
    Path | None, Option(help="Budgets by hand, a YAML file: name of what is measured, and its budget.")
]


@app.command("plan")
def plan_command(
    specification: Spec,
    allocator: ByName = DEFAULT,
    compare: Annotated[bool, Option("--compare/--no-compare", help="Try all allocators.")] = True,
    solve: Solve = None,
    split: Split = None,
    figure: Annotated[Path | None, Option(help="Write a figure (.svg, .png or .html).")] = None,
    proofs: Annotated[bool, Option("--proofs", help="Print why each sensitivity holds.")] = False,
    as_in_paper: AsInPaper = False,
    data: Annotated[str | None, Option(help="Only with --as-in-paper: the data it looks at.")] = None,
    table: SourceTable = None,
    as_json: AsJson = False,
) -> None:
    """Split the budget for the smallest errors of the statistics and equations. Never looks at the data.

    Example: coterie stats plan spec.yaml --figure plan.png
    """
    given = asked(locals(), "figure", "proofs")
    given |= {"compare": None if compare else (), "solve": _asks_to_solve(solve)}
    with spinner("Planning", quiet=as_json):
        chosen = statistics.plan(**given)
        picture = plan_figure(chosen).written_as(figure) if figure is not None else b""
    if figure is not None:
        stage_bytes(picture, figure, force=True, inputs=(specification,)).publish()
    if as_json:
        print_json(chosen.to_dict())
    else:
        show_plan(chosen, proofs)
        if figure is not None:
            console.print(f"Figure: {escape(str(figure))}")


@app.command("release")
def release_command(
    specification: Spec,
    data: Annotated[
        str,
        Option(
            "--data", "-d", help="CSV, Parquet, Arrow, Excel, SPSS, Stata, SAS or R file; or postgresql://…"
        ),
    ],
    output: Annotated[
        Path, Option("--output", "-o", help="The released file (.csv, .json, .parquet or .arrow).")
    ],
    table: SourceTable = None,
    allocator: ByName = DEFAULT,
    ledger: LedgerToCharge = None,
    sign: SignWith = None,
    raw: Annotated[
        Path | None,
        Option(
            help="Also write the noisy measurements as drawn (.json), which analysts can average. No extra cost."
        ),
    ] = None,
    page: Annotated[
        Path | None, Option(help="Also write a page for people (.html): tables, error bars, the plan.")
    ] = None,
    seed: NoiseSeed = None,
    solve: Solve = None,
    split: Split = None,
    as_in_paper: AsInPaper = False,
    as_json: AsJson = False,
) -> None:
    """Compute the statistics, add noise, write them with intervals and a certificate; charge once.

    Asking again with the same specification and data returns the stored release and spends nothing, with a ledger
    or without one.

    Example: coterie stats release spec.yaml --data people.csv --output statistics.csv --ledger ledger.sqlite
    """
    given = asked(locals(), "page") | {"solve": _asks_to_solve(solve)}
    with spinner("Reading", quiet=as_json) as tell:
        published = statistics.release(**given, progress=tell)
        if page is not None:
            tell("Drawing the page")
            taken: list[str | Path] = [specification, data, output, *([] if raw is None else [raw])]
            stage_bytes(statistics_page(published).encode(), page, force=True, inputs=taken).publish()
    report_release(published, page, as_json)


@app.command("sql")
def sql_command(
    queries: Annotated[
        str, Argument(metavar="QUERIES", help="SELECT statements, separated by ; or a .sql file.")
    ],
    schema: Annotated[Path, Option(help="The schema of the table, a YAML file.")],
    output: Annotated[
        Path | None, Option("--output", "-o", help="Write the specification there (.yaml), else print it.")
    ] = None,
    epsilon: Annotated[str, Option(help="The budget.")] = "1",
    delta: Annotated[str | None, Option(help="The δ of the budget; needs --records.")] = None,
    neighbours: Annotated[str | None, Option(help="add-remove (default) or replace-one.")] = None,
    records: Annotated[int | None, Option(help="How many records there are, or are planned for.")] = None,
    release: Annotated[str, Option(help="The name of the release.")] = "statistics",
    population: Annotated[str | None, Option(help="Whose lifetime budget is charged.")] = None,
    private_keys: Annotated[
        bool,
        Option("--private-keys", help="Let the release find groups that are not public (COUNT(*) only)."),
    ] = False,
    dialect: Annotated[str | None, Option(help="Of the SQL: postgres, duckdb, snowflake, …")] = None,
    as_json: AsJson = False,
) -> None:
    """Turn SELECT … GROUP BY queries into a specification. The queries are read, never run.

    Example: coterie stats sql "SELECT region, COUNT(*) FROM people GROUP BY region" --schema schema.yaml
    """
    notes: list[str] = []
    made = statistics.from_sql(**asked(locals(), "output", "notes"), note=notes.append)
    if output is not None:
        stage_bytes(made.to_yaml(output, notes).encode(), output, force=False, inputs=(schema,)).publish()
    if as_json:
        print_json({"specification": dict(made.document), "notes": notes, "output": output and str(output)})
    elif output is None:
        typer.echo(made.to_yaml(notes=notes), nl=False)
    else:
        for words in notes:
            note(f"{words}.")
        console.print(f"Specification: [bold]{escape(str(output))}[/]")


@app.command("verify")
def verify_command(
    released: Annotated[Path, Argument(metavar="OUT", help="The released file.")],
    certificate_file: Annotated[Path, Argument(metavar="CERTIFICATE", help="Its certificate.")],
    key: Annotated[Path | None, Option(help="The issuer's public key (.pub).")] = None,
    as_json: AsJson = False,
) -> None:
    """Say whether released statistics and a certificate belong together. Exit code 7 if they do not."""
    found = coterie.verify(released, certificate_file, key=key)
    promise = found.certificate.guarantee
    say(
        {"match": True, "signer": found.signer, "guarantee": promise.model_dump(mode="json")},
        "[bold #009E73]They belong together.[/]",
        promise_line(promise.status, promise.label),
        as_json=as_json,
    )


@app.command("allocators")
def allocators_command(as_json: AsJson = False) -> None:
    """List the ways of splitting a budget."""
    known = statistics.allocators().values()
    if as_json:
        print_json([{"name": a.name, "title": a.title, "source": a.source} for a in known])
        return
    rows = ((f"[bold]{a.name}[/]{' (default)' * (a.name == DEFAULT)}", a.title, a.source) for a in known)
    console.print(_table(rows, "allocator", "what it does", "source"))


def _table(rows: Iterable[Sequence[str]], *headings: str, whole: Collection[str] = ()) -> Table:
    return table_of(rows, headings, whole=whole, box=None, pad_edge=False)


def _asks_to_solve(solve: str | None) -> bool:
    if solve not in (None, "epsilon", "rho", "budget"):
        raise ParameterError("--solve knows `epsilon` only.", "Write --solve epsilon.")
    return solve is not None


MOST_VALUES = 30  # printed after a release; the file has all


def show_plan(chosen: Plan, proofs: bool) -> None:
    specification, unit = chosen.specification, chosen.specification.schema.unit
    whose = "" if unit is None else f" per {escape(unit.word)} of {unit.rows}"
    console.print(
        f"[bold]{escape(specification.release)}[/]: {specification.budget}{whose}, {specification.neighbours} neighbours, "
        f"allocator [bold]{chosen.allocator}[/], score {number(chosen.score)} ± {number(chosen.standard_error, 1)}"
    )
    if len(chosen.rows) > 1:
        _show_comparison(chosen)
    _show_split(chosen)
    _show_errors(chosen)
    for loss in chosen.guess_losses:
        console.print(
            f"If the expected values are off by {loss.off_by:.0%} (times or divided by {number(1 + loss.off_by)}): the "
            f"score is {loss.mean_loss:.1%} above that of the split made for the truth on average, {loss.worst_loss:.1%} "
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
    for words in (*chosen.warnings, *chosen.notes):
        note(words)


def _show_split(chosen: Plan) -> None:
    specification, design = chosen.specification, chosen.design
    unit = specification.budget.currency
    console.print(f"\n[bold]The split[/]: what is measured, and the {unit} it gets")
    rows = (
        (
            escape(m.name),
            number(float(budget), 6),
            quantity.family.value,
            number(chosen.scales[m.name]),
            number(m.bound.nominal(specification.neighbours, m.where.everyone)),
        )
        for m, budget, quantity in zip(
            design.measurements, chosen.budgets, design.metric.sources, strict=True
        )
    )
    console.print(_table(rows, "measured", unit, "noise", "scale", "sensitivity"))


def _show_errors(chosen: Plan) -> None:
    console.print(
        "\n[bold]Errors to expect[/]: |released − true|, its mean, and what half and 95 % of releases keep"
    )
    rows = (
        (
            escape(e.name),
            *(number(n) for n in (e.mean, e.standard_error, e.median, e.p95)),
            e.basis.value,
        )
        for e in chosen.errors
    )
    console.print(_table(rows, "target", "mean error", "± s.e.", "median", "95 %", "how"))
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
    rows = []
    for row in chosen.rows:
        if not row.not_applicable:
            by_name = {error.name: error.mean for error in row.errors}
            extra = [number(row.worst_score)] if worst and row.worst_score is not None else []
            rows.append((row.allocator, number(row.score), *extra, *(number(by_name[n]) for n in shown)))
    headings = ("allocator", "score", *(["worst"] if worst else []), *shown)
    console.print(_table(rows, *headings, whole=headings))
    left = len(chosen.errors) - len(shown)
    if left > 0:
        console.print(f"[dim]and {left} more targets; --json lists all[/]")
    if worst:
        console.print("[dim]worst: the score at the worst point of the expected ranges[/]")
    for row in chosen.rows:
        if row.not_applicable:
            console.print(f"[dim]{row.allocator}: {escape(row.not_applicable)}[/]")


def _that_fit(names: list[str], room: int) -> list[str]:
    """Take as many names as fit, from the end: equations stand there, and they are the point."""
    shown: list[str] = []
    for name in reversed(names):
        room -= max(len(name), 9) + 2
        if room < 0 and shown:
            break
        shown.insert(0, name)
    return shown


def report_release(published: Published, page: Path | None, as_json: bool) -> None:
    certificate = published.certificate
    if as_json:
        print_json(
            {
                "output": str(published.path),
                "certificate": str(published.certificate_path),
                "raw": None if published.raw_path is None else str(published.raw_path),
                "page": None if page is None else str(page),
                "again": published.again,
                "plan": certificate.plan,
                "guarantee": certificate.guarantee.model_dump(mode="json"),
                "notes": list(certificate.notes),
                "warning": published.warning or None,
                "outdated": published.outdated or None,
                "values": published.values,
            }
        )
        return
    if published.again:
        console.print("This release is stored already: [bold]nothing was spent[/].")
    if published.outdated:
        note(f"{published.outdated}.")
    _show_values(published)
    console.print(f"Statistics: [bold]{escape(str(published.path))}[/]")
    console.print(promise_line(certificate.guarantee.status, certificate.guarantee.label))
    for words in certificate.notes:
        note(words)
    if published.warning:
        warn(f"{published.warning}.")
    console.print(f"Certificate: {escape(str(published.certificate_path))}")
    if published.raw_path is not None:
        console.print(f"Raw measurements: {escape(str(published.raw_path))}, with a certificate of their own")
    if page is not None:
        console.print(f"Page: {escape(str(page))}")


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) else number(value, 6)


def _show_values(published: Published) -> None:
    rows, found = [], published.to_frame()
    for row in found.slice(0, MOST_VALUES).to_pylist():
        value, lower, upper = (_number(row[key]) for key in ("value", "lower_95", "upper_95"))
        rows.append((escape(str(row["name"])), value, f"{lower} to {upper}"))
    console.print(_table(rows, "released", "value", "95 % interval"))
    if len(found) > MOST_VALUES:
        console.print(f"[dim]and {len(found) - MOST_VALUES:,} more in the file[/]")
