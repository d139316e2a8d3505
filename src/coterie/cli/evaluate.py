"""coterie evaluate: what a release is still worth, measure by measure."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rich.markup import escape
from typer import Argument, Option

import coterie
from coterie.auditing.attacks.finding import percent
from coterie.cli import options
from coterie.cli.options import asked
from coterie.cli.output import PLAIN, console, listed, note, print_json, table_of
from coterie.evaluation import all_measures, get_measure
from coterie.evaluation.evaluation import WARNING, Evaluation
from coterie.evaluation.measure import MeasureResult
from coterie.report.writing import EVALUATION_FILES, refuse_existing
from coterie.schema.exact import number
from coterie.table.estimates import MEAN, EstimatePair

NAMES = ", ".join(all_measures())
MOST_ESTIMATES = 15
MOST_WORST = 3
HEADLINES = {
    "one-way": "Distributions of single columns",
    "two-way": "Tables of two columns",
    "three-way": "Tables of three columns",
    "associations": "Relations between two columns",
    "models": "Regressions and classifiers",
}
MOST_CLASSES = 12  # listed in the table; --json has them all


def evaluate_command(
    original: options.OriginalTable,
    released: Annotated[str, Argument(metavar="RELEASED", help="The release of that very table.")],
    schema: options.SchemaFile,
    table: options.SourceTable = None,
    query: options.Query = None,
    released_table: options.ReleasedTable = None,
    certificate: options.Certificate = None,
    measures: Annotated[
        str | None, Option("--measures", "-m", help=f"Only these, separated by commas. All: {NAMES}.")
    ] = None,
    shuffled: Annotated[
        bool,
        Option(
            "--shuffled",
            help="Rows are shuffled or synthetic, so not linked. A certificate beside the release says so.",
        ),
    ] = False,
    order: Annotated[
        Path | None,
        Option(help="Of a shuffled release: its internal figures, which tell whose row is whose."),
    ] = None,
    bins: options.Bins = "auto",
    target: options.Target = None,
    threshold: options.Threshold = None,
    classifier: Annotated[
        str, Option(help="Any scikit-learn classifier, by its name.")
    ] = "RandomForestClassifier",
    train_share: Annotated[float, Option(help="Share of records that train the classifier.")] = 0.66,
    queries: Annotated[int, Option(help="How many random range counts to ask.")] = 1000,
    seed: Annotated[int, Option(help="For the queries and the classifier.")] = 0,
    output: Annotated[
        Path | None,
        Option("--output", "-o", help="Folder for evaluation.json, which `coterie dossier` finds."),
    ] = None,
    force: options.Force = False,
    as_json: options.AsJson = False,
) -> None:
    """Compare a release with its original. The figures come from the original data: do not publish them.

    Example: coterie evaluate people.csv out.csv --schema schema.yaml
    """
    given = asked(locals(), "output", "force")
    given |= {"measures": listed(measures) if measures else None, "shuffled": True if shuffled else None}
    if output is not None:
        refuse_existing(output, EVALUATION_FILES, force=force)
    found = coterie.evaluate(**given)
    if output is not None:
        coterie.write_report(found, output, force=force)
    if as_json:
        print_json(found.to_dict())
        return
    _print(found)
    if output is not None:
        place = escape(str(output / EVALUATION_FILES[0]))
        console.print(f"Kept for the dossier: [bold]{place}[/] [bold #D55E00](do not publish)[/]")


def _classes(result: MeasureResult) -> str:
    """F-measure and upper bound of each class, where there are classes."""
    classes = result.details.get("classes", {})
    said = [
        f"{escape(name)}: {f['f_measure']:.2f} of {f['upper_bound']:.2f}"
        for name, f in list(classes.items())[:MOST_CLASSES]
    ]
    return "\n".join([*said, *(["…"] if len(classes) > MOST_CLASSES else [])])


def _print_weighted(evaluation: Evaluation) -> None:
    """Original and release, without weights and with them, where the schema has a weight."""
    found = evaluation.weighted
    if found is None:
        return
    rows = [("sum of weights", "", "", "", *map(_figure, found.totals))]
    for name, alone, by_weight in (
        ("two-way", found.two_way, found.two_way_weighted),
        ("associations", found.associations, found.associations_weighted),
    ):
        if alone is not None:
            rows.append((name, "distance", "", _figure(alone), "", _figure(by_weight)))
    moved = sorted(found.estimates, key=_moved, reverse=True)
    for one in moved[:MOST_ESTIMATES]:
        figures = (one.original, one.released, one.original_weighted, one.released_weighted)
        rows.append((escape(one.attribute), escape(one.of), *map(_figure, figures)))
    right = ("original", "release", "original, weighted", "release, weighted")
    title = f"Weighted by {escape(found.weight)}"
    console.print(table_of(rows, ("attribute", "of", *right), right=right, title=title, **PLAIN))
    if len(found.estimates) > MOST_ESTIMATES:
        note(
            f"{len(found.estimates) - MOST_ESTIMATES} more estimates, which moved less: --json has them all."
        )


def _figure(value: float | None) -> str:
    return number(value) if value is None or abs(value) < 10_000 else f"{value:,.0f}"


def _moved(one: EstimatePair) -> float:
    """Relative to the original, and to half of what there is at most where it is a share."""
    before, after = one.original_weighted, one.released_weighted
    if before is None or after is None:
        before, after = one.original, one.released
    return abs(after - before) / max(abs(before), 0.5 if one.of != MEAN else 1e-300)


def _print(found: Evaluation) -> None:
    """What it is worth in words, then the figures behind them; what cannot be taken in one line."""
    known = all_measures()
    console.print(f"[bold #D55E00]{WARNING}[/]")
    words = found.words
    for name, about in HEADLINES.items():
        if name in words:
            console.print(f"[bold]{about}[/]: {escape(words[name])}.")
    _print_worst(found)
    rows: list[tuple[str, ...]] = []
    missed: dict[str, list[str]] = {}
    for name, result in found.measures.items():
        measure = known.get(name) or get_measure(name)
        if result.value is None:
            missed.setdefault(result.reason or "", []).append(name)
            continue
        worst = max(result.attributes, key=result.attributes.__getitem__, default=None)
        shown = f"{escape(worst)} ({number(result.attributes[worst])})" if worst else _classes(result)
        if "worst_pairs" in result.details:
            entries = result.details["worst_pairs"][:MOST_WORST]
            shown = "\n".join(
                f"{escape(' × '.join(entry['pair']))} ({number(entry['distance'], 2)})" for entry in entries
            )
        # As classes say it: what was reached of what could be, were nothing protected.
        bound = f" of {result.details['upper_bound']:.3f}" if "upper_bound" in result.details else ""
        meaning = measure.meaning
        if name in words:
            meaning = words[name].partition(";")[0]
            if result.details.get("by_sampling"):
                meaning += f" ({number(result.details['by_sampling'], 2)} is chance)"
        if "at random" in result.details.get("split", ""):
            meaning += f". Here {result.details['split']}"
        if not result.details.get("converged", True):
            meaning += ". Here the classifier stopped before it had settled: it might do better"
        rows.append((f"[bold]{name}[/]", f"{number(result.value)}{bound}", meaning, shown))
    headings = ("measure", "value", "in words, or how to read it", "worst")
    console.print(
        table_of(rows, headings, whole=headings[:2], right=("value",), title="The figures", **PLAIN)
    )
    for reason, names in missed.items():
        note(f"{', '.join(names)}: {reason}.", before="Not taken")
    _print_weighted(found)
    for rule in found.rules:
        console.print(
            f"Rule [bold]{escape(rule.rule)}[/]: broken by {percent(rule.before)} before, {percent(rule.after)} after."
        )
    for noticed in found.notes:
        note(f"{noticed}.")


def _print_worst(found: Evaluation) -> None:
    """The answers and relations that are told worst, before and after."""
    answers = found.measures.get("one-way")
    pairs = found.measures.get("associations")
    if answers is not None and answers.details.get("worst_answers"):
        told = "; ".join(
            f"{one['attribute']} = {one['answer']}: {percent(one['before'])} → {percent(one['after'])}"
            for one in answers.details["worst_answers"][:MOST_WORST]
        )
        console.print(f"  Answers told worst: {escape(told)}.")
    if pairs is not None and pairs.details.get("worst_pairs"):
        told = "; ".join(
            f"{' × '.join(one['pair'])} ({one['kind']}): {one['before']:.2f} → {one['after']:.2f}"
            for one in pairs.details["worst_pairs"][:MOST_WORST]
        )
        console.print(f"  Relations told worst: {escape(told)}.")
