"""Every experiment is listed, states what it checks, and comes out as the docs say it does."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from coterie.cli.app import app
from coterie.errors import DataError, OutputError, ParameterError
from coterie.papers import all_experiments, get_experiment
from coterie.papers.data import DATA_SETS, available
from coterie.papers.experiment import Experiment, ExperimentOutcome, PaperFinding

EXPECTED = {
    "soria-comas-fig3", "soria-comas-fig4", "soria-comas-fig5", "soria-comas-fig6",
    "sanchez-2016-fig1", "sanchez-2016-fig2", "sanchez-2016-fig3", "sanchez-2016-fig4", "sanchez-2016-table1",
    "fragmented-fig2", "fragmented-fig3", "fragmented-fig4", "univariate-fig1",
}  # fmt: skip
PAPERS = {
    "soria-comas": "Soria-Comas et al. (iDP)",
    "sanchez-2016": "Sánchez et al. 2016",
    "nunes": "Nunes 2024",
    "fragmented": "Del Vasto-Terrientes et al. (fragmented data)",
    "univariate": "Sánchez et al. (univariate)",
}
QUICK = ("soria-comas-fig3", "sanchez-2016-fig1", "sanchez-2016-table1", "fragmented-fig3", "univariate-fig1")
SLOW = tuple(sorted(EXPECTED - set(QUICK)))


def needs_data(name: str) -> None:
    missing = [data for data in get_experiment(name).data if not available(data)]
    if missing:
        pytest.skip(f"public data not here ({', '.join(missing)}): set COTERIE_DATA")


def test_every_figure_and_table_is_there() -> None:
    assert set(all_experiments()) >= EXPECTED


@pytest.mark.parametrize("name", sorted(all_experiments()))
def test_an_experiment_names_its_paper_and_known_data(name: str) -> None:
    experiment = get_experiment(name)
    assert experiment.paper.startswith(f"{PAPERS[name.rpartition('-')[0]]}, ")
    assert set(experiment.data) <= set(DATA_SETS)
    assert experiment.title


def _run(name: str, folder: Path) -> None:
    needs_data(name)
    verdict = get_experiment(name).run(folder).verdict
    assert re.match(r"(reproduced|differs) \(\d+ of \d+ claims", verdict)
    assert (folder / f"{name}.png").stat().st_size > 10_000
    assert len((folder / f"{name}.csv").read_text(encoding="utf-8").splitlines()) > 5
    written = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    assert written["verdict"] == verdict
    for finding in written["findings"]:
        assert finding["tolerance"]
        assert finding["published"]
        assert finding["measured"]
    # The page in the docs was made by such a run: the same claims hold.
    published = Path(__file__).parents[2] / "docs" / "reference" / "experiments.json"
    if published.exists():
        said = {entry["experiment"]: entry for entry in json.loads(published.read_text(encoding="utf-8"))}[
            name
        ]
        assert [f["holds"] for f in said["findings"]] == [f["holds"] for f in written["findings"]]


@pytest.mark.parametrize("name", QUICK)
def test_quick_experiments(name: str, tmp_path: Path) -> None:
    _run(name, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_all_other_experiments(name: str, tmp_path: Path) -> None:
    _run(name, tmp_path)


def _finding(holds: bool) -> PaperFinding:
    return PaperFinding("claim", "published number", "measured number", "exactly", holds)


def test_a_verdict_says_reproduced_only_if_every_claim_holds() -> None:
    import pyarrow as pa

    table = pa.table({"x": [1]})
    good = ExperimentOutcome((_finding(True), _finding(True)), None, table)
    assert good.verdict.startswith(
        "reproduced (2 of 2 claims): claim: measured number (published: published number)"
    )
    mixed = ExperimentOutcome((_finding(True), _finding(False)), None, table)
    assert mixed.verdict == (
        "differs (1 of 2 claims hold): claim: measured measured number against published published number"
    )


def test_unknown_names_get_a_suggestion(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="Did you mean 'sanchez-2016-table1'"):
        get_experiment("sanchez-2016-tabel1")
    done = CliRunner().invoke(app, ["reproduce", "univariate-fig1", "nothing", "-o", str(tmp_path / "out")])
    assert isinstance(done.exception, ParameterError)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("word", ["list", "LIST"])
def test_the_list(word: str) -> None:
    rows = json.loads(CliRunner().invoke(app, ["reproduce", word, "--json"]).stdout)
    assert {row["name"] for row in rows} >= EXPECTED
    shown = CliRunner().invoke(app, ["reproduce", word]).output
    assert "sanchez-2016-table1" in shown


def test_the_command_writes_and_prints_the_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow as pa

    outcome = ExperimentOutcome((_finding(False),), None, pa.table({"x": [1]}))
    fake = Experiment("other-fig9", "nothing", "Nobody 2009", (), 0.1, lambda: outcome)
    monkeypatch.setattr("coterie.papers.reproduction.get_experiment", lambda name: fake)
    done = CliRunner().invoke(app, ["reproduce", "other-fig9", "-o", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert "differs (0 of 1 claims hold)" in done.output
    assert "0 of 1 reproduced in full" in done.output
    assert (tmp_path / "other-fig9.csv").exists()
    found = json.loads(
        CliRunner().invoke(app, ["reproduce", "other-fig9", "-o", str(tmp_path), "--json"]).stdout
    )
    assert found[0]["findings"][0]["holds"] is False


def test_one_missing_data_set_does_not_cost_the_other_experiments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pyarrow as pa

    def missing() -> ExperimentOutcome:
        raise DataError("The data set 'toy' is not here.", "Fetch it.")

    outcome = ExperimentOutcome((_finding(True),), None, pa.table({"x": [1]}))
    fakes = {
        "other-fig1": Experiment("other-fig1", "nothing", "Nobody 2009", (), 0.1, missing),
        "other-fig2": Experiment("other-fig2", "nothing", "Nobody 2009", (), 0.1, lambda: outcome),
    }
    monkeypatch.setattr("coterie.papers.reproduction.get_experiment", fakes.__getitem__)
    done = CliRunner().invoke(app, ["reproduce", *fakes, "-o", str(tmp_path)])
    assert done.exit_code == DataError.exit_code
    assert "other-fig1 not run The data set 'toy' is not here." in done.output
    assert "1 of 2 reproduced in full" in done.output
    assert "Fetch it." in done.output
    assert (tmp_path / "other-fig2.csv").exists()
    as_json = CliRunner().invoke(app, ["reproduce", *fakes, "-o", str(tmp_path), "--json"])
    assert as_json.exit_code == DataError.exit_code
    assert [entry["verdict"][:7] for entry in json.loads(as_json.stdout)] == ["not run", "reprodu"]
    alone = CliRunner().invoke(app, ["reproduce", "other-fig1", "-o", str(tmp_path)])
    assert isinstance(alone.exception, DataError)


def test_a_file_as_output_folder(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("x", encoding="utf-8")
    done = CliRunner().invoke(app, ["reproduce", "univariate-fig1", "-o", str(tmp_path / "taken")])
    assert isinstance(done.exception, OutputError)
