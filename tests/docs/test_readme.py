"""The README says what is true: its table is the registry's, its Python runs, its commands exist."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import re
from pathlib import Path

import typer.main

from coterie.cli.app import app

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_table_of_methods_is_generated() -> None:
    spec = importlib.util.spec_from_file_location("write_tables", ROOT / "tools" / "write_tables.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.readme() == README, "run `make docs-tables`"


def test_the_python_example_runs() -> None:
    for block in re.findall(r"```python\n(.*?)```", README, re.DOTALL):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block, "README.md", "exec"), {})
        assert "5000 proved" in printed.getvalue()


def test_every_command_of_the_readme_exists() -> None:
    commands = typer.main.get_command(app)
    named = re.findall(r"^\$ coterie ([a-z]+)", README, re.MULTILINE)
    assert named
    for name in named:
        assert name in commands.commands, name  # type: ignore[attr-defined]


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / target).exists(), target
