"""The README says what is true: its table is the registry's, its Python runs, its commands exist."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import typer.main

from coterie.cli.app import app
from coterie.methods import as_dict, get_method

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


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


def test_it_is_short_and_leads_to_a_proved_release() -> None:
    assert len(README.splitlines()) <= 200
    first = re.search(r"^\$ coterie protect .*--method (\S+)", README, re.MULTILINE)
    assert first is not None
    assert as_dict(get_method(first[1]))["status"] == "proved"


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / target).exists(), target
