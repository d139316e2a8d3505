"""The pages about statistics say what is true: files are written, commands are run, Python is executed."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path

import pyarrow.csv
import pytest
from statistics_people import population
from typer.testing import CliRunner

from coterie.cli import stats
from coterie.cli.app import app as whole

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "how-to" / "publish-statistics.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(yaml|console|python)\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    pyarrow.csv.write_csv(population(), tmp_path / "people.csv")
    return tmp_path


def words(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def command(line: str) -> str:
    arguments = shlex.split(line)
    assert arguments[0] == "coterie"
    app, rest = (stats.app, arguments[2:]) if arguments[1] == "stats" else (whole, arguments[1:])
    result = CliRunner().invoke(app, rest)
    assert result.exit_code == 0, (line, result.output, result.exception)
    return words(result.output)


def test_the_how_to_works_from_top_to_bottom(folder: Path) -> None:
    """Lines below a command must appear in what it prints; blanks do not count."""
    seen, output = set(), io.StringIO()
    for kind, content in BLOCKS:
        seen.add(kind)
        if kind == "yaml":
            name = re.match(r"# file: (\S+)\n", content)
            assert name is not None
            (folder / name[1]).write_text(content)
        elif kind == "console":
            printed = ""
            for line in content.splitlines():
                if line.startswith("$ "):
                    printed = command(line[2:])
                else:
                    assert words(line).strip() in printed, line
        else:
            with contextlib.redirect_stdout(output):
                exec(compile(content, "publish-statistics.md", "exec"), {})
    for said in ("count | smoker = yes", "gradient by hand", "none"):
        assert said in output.getvalue(), said
    assert seen == {"yaml", "console", "python"}


def test_every_kind_and_ready_made_equation_is_on_the_page() -> None:
    from coterie.statistics.specification.equations import READY_MADE
    from coterie.statistics.specification.specification import StatisticKind

    unwritten = {StatisticKind.KEYS, StatisticKind.TABLE}  # both are counts with `by`
    for name in {*READY_MADE, *StatisticKind} - unwritten:
        assert f"`{name}`" in PAGE, name


def test_the_scores_on_the_page_are_those_of_the_tests() -> None:
    text = (DOCS / "explanation" / "budget-allocation.md").read_text(encoding="utf-8")
    for number in (".3341", ".3382 / .3703", ".4486 / .4240", ".2365", ".2294", ".2172"):
        assert number in text
