"""A package outside Coterie (tests/outside) adds a method, its mechanism, a measure and an attack; everything runs them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from mixed_table import LABELS, mixed_schema, mixed_table
from pyarrow.csv import write_csv

import coterie
from command_line import run_command
from coterie import protect
from coterie.auditing.attacks import all_attacks
from coterie.engines.out_of_core.release import protect_file
from coterie.errors import ParameterError
from coterie.evaluation import all_measures, mean_sse
from coterie.evaluation.measure import ByAttribute
from coterie.methods import all_methods
from coterie.report.ranking import best_cells, verdict
from coterie.schema.attributes import Categories, Schema
from coterie.studio.auth import StudioHome
from coterie.studio.project import Choice
from installed import packages_in, write_metadata, write_metadata_of
from release_world import browser, ready_project

PACKAGE = Path(__file__).resolve().parents[1] / "outside"
EPSILON, K, SEED = "2", 5, 7


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Spark's executors have no such package."""
    folder = tmp_path_factory.mktemp("installed")
    shutil.copytree(PACKAGE / "coterie_median", folder / "coterie_median")
    write_metadata_of(folder, (PACKAGE / "pyproject.toml").read_text())
    with packages_in(folder):
        yield


def people(records: int = 300) -> tuple[pa.Table, Schema]:
    """Numbers, dates and labels; no label is ordered by frequency, which needs the whole column."""
    attributes = tuple(
        a.model_copy(update={"categories": Categories(labels=LABELS)}) if a.name == "shade" else a
        for a in mixed_schema().attributes
    )
    return mixed_table(records), Schema(attributes=attributes)


@pytest.mark.usefixtures("outside")
def test_protect_releases_noisy_medians() -> None:
    values = np.random.default_rng(1).permutation(40).astype(np.float64)
    schema = {"attributes": {"x": {"role": "protect", "domain": {"lower": 0, "upper": 40}}}}
    release = protect({"x": values}, schema, method="dp-median", epsilon="1e12", k=5, shuffle=False)
    assert np.rint(release.table["x"].to_numpy()).tolist() == (values // 5 * 5 + 2).tolist()
    assert release.guarantee.status == "refuted"
    assert "median" in release.certificate.attributes[0].mechanism


@pytest.mark.usefixtures("outside")
def test_out_of_core_gives_the_same_values(tmp_path: Path) -> None:
    table, schema = people()
    pq.write_table(table, tmp_path / "people.parquet")
    asked = {"method": "dp-median", "epsilon": EPSILON, "k": K, "seed": SEED}
    large = protect_file(
        tmp_path / "people.parquet", schema, memory="6GB", scratch=tmp_path / "scratch", **asked
    )
    assert large.table.read_all().equals(protect(table, schema, **asked).table)


@pytest.mark.filterwarnings("ignore")  # PySpark's own
@pytest.mark.usefixtures("outside")
def test_spark_gives_the_same_values_though_its_executors_lack_the_package(spark: Any) -> None:
    names = ["amount", "colour"]
    table, schema = people()
    table, schema = table.select(names), Schema(attributes=tuple(schema[name] for name in names))
    asked = {"method": "dp-median", "epsilon": EPSILON, "k": K, "seed": SEED}
    alone = protect(table, schema, **asked).table
    found = coterie.protect(spark.createDataFrame(table), schema, **asked).data.toArrow()
    assert [found[name].to_pylist() for name in names] == [alone[name].to_pylist() for name in names]


@pytest.mark.usefixtures("outside")
def test_a_grid_gives_what_protect_and_evaluate_give() -> None:
    """The mechanism knows of one run only, the measure of records only; beside them stands a method of our own."""
    table, schema = people(120)
    measures = ["sse", "jensen-shannon", "semantic-distance", "median-shift"]
    asked = {
        "methods": ["dp-median", "dp-ir"],
        "epsilon": ["0.5", EPSILON],
        "k": [K, 20],
        "runs": 2,
        "seed": SEED,
    }
    results = coterie.compare(table, schema, measures=measures, **asked).results
    assert set(results.values) == set(measures)
    for place, cell in enumerate(results.cells):
        for run in range(2):
            one = protect(table, schema, method=cell.method, epsilon=cell.epsilon, k=cell.k, seed=SEED + run)
            expected = coterie.evaluate(table, one.table, schema, measures=measures).measures
            for name in measures:
                assert results.of_table(name)[place, run] == pytest.approx(expected[name].value, rel=1e-9)


@pytest.mark.usefixtures("outside")
def test_audits_run_the_attack_and_repeat_the_method() -> None:
    table, schema = people(200)
    released = protect(table, schema, method="dp-median", epsilon="1e12", k=1, shuffle=False).table
    found = coterie.audit(
        table, released, schema, order=list(range(released.num_rows)), attacks=["exact-values"]
    ).findings
    assert [finding.attack for finding in found] == ["exact-values"]
    assert found[0].estimate.value > 0.9
    tried = coterie.audit_method(
        "dp-median",
        epsilon=EPSILON,
        k=K,
        attacks=["exact-values", "empirical-epsilon", "replaced-minimum"],
        runs=100,
    )
    assert {finding.attack for finding in tried.findings} == {"exact-values", "empirical-epsilon"}
    assert [left.attack for left in tried.not_run] == ["replaced-minimum"]  # it asks for noise on means


@pytest.mark.usefixtures("outside")
def test_the_commands_list_it() -> None:
    assert "dp-median" in [method["name"] for method in run_command("methods", "--json").json]
    assert "median · Laplace" in run_command("methods", "show", "dp-median").out


@pytest.mark.usefixtures("outside")
def test_the_studio_offers_it_and_its_worker_runs_it(tmp_path: Path) -> None:
    home = StudioHome(tmp_path / "home")
    choice = Choice(method="dp-median", epsilon=EPSILON, k=K)
    with browser(home) as client:
        project = ready_project(home, tmp_path, people=60, choice=choice)
        assert 'id="method-dp-median"' in client.get(f"/p/{project.id}/choose").text
        from coterie.studio.work.previews import look

        done = look(
            project,
            {"choice": choice.model_dump(), "rows": 60, "synthetic": False},
            lambda share, words: None,
        )
    assert "median-shift" in [measure["name"] for measure in done["measures"]]


# What a package gets wrong is told, with its name.


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("raise ValueError('no')", "'wrong-package' offers .* cannot be loaded"),
        ("PART = 5", "'wrong-package' offers .* is not a Method"),
        ("from coterie.methods.laplace import METHOD as PART", "there is a method 'laplace' already"),
    ],
)
def test_a_broken_package_is_named(tmp_path: Path, content: str, told: str) -> None:
    (tmp_path / "wrong_package.py").write_text(content)
    write_metadata(tmp_path, "wrong-package", {"coterie.methods": {"wrong": "wrong_package:PART"}})
    with packages_in(tmp_path):
        with pytest.warns(UserWarning, match=told):
            assert "laplace" in all_methods()
        people, schema = coterie.demo_population(20), coterie.demo_schema()
        assert protect(people, schema, method="laplace", epsilon=1).method == "laplace", (
            "it is in nobody's way"
        )
        with pytest.raises(ParameterError, match=told):
            protect(people, schema, method="wrong", epsilon=1)


# A part need not be installed to be tried; and one that fails is named, and does not take the others with it.

PEOPLE, SCHEMA = coterie.demo_population(60), coterie.demo_schema()


def _raises(*_: Any) -> Any:
    raise ZeroDivisionError("the salary of Ms X")


MINE = replace(all_methods()["laplace"], name="mine", title="a method of my own")
FAILS = replace(mean_sse.MEASURE, name="fails", attribute=ByAttribute(numbers=_raises), rank=0)
BREAKS = replace(all_attacks()["tie-linkage"], name="breaks", run=_raises)


def test_a_method_that_is_not_installed_can_be_used(tmp_path: Path) -> None:
    release = protect(PEOPLE, SCHEMA, method=MINE, epsilon=1)
    assert release.method == release.certificate.method == "mine"
    written = coterie.publish(PEOPLE, SCHEMA, tmp_path / "out.csv", method=MINE, epsilon=1)
    assert coterie.verify(written.path, written.certificate_path).certificate.method == "mine"
    found = coterie.audit_method(MINE, epsilon=1, attacks=["tie-linkage", "zero-noise"])
    assert found.subject == "method mine, ε = 1"
    assert found.promised is not None
    assert found.promised.method == "mine"


def test_a_measure_that_is_not_installed_can_be_used_and_one_that_fails_is_named() -> None:
    release = protect(PEOPLE, SCHEMA, method="laplace", epsilon=1, seed=1)
    found = coterie.evaluate(PEOPLE, release, SCHEMA, measures=[FAILS, "sse"]).measures
    assert found["sse"].value is not None
    assert found["fails"].value is None
    assert found["fails"].reason == "it failed (ZeroDivisionError; COTERIE_DEBUG=1 shows where)"


def test_an_attack_that_fails_is_named() -> None:
    release = protect(PEOPLE, SCHEMA, method="ir", k=5)
    found = coterie.audit(PEOPLE, release, SCHEMA, attacks=[BREAKS, "tie-linkage"])
    assert [f.attack for f in found.findings] == ["tie-linkage"]
    assert [(n.attack, "ZeroDivisionError" in n.reason) for n in found.not_run] == [("breaks", True)]
    assert "Ms X" not in json.dumps(found.to_dict())


def test_an_attack_that_returns_nothing_is_named() -> None:
    release = protect(PEOPLE, SCHEMA, method="ir", k=5)
    forgets = replace(BREAKS, name="forgets", run=lambda _: None)
    found = coterie.audit(PEOPLE, release, SCHEMA, attacks=[forgets, "tie-linkage"])
    assert [f.attack for f in found.findings] == ["tie-linkage"]
    assert [(n.attack, "TypeError" in n.reason) for n in found.not_run] == [("forgets", True)]


@pytest.mark.parametrize("method", ["laplace", "dp-synthetic"])
def test_a_measure_that_fails_in_a_grid_is_named_and_computed_again(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, Any] = {"methods": method, "epsilon": 1, "runs": 2, "folder": tmp_path / "kept"}
    monkeypatch.setattr("coterie.comparison.comparison.get_measure", lambda name: _measures()[name])
    monkeypatch.setattr("coterie.comparison.results.get_measure", lambda name: _measures()[name])
    asked |= {"measures": ["jensen-shannon", "fails"], "data": PEOPLE, "schema": SCHEMA}
    found = coterie.compare(**asked)
    assert set(found.results.values) == {"jensen-shannon"}
    assert set(found.failed) == {"fails"}
    assert any(
        "No figures of the measure 'fails'" in point for point in verdict(found, best_cells(found)).points
    )
    again = coterie.compare(**asked)
    assert again.resumed == 0, "a mended measure would be taken"
    with pytest.raises(ParameterError, match="No measure gave a result: fails: it failed"):
        coterie.compare(**{**asked, "measures": ["fails"]})


def _measures() -> dict[str, Any]:
    return {**all_measures(), "fails": replace(FAILS, needs_linkage=False)}


@pytest.mark.parametrize("given", [None, 5, MINE, FAILS, BREAKS])
def test_what_is_no_name_is_refused_in_words(given: object) -> None:
    told = "was named|by its name, and this is a value of the type"
    calls = [
        lambda: coterie.compare(PEOPLE, SCHEMA, methods=[given], epsilon=1),
        lambda: coterie.compare(PEOPLE, SCHEMA, methods="laplace", epsilon=1, measures=[given]),
    ]
    if given is not MINE:
        calls.append(lambda: protect(PEOPLE, SCHEMA, method=given, epsilon=1))
    if given is not FAILS:
        calls.append(lambda: coterie.evaluate(PEOPLE, PEOPLE, SCHEMA, measures=[given]))
    if given is not BREAKS:
        calls.append(lambda: coterie.audit(PEOPLE, PEOPLE.drop_columns(["person"]), SCHEMA, attacks=[given]))
    for call in calls:
        with pytest.raises(ParameterError, match=told):
            call()


@pytest.mark.usefixtures("outside")
def test_the_command_names_the_package_that_failed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A method's own fault is no bug of ours."""
    write_csv(PEOPLE, tmp_path / "people.csv")
    (tmp_path / "schema.yaml").write_text(SCHEMA.to_yaml(), encoding="utf-8")
    assert "dp-median" in all_methods()
    monkeypatch.setattr("coterie_median.method.in_domain", _raises)
    words = ["protect", tmp_path / "people.csv", "--schema", tmp_path / "schema.yaml", "--epsilon", "1"]
    failed = run_command(*words, "--method", "dp-median", "--k", "5", "--output", tmp_path / "out.csv")
    assert "in the package 'coterie_median', which adds parts to Coterie (ZeroDivisionError)" in failed.words
