"""The demo: a release that can be defended, with its checks and its dossier, and every method beside it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from coterie.auditing.auditing_release import audit
from coterie.comparison.compare import compare
from coterie.errors import OutputError
from coterie.evaluation import get_measure
from coterie.evaluation.evaluation import evaluate
from coterie.evaluation.measure import Settings
from coterie.evaluation.pair import Pair, bring_together
from coterie.methods import all_methods
from coterie.methods.guarantee import beside_in_words
from coterie.publication.protect import protect, publish
from coterie.publication.release import Release
from coterie.publication.staging import stage, stage_bytes
from coterie.report.charts import Figure, IntervalRow, intervals
from coterie.report.charts.svg import STATUS
from coterie.report.comparison_report import write_comparison
from coterie.report.dossier import write_dossier
from coterie.report.figures import distributions
from coterie.report.writing import write_report
from coterie.schema.exact import parse_epsilon
from coterie.table.demo_population import PEOPLE, demo_population, demo_schema

OTHERS, OTHER_SEED = 2_000, 7
DRAWN = ("dp-synthetic", "laplace", "dp-ir", "idp-cbls")
DEFENDED = "dp-synthetic"
_ATTACKED = 6.0  # seconds for the examples of the comparison


def write_demo(
    folder: Path,
    *,
    epsilon: str = "1",
    k: int = 10,
    force: bool = False,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[dict[str, Any]]:
    """Write the population, a release with checks and dossier, a comparison, and all methods: a row for each of them."""
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"'{folder}' is a file.", "Choose another folder with --output.")
    if folder.is_dir() and any(folder.iterdir()) and not force:
        raise OutputError(f"'{folder}' is not empty.", "Choose another folder, or overwrite with --force.")
    population, schema = demo_population(), demo_schema()
    parse_epsilon(epsilon)
    methods = list(all_methods().values())
    for method in methods:  # nothing is written before every method can run
        method.check_k(None if method.fixed_k else k, population.num_rows)
    write_population(folder, force=force)
    rows: list[dict[str, Any]] = []
    pairs: dict[str, Pair] = {}
    for done, method in enumerate(methods):
        progress(done, len(methods) + 2)
        started = time.perf_counter()
        size = None if method.fixed_k or method.public_k else k
        release = protect(population, schema, method=method.name, epsilon=epsilon, k=size)
        seconds = time.perf_counter() - started
        pairs[method.name] = bring_together(population, release.table, schema, shuffled=method.synthetic)
        rows.append(_row(release, pairs[method.name], seconds))
        place = folder / method.name
        place.mkdir(exist_ok=True)
        release.write(place / "release.csv", certificate=place / "certificate.json", force=force)
    progress(len(methods), len(methods) + 2)
    _defended(folder, epsilon, force=force)
    progress(len(methods) + 1, len(methods) + 2)
    compared = compare(folder / "population.csv", schema, methods=DRAWN, epsilon=[epsilon], k=[k], runs=2)
    write_comparison(compared, population, folder / "comparison", _ATTACKED)
    original = pairs[DRAWN[0]].original
    columns = {name: pairs[name].released for name in DRAWN}
    title = f"Attributes before and after: {caption(epsilon, k)}"
    said = "Values beyond the shown range are counted in the first and the last bar."
    for name, figure in (
        ("utility.png", _costs(rows, caption(epsilon, k))),
        ("distributions.png", distributions(original, columns, title=title, caption=said)),
    ):
        stage_bytes(figure.png(), folder / name, force=force).publish()
    return rows


def _defended(folder: Path, epsilon: str, *, force: bool) -> None:
    """The proved release, and all that somebody needs who must sign it."""
    place, schema = folder / "release", folder / "schema.yaml"
    place.mkdir(exist_ok=True)
    people, out, checks = folder / "population.csv", place / "out.csv", place / "checks"
    publish(people, schema, out, method=DEFENDED, epsilon=epsilon, force=force)
    write_report(evaluate(people, out, schema), checks, force=force)
    write_report(audit(people, out, schema, control=folder / "others.csv"), checks, force=force)
    title, audience = "Incomes of invented people", "readers of this demo"
    for public in (False, True):
        write_dossier(out, title=title, audience=audience, public=public, force=force)


def write_population(folder: Path, *, force: bool = False) -> None:
    """The table, its schema, and people who are in no release: the control group of an audit."""
    folder.mkdir(parents=True, exist_ok=True)
    others = demo_population(OTHERS, seed=OTHER_SEED).drop_columns(["person"])
    stage(demo_population(), folder / "population.csv", force=force).publish()
    stage(others, folder / "others.csv", force=force).publish()
    stage_bytes(demo_schema().to_yaml().encode(), folder / "schema.yaml", force=force).publish()


def caption(epsilon: str, k: int) -> str:
    return f"{PEOPLE:,} invented people, ε = {epsilon}, k = {k}"


def _costs(rows: list[dict[str, Any]], caption: str) -> Figure:
    """The error of each method, with a mark for what it promises."""
    return intervals(
        [
            IntervalRow(
                row["method"],
                row["two_way"],
                look=STATUS[row["status"]],
                note="" if row["status"] == "none" else row["model"],
            )
            for row in rows
        ],
        axis="tables of two columns: share of people to move",
        caption="",
        looks=[
            (status, look) for status, look in STATUS.items() if any(row["status"] == status for row in rows)
        ],
        shares=True,
        first="method",
        title=f"What each method costs: {caption}",
    )


def _row(release: Release, pair: Pair, seconds: float) -> dict[str, Any]:
    """Measures that mean the same for rows of people and for synthetic rows."""
    tables, relations = (get_measure(name).compute(pair, Settings()) for name in ("two-way", "associations"))
    return {
        "method": release.method,
        "status": release.guarantee.status.value,
        "model": release.guarantee.model,
        "label": release.guarantee.label,
        "beside": beside_in_words(release.guarantee.beside),
        "two_way": tables.value,
        "relations": relations.value,
        "relations_in_words": get_measure("associations").word(relations.value or 0.0),
        "seconds": seconds,
    }
