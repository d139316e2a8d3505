"""coterie compare from files to report: outputs, JSON, tuning samples, and what it refuses."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest
from mixed_people import SCHEMA, mixed_table
from typer.testing import CliRunner

from coterie.cli.app import app
from coterie.cli.compare import _whole_numbers
from coterie.comparison.compare import _called
from coterie.errors import CoterieError, OutputError, ParameterError
from coterie.publication.staging import stage
from coterie.report.charts import Figure


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    stage(mixed_table(), tmp_path / "people.parquet", force=False).publish()
    (tmp_path / "schema.yaml").write_text(SCHEMA, encoding="utf-8")
    return tmp_path


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests that read words and whose figures another test draws too."""
    monkeypatch.setattr(Figure, "png", lambda figure: b"")


def call(folder: Path, *extra: str) -> object:
    return CliRunner().invoke(
        app,
        ["compare", f"{folder}/people.parquet", "-s", f"{folder}/schema.yaml", "-m", "laplace,dp-ir,mdav", "-e", "0.5,4",
         "-k", "5,20,900", "--runs", "2", "-o", f"{folder}/out", *extra],
    )  # fmt: skip


def test_everything_is_written_and_a_second_run_resumes(folder: Path) -> None:
    done = call(folder, "--json", "--target", "group")
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    assert said["resumed"] == 0
    assert {(entry["method"], entry["k"]) for entry in said["skipped"]} == {("dp-ir", 900), ("mdav", 900)}
    out = folder / "out"
    table = pq.read_table(out / "results.parquet")
    assert table.num_rows == said["cells"] * 2 == csv.read_csv(out / "results.csv").num_rows
    assert (out / "attributes.parquet").is_file()
    assert {path.stem for path in (out / "figures").iterdir()} == {
        "error-by-k",
        "error-heatmap",
        "distributions",
        "correlations",
        "risk-utility",
    }
    page = (out / "report.html").read_text(encoding="utf-8")
    assert said["verdict"]["headline"] in page.replace("&#39;", "'").replace("&lt;", "<")
    assert "the original itself (upper bound)" in page
    again = json.loads(call(folder, "--json", "--target", "group").stdout)
    assert again["resumed"] == again["cells"]
    assert again["verdict"] == said["verdict"]


def test_a_kept_class_cannot_be_tuned_on_a_synthetic_table(folder: Path) -> None:
    done = call(folder, "--tune-on", "synthetic", "--target", "group")
    assert isinstance(done.exception, ParameterError)
    assert "A synthetic table has no 'group'" in done.exception.problem
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    ("source", "table", "shown"),
    [
        ("data/people.csv", None, "people.csv"),
        ("book.xlsx", "Blatt 1", "book.xlsx, Blatt 1"),
        ("postgresql://ann:secret@host/clinic?password=secret", "patients", "clinic, patients"),
    ],
)
def test_the_page_does_not_show_how_to_get_into_a_database(
    source: str, table: str | None, shown: str
) -> None:
    assert _called(source, table) == shown


@pytest.mark.usefixtures("undrawn")
def test_people_get_the_verdict_first_and_the_disclosure_last(folder: Path) -> None:
    done = call(folder)
    assert done.output.lstrip().startswith("For ε ≤ 4 and this table of 120 records")
    assert "Skipped: dp-ir, mdav, k = 900" in done.output
    assert "choosing k by looking at the data is itself a disclosure" in " ".join(done.output.split())


def test_the_table_reads_well_on_eighty_columns(folder: Path) -> None:
    """Only the words may wrap; what the errors are and where the formula is, is said once below."""
    done = call(folder, "--methods", "laplace,idp-cbls,dp-synthetic", "--no-risk")
    lines = done.output.splitlines()
    assert max(map(len, lines)) <= 80
    start = next(place for place, line in enumerate(lines) if "best k" in line and "in words" in line)
    row = re.compile(r" +[\d.]* +(laplace|idp-cbls|dp-synthetic) +[a-z]+ +(?:–|\d+) +[\d.,e+-]+ +\w")
    rows = [(line, found[1]) for line in lines[start + 2 :] if (found := row.match(line))]
    assert [method for _, method in rows] == 2 * ["dp-synthetic", "laplace", "idp-cbls"]
    below = " ".join(done.output[done.output.index(rows[-1][0]) :].split())
    assert "The error is the Jensen–Shannon divergence" in below


def test_an_epsilon_too_small_for_paid_bounds_is_skipped(folder: Path) -> None:
    paid = SCHEMA.replace(
        "domain: {lower: 0, upper: 120}", "domain: {lower: 0, upper: 120, source: dp}, weight: 400"
    )
    (folder / "schema.yaml").write_text(paid, encoding="utf-8")
    arguments = ("--methods", "laplace,dp-ir", "--epsilon", "0.01,60", "-k", "5", "--no-risk")
    said = json.loads(call(folder, *arguments, "--json").stdout)
    assert [(one["method"], one["k"], one["epsilon"]) for one in said["skipped"] if one["epsilon"]] == [
        ("laplace", None, "0.01"),
        ("dp-ir", None, "0.01"),
    ]
    assert {entry["epsilon"] for entry in said["best"]} == {"60"}
    results = csv.read_csv(folder / "out" / "results.csv")
    assert set(results.column("epsilon").to_pylist()) == {60}
    told = " ".join(call(folder, *arguments).output.split())
    assert "Skipped: laplace, dp-ir, ε = 0.01: ε is too small to find bounds for 'age'" in told
    nothing = call(folder, *arguments[:2], "--epsilon", "0.01,0.02", "-k", "5")
    assert isinstance(nothing.exception, ParameterError)
    assert nothing.exception.problem.startswith("No cell of the grid is possible: ε is too small")


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("sample", ["synthetic", "people.parquet"])
def test_tuning_on_a_sample(folder: Path, sample: str) -> None:
    place = sample if sample == "synthetic" else f"{folder}/{sample}"
    done = call(folder, "--tune-on", place)
    assert done.exit_code == 0, done.output
    page = (folder / "out" / "report.html").read_text(encoding="utf-8")
    assert "Computed on" in page
    assert "Internal: do not publish" not in page


def test_a_file_as_output_folder(folder: Path) -> None:
    (folder / "out").write_text("x", encoding="utf-8")
    assert isinstance(call(folder).exception, OutputError)


def test_errors_name_the_fault(folder: Path) -> None:
    done = call(folder, "--methods", "dp-irr")
    assert isinstance(done.exception, CoterieError)
    assert "dp-irr" in done.exception.problem


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        (["--target", "NOPE"], "no class column 'NOPE'"),
        (["--target", "group", "--threshold", "3"], "no numbers to split"),
        (["--threshold", "3"], "no class column to split"),
        (["--target", "income"], "more than 50 classes"),
        (["--bins", "foo"], "no bins of kind 'foo'"),
        (["--k", "1-99999999"], "more than 10,000 values"),
    ],
)
def test_a_wrong_choice_is_refused_before_the_grid_runs(
    folder: Path, monkeypatch: pytest.MonkeyPatch, extra: list[str], said: str
) -> None:
    from coterie.comparison import comparison

    def no_work(*arguments: object) -> object:
        raise AssertionError("the grid was run")

    monkeypatch.setattr(comparison, "run_cells", no_work)
    done = call(folder, *extra)
    assert isinstance(done.exception, CoterieError)
    assert said in done.exception.problem
    assert not (folder / "out").exists()


def test_k_as_numbers_and_ranges() -> None:
    assert _whole_numbers("5, 10,50") == [5, 10, 50]
    assert _whole_numbers("5-20:5,100") == [5, 10, 15, 20, 100]
    assert _whole_numbers("") == []
    for wrong in ("five", "3-", "1-9:0", "2.5"):
        with pytest.raises(ParameterError, match="whole number"):
            _whole_numbers(wrong)


@pytest.mark.usefixtures("undrawn")
def test_an_interruption_says_how_to_go_on(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from coterie.comparison import comparison

    work, seen = comparison.run_cells, []

    def stop_in_the_middle(*arguments: object) -> object:
        for block in work(*arguments):  # type: ignore[arg-type]
            if len(seen) == 2:
                raise KeyboardInterrupt
            seen.append(block)
            yield block

    with monkeypatch.context() as patched:  # undo() would also give the test the user's own state folder
        patched.setattr(comparison, "run_cells", stop_in_the_middle)
        stopped = call(folder)
    assert stopped.exit_code == 130
    assert "Finished cells are kept" in stopped.output
    assert json.loads(call(folder, "--json").stdout)["resumed"] == sum(len(block.cells) for block in seen)
