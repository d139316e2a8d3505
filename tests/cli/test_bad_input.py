"""Each bad input of the issue: the exit code, what the message says, and that nothing was written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from coterie.publication.ledger import Ledger

Run = Callable[..., Any]
Arguments = Callable[..., list[str]]
Files = Callable[[Path], dict[str, bytes]]

SCHEMA = """attributes:
  x: {{role: protect, domain: {domain}{more}}}
"""
GOOD = {"schema": SCHEMA.format(domain="{lower: 0, upper: 100}", more=""), "data": "x\n1\n2\n3\n4\n5\n6\n"}


def _schema(domain: str = "{lower: 0, upper: 100}", more: str = "") -> dict[str, str]:
    return {"schema": SCHEMA.format(domain=domain, more=more)}


# name: what differs from a good run, exit code, words of the message
CASES: dict[str, tuple[dict[str, Any], int, list[str]]] = {
    "missing column": ({"data": "y\n1\n2\n"}, 3, ["'x'", "does not have"]),
    "near column": (
        {"schema": GOOD["schema"].replace("x:", "income:"), "data": "incme\n1\n2\n"},
        3,
        ["Did you mean 'incme'?"],
    ),
    "unknown column": ({"data": "x,extra\n1,2\n2,3\n"}, 3, ["'extra'", "role: identifier"]),
    "text": ({"data": "x\n1\nsecret7\n3\n"}, 4, ["'x'", "row 2"]),
    "null": (
        {"data": "x,y\n1,1\n,2\n3,3\n", "schema": GOOD["schema"] + "  y: {role: identifier}\n"},
        4,
        ["row 2", "own category", "`impute` puts a public value"],
    ),
    "nan": ({"data": "x\n1\nnan\n3\n"}, 4, ["row 2", "own category", "`impute` puts a public value"]),
    "infinite": ({"data": "x\n1\ninf\n3\n"}, 4, ["infinity", "row 2"]),
    "outside": ({"data": "x\n1\n7777\n8888\n"}, 4, ["values outside", "clip"]),
    "no domain": (_schema("{lower: , upper: }"), 3, ["no domain", "bounds"]),
    "inverted domain": (_schema("{lower: 9, upper: 1}"), 3, ["inverted", "swap"]),
    "empty domain": (_schema("{lower: 9, upper: 9}"), 3, ["empty", "widen"]),
    "k of zero": ({"k": 0}, 5, ["k = 0", "smallest k is 1"]),
    "k too large": ({"k": 7}, 5, ["larger than the number of records", "up to 6"]),
    "k below three": ({"k": 2, "method": "idp-cbls"}, 5, ["idp-cbls", "smallest k is 3"]),
    "k left out": ({"k": None}, 5, ["needs k", "for example 10"]),
    "k for laplace": ({"method": "laplace"}, 5, ["always 1", "Leave k out"]),
    "epsilon zero": ({"epsilon": "0"}, 5, ["greater than 0", "0.5"]),
    "epsilon negative": ({"epsilon": "-1"}, 5, ["greater than 0"]),
    "epsilon nan": ({"epsilon": "nan"}, 5, ["not a finite number"]),
    "epsilon text": ({"epsilon": "much"}, 5, ["not a finite number"]),
    "empty file": ({"data": ""}, 4, ["empty"]),
    "header only": ({"data": "x\n"}, 4, ["fewer than two rows"]),
    "one row": ({"data": "x\n1\n"}, 4, ["fewer than two rows"]),
    "duplicate columns": ({"data": "x,x\n1,2\n2,3\n"}, 4, ["'x'", "own name"]),
    "unknown method": ({"method": "idp-cbl"}, 5, ["Did you mean 'idp-cbls'?", "coterie methods"]),
    "no such schema": ({"schema_file": "none.yaml"}, 3, ["cannot be read"]),
    "no such data": ({"data_file": "none.csv"}, 4, ["no file"]),
    "unknown ending": ({"output": "out.docx"}, 6, ["out.docx"]),
    "no such folder": ({"output": "nowhere/out.csv"}, 6, ["no folder"]),
    "bad seed": ({"seed": -1}, 5, ["seed"]),
    "ledger alone": ({"ledger": "l.db"}, 5, ["population", "both, or neither"]),
    "no such ledger": ({"ledger": "l.db", "population": "p"}, 8, ["ledger"]),
    "damaged ledger": ({"ledger": "data.csv", "population": "p"}, 8, ["ledger"]),
    "k as text": ({"k": "ten"}, 2, ["--k"]),
    "unknown option": ({"surprise": "1"}, 2, ["--surprise"]),
    "no method": ({"method": None}, 2, ["--method"]),
}


@pytest.mark.parametrize("as_json", [False, True], ids=["words", "json"])
@pytest.mark.parametrize("name", CASES)
def test_bad_input(
    name: str, as_json: bool, run: Run, tmp_path: Path, files: Files, protect_arguments: Arguments
) -> None:
    changes, code, says = CASES[name]
    changes = dict(changes)
    (tmp_path / "data.csv").write_text(changes.pop("data", GOOD["data"]))
    (tmp_path / "schema.yaml").write_text(changes.pop("schema", GOOD["schema"]))
    before = files(tmp_path)
    data = changes.pop("data_file", "data.csv")
    options = {"schema": changes.pop("schema_file", "schema.yaml"), "k": 2, **changes}
    refused = run(*protect_arguments(data, **options, json=as_json or None))
    assert refused.code == code, refused.words
    assert files(tmp_path) == before
    message = refused.words
    if as_json and code != 2:
        error = json.loads(refused.err)
        assert error["exit_code"] == code
        assert error["problem"]
        assert error["advice"]
        message = f"{error['problem']} {error.get('detail', '')} {error['advice']}"
    for words in says:
        assert words in message
    for secret in ("secret7", "7777", "8888"):
        assert secret not in refused.words
    assert "Traceback" not in refused.words


def test_a_ledger_that_is_spent_is_exit_9(
    run: Run, tmp_path: Path, files: Files, protect_arguments: Arguments
) -> None:
    (tmp_path / "data.csv").write_text(GOOD["data"])
    (tmp_path / "schema.yaml").write_text(GOOD["schema"])
    Ledger.add_population(tmp_path / "ledger.db", "people", "1.5")
    charged = {"ledger": "ledger.db", "population": "people", "method": "laplace", "k": None}
    assert run(*protect_arguments("data.csv", **charged)).code == 0
    names = sorted(files(tmp_path))
    refused = run(*protect_arguments("data.csv", output="two.csv", **charged))
    assert refused.code == 9
    assert sorted(files(tmp_path)) == names
    other = run(*protect_arguments("data.csv", output="two.csv", **{**charged, "population": "peple"}))
    assert other.code in (5, 8)
    assert "people" in other.words
    seeded = run(*protect_arguments("data.csv", output="two.csv", seed=1, **charged))
    assert seeded.code == 5
    assert "not charged" in seeded.words
    assert sorted(files(tmp_path)) == names
    assert run(*protect_arguments("data.csv", output="two.csv", epsilon="0.5", **charged)).code == 0


def test_an_unexpected_fault_shows_no_value(
    run: Run, folder: Path, protect_arguments: Arguments, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bug's own text may quote data: only its kind is printed."""

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("the value 48151.6234 is odd")

    monkeypatch.setattr("coterie.table.reading.read_table", broken)
    monkeypatch.delenv("COTERIE_DEBUG", raising=False)
    stopped = run(*protect_arguments())
    assert stopped.code == 1
    assert "RuntimeError" in stopped.words
    assert "48151" not in stopped.words


def test_a_certificate_that_is_none_is_exit_7(run: Run, folder: Path) -> None:
    for name in ("schema.yaml", "missing.json"):
        for command in (["verify", "people.csv", name], ["show", name]):
            refused = run("certificate", *command)
            assert refused.code == 7
            assert "Traceback" not in refused.words
