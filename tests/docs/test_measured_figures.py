"""The figures of two runs of the benchmarks can be compared."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks.__main__ import compare, figures

TABLE = [
    "Words.",
    "",
    "| | seconds | wanted |",
    "|---|---|---|",
    "| `first` | 1,200 | 2 |",
    "| **second** | 0.5 | |",
]


def test_every_number_of_a_table_gets_a_name() -> None:
    assert figures(TABLE) == {
        "first / seconds": 1200.0,
        "first / wanted": 2.0,
        "second / seconds": 0.5,
    }


def test_what_changed_by_a_tenth_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    machine = {"processor": "x86_64", "cores": 2}
    for name, seconds, rate in (("a", 1.0, 9.0), ("b", 1.05, 9.1), ("c", 1.2, 12.0), ("d", 0.5, 6.0)):
        found = {"x / seconds": seconds, "x / million values per second": rate}
        (tmp_path / name).write_text(json.dumps({"machine": machine, "figures": {"grid": found}}))
    assert compare(tmp_path / "a", tmp_path / "b") == 0
    assert capsys.readouterr().out == "Nothing changed by more than 10 %.\n"
    compare(tmp_path / "a", tmp_path / "c")
    slower, other = capsys.readouterr().out.split("Changed otherwise")
    assert "grid: x / seconds: 1 -> 1.2 (+20%)" in slower
    assert "per second: 9 -> 12 (+33%)" in other
    compare(tmp_path / "a", tmp_path / "d")
    slower, other = capsys.readouterr().out.split("Changed otherwise")
    assert "per second: 9 -> 6 (-33%)" in slower
    assert "grid: x / seconds: 1 -> 0.5 (-50%)" in other
