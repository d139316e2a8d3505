"""Benchmarks never run in the suite, but each must still find what it imports: one that does not is measured no more."""

from __future__ import annotations

import ast
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FILES = sorted(file.relative_to(ROOT) for file in ROOT.glob("benchmarks/**/*.py"))


@pytest.mark.parametrize("file", FILES, ids=str)
def test_a_benchmark_imports_only_what_there_is(file: Path) -> None:
    """Of Coterie and of the other benchmarks: every module is there, and has the names that are taken from it."""
    lost = []
    for node in ast.walk(ast.parse((ROOT / file).read_text(encoding="utf-8"))):
        if not isinstance(node, ast.ImportFrom) or node.module is None:
            continue
        room = node.module.partition(".")[0]
        if room == "benchmarks":
            lost += (
                []
                if (ROOT / node.module.replace(".", "/")).with_suffix(".py").is_file()
                or (ROOT / node.module.replace(".", "/")).is_dir()
                else [node.module]
            )
        elif room == "coterie":
            module = import_module(node.module)
            lost += [
                f"{node.module}.{name.name}"
                for name in node.names
                if not hasattr(module, name.name) and find_spec(f"{node.module}.{name.name}") is None
            ]
    assert not lost
