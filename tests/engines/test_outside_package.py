"""A package outside Coterie (tests/outside) adds a method, its mechanism, a measure and an attack; everything runs them."""

from __future__ import annotations

import importlib
import json
import shutil
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from mixed_table import LABELS, mixed_schema, mixed_table
from typer.testing import CliRunner

import coterie
from coterie import protect
from coterie import registry as parts
from coterie.auditing.attacks import all_attacks
from coterie.cli.app import app
from coterie.engines.out_of_core.release import protect_file
from coterie.errors import ParameterError
from coterie.evaluation import all_measures
from coterie.methods import all_methods
from coterie.schema.attributes import Categories, Schema
from coterie.statistics.allocators import allocators
from coterie.studio.auth import StudioHome
from coterie.studio.project import Choice
from release_world import browser, ready_project

PACKAGE = Path(__file__).resolve().parents[1] / "outside"
EPSILON, K, SEED = "2", 5, 7
REGISTRIES = (all_methods, all_measures, all_attacks, allocators)


def install(folder: Path, name: str, entry_points: Mapping[str, Mapping[str, str]]) -> None:
    """The metadata that an installer writes."""
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    groups = [
        f"[{group}]\n" + "".join(f"{part} = {place}\n" for part, place in points.items())
        for group, points in entry_points.items()
    ]
    (info / "entry_points.txt").write_text("\n".join(groups))


def forget() -> None:
    importlib.invalidate_caches()
    parts._outside.clear()
    for registry in REGISTRIES:
        registry.cache_clear()


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """On this process's path only: Spark's executors have no such package."""
    folder = tmp_path_factory.mktemp("installed")
    shutil.copytree(PACKAGE / "coterie_median", folder / "coterie_median")
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
    install(folder, project["name"], project["entry-points"])
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        forget()
        yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "coterie_median"]:
        del sys.modules[name]
    forget()


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
    release = protect({"x": values}, schema, method="dp-median", epsilon="1e12", k=5)
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
    released = protect(table, schema, method="dp-median", epsilon="1e12", k=1).table
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
    runner = CliRunner()
    listed = json.loads(runner.invoke(app, ["methods", "--json"]).output)
    assert "dp-median" in [method["name"] for method in listed]
    assert "median · Laplace" in runner.invoke(app, ["methods", "show", "dp-median"]).output


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


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    sys.modules.pop("wrong_package", None)
    forget()


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("raise ValueError('no')", "'wrong-package' offers .* cannot be loaded"),
        ("PART = 5", "'wrong-package' offers .* is not a Method"),
        ("from coterie.methods.laplace import METHOD as PART", "there is a method 'laplace' already"),
    ],
)
def test_a_broken_package_is_named(broken: Path, content: str, told: str) -> None:
    (broken / "wrong_package.py").write_text(content)
    install(broken, "wrong-package", {"coterie.methods": {"wrong": "wrong_package:PART"}})
    forget()
    with pytest.raises(ParameterError, match=told):
        all_methods()
