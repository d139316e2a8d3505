"""The command starts at once: nothing heavy is imported before a command needs it, and the guide says the same."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from coterie.cli.app import COMMANDS, app, load

HEAVY = {
    "numba",
    "scipy",
    "sklearn",
    "pyarrow",
    "polars",
    "pandas",
    "numpy",
    "resvg_py",
    "fastapi",
    "pyspark",
}


def loaded_by(work: str) -> set[str]:
    code = f"{work}\nimport sys, json; print('\\n' + json.dumps(sorted(sys.modules)))"
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in json.loads(child.stdout.splitlines()[-1])}


def test_the_start_imports_nothing_heavy() -> None:
    """Neither `import coterie`, nor its help, nor a command that does not exist."""
    work = "import coterie; from typer.testing import CliRunner; from coterie.cli.app import app; "
    assert not loaded_by(f"{work}[CliRunner().invoke(app, [word]) for word in ('--help', 'protct')]") & HEAVY


def test_the_methods_are_listed_without_a_compiler() -> None:
    work = "from typer.testing import CliRunner; from coterie.cli.app import app; CliRunner().invoke(app, ['methods'])"
    loaded = loaded_by(work)
    assert "numpy" in loaded  # so this test can fail
    assert not loaded & {"numba", "scipy", "sklearn", "polars", "pandas"}


def test_the_studio_opens_without_a_compiler() -> None:
    loaded = loaded_by("import coterie.studio.app; from coterie.studio.steps import statistics")
    assert "fastapi" in loaded
    assert not loaded & {"numba", "scipy", "sklearn", "polars", "pandas", "resvg_py"}


def loaded_by_command(folder: Path, line: str) -> set[str]:
    """For a table of ninety ages."""
    (folder / "people.csv").write_text("age\n" + "\n".join(str(20 + n % 60) for n in range(90)))
    (folder / "schema.yaml").write_text(
        "attributes: {age: {type: integer, role: protect, domain: {lower: 0, upper: 120}}}\n"
    )
    return loaded_by(
        f"import os; os.chdir({str(folder)!r}); from typer.testing import CliRunner; from coterie.cli.app import app; "
        f"done = CliRunner().invoke(app, {line.split()!r}); assert done.exit_code == 0, done.output"
    )


@pytest.mark.parametrize(
    ("line", "needed", "spared"),
    [
        ("compare people.csv -s schema.yaml -m dp-ir -e 1 -k 5 -o out --no-risk", "jinja2", "polars"),
        ("protect people.csv -s schema.yaml -m dp-ir -e 1 -k 5 -o out.csv", "cryptography", "pandas"),
    ],
)
def test_small_tables_need_no_compiler(tmp_path: Path, line: str, needed: str, spared: str) -> None:
    loaded = loaded_by_command(tmp_path, line)
    assert needed in loaded  # cryptography: the noise is secure
    assert not loaded & {"numba", "scipy", "sklearn", spared}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_guide_says_what_each_command_says_of_itself(name: str) -> None:
    assert COMMANDS[name] == load(name).help.split("\n\n")[0].replace("\n", " ").strip()


def test_a_command_that_does_not_exist_is_told_with_a_near_miss() -> None:
    result = CliRunner().invoke(app, ["protct"])
    assert result.exit_code == 2
    assert "Did you mean 'protect'" in " ".join(result.output.replace("│", " ").split())


def test_the_shell_completes_commands_from_the_guide(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that cannot be imported shows that nothing is."""
    monkeypatch.setitem(COMMANDS, "nowhere", "It has no file.")
    group = typer.main.get_group(app)
    found = group.shell_complete(typer.Context(group), "no")
    assert [item.value for item in found if not item.value.startswith("-")] == ["nowhere"]
