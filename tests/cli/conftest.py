"""The command as a user runs it: real arguments, real exit codes, and a look at the folder before and after."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest

from command_line import Ran, run_command
from coterie import Schema

Run = Callable[..., Ran]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    return run_command


@pytest.fixture
def folder(tmp_path: Path, people: pa.Table, people_schema: Schema) -> Path:
    """people.csv and schema.yaml."""
    pyarrow.csv.write_csv(people, tmp_path / "people.csv")
    (tmp_path / "schema.yaml").write_text(people_schema.to_yaml())
    return tmp_path


def listing(folder: Path) -> dict[str, bytes]:
    """Every file with its bytes, hidden ones too."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture
def files() -> Callable[[Path], dict[str, bytes]]:
    return listing


@pytest.fixture
def protect_arguments() -> Callable[..., list[str]]:
    """A good command line; named arguments replace its options, None leaves one out."""

    def make(data: str = "people.csv", **changes: object) -> list[str]:
        options: dict[str, object] = {
            "schema": "schema.yaml",
            "method": "dp-ir",
            "epsilon": "1",
            "k": "5",
            "output": "out.csv",
        }
        options.update(changes)
        arguments = ["protect", data]
        for name, value in options.items():
            flag = f"--{name.replace('_', '-')}"
            if value is True:
                arguments.append(flag)
            elif value is not None:
                arguments += [flag, str(value)]
        return arguments

    return make
