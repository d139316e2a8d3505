"""The demo: an invented population through every method, with what each of them costs."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from coterie.errors import OutputError
from coterie.evaluation.measure import bring_together
from coterie.methods import all_methods
from coterie.methods.guarantee import beside_in_words
from coterie.publication.protect import protect
from coterie.publication.release import Release
from coterie.publication.staging import stage, stage_bytes
from coterie.report.charts import Figure, IntervalRow, intervals
from coterie.report.charts.svg import STATUS
from coterie.report.figures import distributions
from coterie.schema.exact import parse_epsilon
from coterie.table.demo_population import PEOPLE, demo_population, demo_schema

OTHERS, OTHER_SEED = 2_000, 7
DRAWN = ("laplace", "dp-ir", "idp-ls", "idp-cbls")


def write_demo(
    folder: Path,
    *,
    epsilon: str = "1",
    k: int = 10,
    force: bool = False,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[dict[str, Any]]:
    """Write the population, its schema, a release and a certificate per method, and two figures. One row per method."""
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
    releases: dict[str, Release] = {}
    for done, method in enumerate(methods):
        progress(done, len(methods))
        started = time.perf_counter()
        size = None if method.fixed_k or method.public_k else k
        release = protect(population, schema, method=method.name, epsilon=epsilon, k=size)
        rows.append(_row(release, time.perf_counter() - started))
        place = folder / method.name
        place.mkdir(exist_ok=True)
        release.write(place / "release.csv", certificate=place / "certificate.json", force=force)
        releases[method.name] = release
    pairs = {name: bring_together(population, releases[name].table, schema) for name in DRAWN}
    original = next(iter(pairs.values())).original
    columns = {name: pair.released for name, pair in pairs.items()}
    title = f"Attributes before and after: {caption(epsilon, k)}"
    said = "Values beyond the shown range are counted in the first and the last bar."
    for name, figure in (
        ("utility.png", _costs(rows, caption(epsilon, k))),
        ("distributions.png", distributions(original, columns, title=title, caption=said)),
    ):
        stage_bytes(figure.png(), folder / name, force=force).publish()
    return rows


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
                row["mean_squared_error"],
                look=STATUS[row["status"]],
                note="" if row["status"] == "none" else row["model"],
            )
            for row in rows
        ],
        axis="mean squared error (variances per attribute)",
        caption="",
        looks=[
            (status, look) for status, look in STATUS.items() if any(row["status"] == status for row in rows)
        ],
        log=True,
        first="method",
        title=f"What each method costs: {caption}",
    )


def _row(release: Release, seconds: float) -> dict[str, Any]:
    figures = release.internal.attributes.values()
    return {
        "method": release.method,
        "status": release.guarantee.status.value,
        "model": release.guarantee.model,
        "label": release.guarantee.label,
        "beside": beside_in_words(release.guarantee.beside),
        "mean_squared_error": sum(figure.mean_squared_error or 0.0 for figure in figures) / len(figures),
        "seconds": seconds,
    }
