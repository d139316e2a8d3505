"""coterie evaluate: what a release is still worth, measure by measure."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rich import box
from rich.markup import escape
from rich.table import Table
from typer import Argument, Option

import coterie
from coterie.cli.options import AsJson, Bins, OriginalTable, Query, asked
from coterie.cli.output import console, listed, note, print_json
from coterie.evaluation import all_measures, get_measure
from coterie.evaluation.evaluation import WARNING, Evaluation
from coterie.evaluation.measure import MeasureResult

NAMES = ", ".join(all_measures())
MOST_ESTIMATES = 60
MOST_CLASSES = 12  # listed in the table; --json has them all


def evaluate_command(
    original: Annotated[str, Argument(metavar="ORIGINAL", help="The table before protection.")],
    released: Annotated[str, Argument(metavar="RELEASED", help="The release of that very table.")],
    schema: Annotated[Path, Option("--schema", "-s", help="The schema that the release was made with.")],
    table: OriginalTable = None,
    query: Query = None,
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
    bins: Bins = "auto",
    target: Annotated[str | None, Option(help="Class column, for classification.")] = None,
    threshold: Annotated[
        float | None, Option(help="Make two classes of the target: at most this, and above it.")
    ] = None,
    classifier: Annotated[
        str, Option(help="Any scikit-learn classifier, by its name.")
    ] = "RandomForestClassifier",
    train_share: Annotated[float, Option(help="Share of records that train the classifier.")] = 0.66,
    queries: Annotated[int, Option(help="How many random range counts to ask.")] = 1000,
    seed: Annotated[int, Option(help="For the queries and the classifier.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Compare a release with its original. The figures come from the original data: do not publish them.

    Example: coterie evaluate people.csv out.csv --schema schema.yaml
    """
    given = asked(locals())
    given |= {"measures": listed(measures) if measures else None, "shuffled": True if shuffled else None}
    found = coterie.evaluate(**given)
    if as_json:
        print_json(found.to_dict())
    else:
        _print(found)


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
    table = Table(title=f"Weighted by {escape(found.weight)}", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for title in ("attribute", "of"):
        table.add_column(title, style="bold" if title == "attribute" else "", overflow="fold")
    for title in ("original", "release", "original, weighted", "release, weighted"):
        table.add_column(title, justify="right")
    before, after = found.totals
    table.add_row("sum of weights", "", "", "", _figure(before), _figure(after))
    if found.two_way is not None:
        table.add_row("two-way", "distance", "", _figure(found.two_way), "", _figure(found.two_way_weighted))
    for one in found.estimates[:MOST_ESTIMATES]:
        figures = (one.original, one.released, one.original_weighted, one.released_weighted)
        table.add_row(escape(one.attribute), escape(one.of), *map(_figure, figures))
    console.print(table)
    if len(found.estimates) > MOST_ESTIMATES:
        note(f"{len(found.estimates) - MOST_ESTIMATES} more estimates: --json has them all.")


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"


def _print(found: Evaluation) -> None:
    table = Table(
        title="What the release is worth", caption=WARNING, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0)
    )
    table.add_column("measure", style="bold", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("how to read it", overflow="fold")
    table.add_column("worst attribute or pairs, or classes", overflow="fold")
    for name, result in found.measures.items():
        measure = get_measure(name)
        if result.value is None:
            table.add_row(name, "–", f"[#E69F00]not taken:[/] {escape(result.reason or '')}", "")
            continue
        worst = max(result.attributes, key=result.attributes.__getitem__, default=None)
        shown = f"{escape(worst)} ({result.attributes[worst]:.3g})" if worst else _classes(result)
        if "worst_pairs" in result.details:
            shown = "\n".join(
                f"{escape(' × '.join(entry['pair']))} ({entry['distance']:.3g})"
                for entry in result.details["worst_pairs"]
            )
        # As classes say it: what was reached of what could be, were nothing protected.
        bound = f" of {result.details['upper_bound']:.3f}" if "upper_bound" in result.details else ""
        meaning = measure.meaning
        if "at random" in result.details.get("split", ""):
            meaning += f". Here {result.details['split']}"
        if not result.details.get("converged", True):
            meaning += ". Here the classifier stopped before it had settled: it might do better"
        table.add_row(name, f"{result.value:.4g}{bound}", meaning, shown)
    console.print(table)
    _print_weighted(found)
    for words in found.notes:
        note(f"{words}.")
