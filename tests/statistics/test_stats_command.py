"""coterie stats on the command line: thin, but it must say and return the right things."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.csv
import pytest
import yaml
from statistics_people import document, population
from typer.testing import CliRunner

from coterie.cli.stats import app
from coterie.errors import CertificateError, OutputError, ParameterError
from coterie.publication.ledger import Ledger

RUNNER = CliRunner()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "spec.yaml").write_text(yaml.safe_dump(document(), sort_keys=False))
    pyarrow.csv.write_csv(population(), tmp_path / "people.csv")
    Ledger.add_population(tmp_path / "ledger.sqlite", "people", "10")
    return tmp_path


def run(*arguments: object) -> str:
    result = RUNNER.invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_plan_is_a_table_and_a_figure(folder: Path) -> None:
    shown = run("plan", folder / "spec.yaml", "--figure", folder / "plan.png", "--proofs")
    for word in (
        "allocator",
        "gradient",
        "uniform",
        "taylor",
        "times",
        "Sensitivity",
        "off by 50%",
        "not looked at",
    ):
        assert word in shown
    assert (folder / "plan.png").read_bytes().startswith(b"\x89PNG")


def test_a_plan_for_programs(folder: Path) -> None:
    plan = json.loads(run("plan", folder / "spec.yaml", "--json", "--no-compare"))
    assert plan["allocator"] == "gradient"
    assert {error["name"] for error in plan["errors"]} >= {"t", "times", "everyone"}
    assert all(entry["proof"] for entry in plan["measurements"])
    assert [entry["by"] for entry in plan["if_the_guess_is_off"]] == [0.1, 0.5, 1.0]


def test_solving_for_epsilon(folder: Path) -> None:
    content = document(equations={"times": {"formula": "avg[yes] / avg[no]", "tolerance": 0.05}})
    (folder / "tolerances.yaml").write_text(yaml.safe_dump(content))
    plan = json.loads(run("plan", folder / "tolerances.yaml", "--solve", "epsilon", "--json"))
    assert plan["allocator"] == "tolerances"
    assert 0.1 < float(plan["budget"].split("=")[1]) < 10


def test_release_verify_and_ask_again(folder: Path) -> None:
    arguments = ("release", folder / "spec.yaml", "--data", folder / "people.csv", "--output", folder / "out.csv",
                 "--ledger", folder / "ledger.sqlite")  # fmt: skip
    assert "Promise: proved" in run(*arguments)
    assert "nothing was spent" in run(*arguments)
    assert json.loads(run(*arguments, "--json"))["again"] is True
    assert "belong together" in run("verify", folder / "out.csv", folder / "out.csv.certificate.json")
    (folder / "out.csv").write_text("something else")
    with pytest.raises(CertificateError, match="do not belong together"):
        run("verify", folder / "out.csv", folder / "out.csv.certificate.json")


def test_figures_raw_measurements_and_a_page_from_one_draw(folder: Path) -> None:
    arguments = ("release", folder / "spec.yaml", "--data", folder / "people.csv", "--output", folder / "out.parquet",
                 "--raw", folder / "raw.json", "--page", folder / "out.html", "--json")  # fmt: skip
    made = json.loads(run(*arguments))
    assert (made["raw"], made["page"]) == (str(folder / "raw.json"), str(folder / "out.html"))
    figures = {row["name"]: row for row in made["values"]}
    assert isinstance(figures["n[yes]"]["value"], int)
    assert (figures["n[yes]"]["smoker"], figures["times"]["smoker"]) == ("yes", None)
    assert "belong together" in run("verify", folder / "raw.json", folder / "raw.json.certificate.json")
    assert f"{figures['n[yes]']['value']:,}" in (folder / "out.html").read_text()
    with pytest.raises(OutputError, match="overwrite an input"):
        run(*arguments[:-2], folder / "spec.yaml", "--json")


def test_as_in_paper_is_labelled(folder: Path) -> None:
    shown = run("plan", folder / "spec.yaml", "--as-in-paper", "--data", folder / "people.csv")
    assert "Refuted" in shown
    assert "Based on the data themselves" in shown
    with pytest.raises(ParameterError, match="belong together"):
        run("plan", folder / "spec.yaml", "--data", folder / "people.csv")


def test_allocators_are_listed() -> None:
    names = [entry["name"] for entry in json.loads(run("allocators", "--json"))]
    assert names[0] == "gradient"
    assert "(default)" in run("allocators")


def test_an_unknown_goal_is_refused(folder: Path) -> None:
    with pytest.raises(ParameterError, match="--solve knows"):
        run("plan", folder / "spec.yaml", "--solve", "everything")
