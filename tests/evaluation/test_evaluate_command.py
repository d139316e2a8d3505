"""coterie evaluate on files: table and JSON, and the certificate that says that rows were shuffled."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import coterie
from coterie.cli import output
from coterie.cli.app import app
from coterie.errors import CoterieError
from coterie.publication.staging import stage
from coterie.table.demo_population import demo_population, demo_schema


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("evaluate")
    stage(demo_population(300), place / "people.csv", force=False).publish()
    (place / "schema.yaml").write_text(demo_schema().to_yaml(), encoding="utf-8")
    for name, extra in (
        ("out.csv", ["--keep-order"]),
        ("shuffled.csv", ["--internal", f"{place}/internal.json"]),
    ):
        made = CliRunner().invoke(
            app,
            ["protect", f"{place}/people.csv", "-s", f"{place}/schema.yaml", "-m", "idp-cbls", "-e", "1", "-k", "5",
             "-o", f"{place}/{name}", *extra],
        )  # fmt: skip
        assert made.exit_code == 0, made.output
    return place


def call(folder: Path, released: str, *extra: str) -> dict:
    arguments = [
        "evaluate",
        f"{folder}/people.csv",
        f"{folder}/{released}",
        "-s",
        f"{folder}/schema.yaml",
        "--json",
    ]
    done = CliRunner().invoke(app, [*arguments, *extra])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_json_has_every_measure_and_the_warning(folder: Path) -> None:
    found = call(folder, "out.csv", "--target", "income", "--threshold", "20000")
    assert "DO NOT PUBLISH" in found["warning"]
    assert found["measures"]["sse"]["value"] > 0
    assert set(found["measures"]["classification"]["details"]["classes"]) == {"at most 20000", "above 20000"}


def test_a_certificate_beside_the_release_says_that_rows_were_shuffled(folder: Path) -> None:
    found = call(folder, "shuffled.csv")
    assert found["measures"]["sse"]["value"] is None
    assert "linked rows" in found["measures"]["sse"]["reason"]
    assert found["measures"]["jensen-shannon"]["value"] is not None


def test_the_internal_figures_say_whose_row_is_whose(folder: Path) -> None:
    """Without noise drawn anew, paired rows give what the release itself noted about them."""
    noted = json.loads((folder / "internal.json").read_text())
    found = call(folder, "shuffled.csv", "--order", f"{folder}/internal.json")["measures"]["sse"]
    for name, error in found["attributes"].items():
        assert error == pytest.approx(noted["attributes"][name]["mean_squared_error"], rel=1e-6)
    (folder / "wrong.txt").write_text("0\n1\n")
    arguments = ["evaluate", f"{folder}/people.csv", f"{folder}/shuffled.csv", "-s", f"{folder}/schema.yaml"]
    refused = CliRunner().invoke(app, [*arguments, "--order", f"{folder}/wrong.txt"])
    assert refused.exit_code != 0
    assert "does not fit the release" in str(refused.exception)


def test_a_release_in_memory_knows_whose_row_is_whose(folder: Path) -> None:
    people, schema = demo_population(300), demo_schema()
    release = coterie.protect(people, schema, method="laplace", epsilon=1000)
    assert release.certificate.release.shuffled
    assert not release.table.column(0).equals(people.column(release.table.column_names[0]))
    assert (
        coterie.evaluate(people, release, schema, measures=["sse"]).measures["sse"].value < 0.7
    )  # else about 2


def test_the_table_explains_each_number(folder: Path) -> None:
    done = CliRunner().invoke(
        app,
        [
            "evaluate",
            f"{folder}/people.csv",
            f"{folder}/out.csv",
            "-s",
            f"{folder}/schema.yaml",
            "-m",
            "sse,correlation",
        ],
    )
    assert done.exit_code == 0
    assert "sse" in done.output
    assert "correlation" in done.output
    assert "DO NOT PUBLISH" in done.output
    assert "jensen" not in done.output


def test_the_error_is_the_mean_over_attributes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        output.console, "_width", 400
    )  # one line per cell, whatever terminal the tests run in
    found = call(folder, "out.csv", "-m", "sse")["measures"]["sse"]
    mean = sum(found["attributes"].values()) / len(found["attributes"])
    assert found["value"] == pytest.approx(mean)
    done = CliRunner().invoke(
        app,
        ["evaluate", f"{folder}/people.csv", f"{folder}/out.csv", "-s", f"{folder}/schema.yaml", "-m", "sse"],
    )
    assert f"{found['value']:.3g}" in done.output


def test_a_misspelt_measure_is_refused_before_anything_is_read() -> None:
    done = CliRunner().invoke(app, ["evaluate", "no.csv", "no.csv", "-s", "no.yaml", "-m", "sseee"])
    assert isinstance(done.exception, CoterieError)
    assert "There is no measure" in done.exception.problem


def test_synthetic_rows_are_not_linked_either(folder: Path) -> None:
    made = CliRunner().invoke(
        app,
        ["protect", f"{folder}/people.csv", "-s", f"{folder}/schema.yaml", "-m", "dp-sorted", "-e", "1", "-k", "30",
         "-o", f"{folder}/lists.csv"],
    )  # fmt: skip
    assert made.exit_code == 0, made.output
    found = call(folder, "lists.csv")
    assert "synthetic" in found["measures"]["sse"]["reason"]
    assert found["measures"]["sse-matched"]["value"] is not None


def test_every_class_is_shown_with_its_upper_bound(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output.console, "_width", 400)
    chosen = ["-m", "classification", "--target", "income", "--threshold", "20000"]
    classes = call(folder, "out.csv", *chosen)["measures"]["classification"]["details"]["classes"]
    done = CliRunner().invoke(
        app, ["evaluate", f"{folder}/people.csv", f"{folder}/out.csv", "-s", f"{folder}/schema.yaml", *chosen]
    )
    for name, found in classes.items():
        assert f"{name}: {found['f_measure']:.2f} of {found['upper_bound']:.2f}" in done.output
