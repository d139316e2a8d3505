"""coterie ledger init, show, check."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from ledger_staged_file import StagedFile
from typer.testing import CliRunner

from coterie.cli.ledger import MEANING, app
from coterie.errors import BudgetExceeded, LedgerError, ParameterError
from coterie.promise.loss import Loss, LossModel, NeighbourRelation
from coterie.publication.ledger import Ledger, Purpose, ReleaseState

Make = Callable[..., Purpose]


def run(*arguments: str | Path) -> str:
    done = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def run_json(*arguments: str | Path) -> dict[str, Any]:
    content = json.loads(run(*arguments, "--json"))
    assert isinstance(content, dict)
    return content


def release(path: Path, purpose: Purpose) -> None:
    with Ledger.open(path) as ledger, ledger.charge(purpose) as charge:
        charge.publish([StagedFile.write(path.parent / f"{charge.release}.csv", b"a")])


def test_init_makes_a_ledger_and_adds_populations(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    assert "may spend epsilon 10" in run("init", path, "--population", "patients", "--lifetime", "10")
    assert run_json("init", path, "--population", "staff", "--lifetime", "1/3") == {
        "ledger": str(path),
        "population": "staff",
        "relation": "replace-one",
        "unit": "row",
        "rows_per_unit": 1,
        "delta": None,
        "lifetime": "1/3",
        "spent": "0",
        "held": "0",
        "remaining": "1/3",
        "individual": {"lifetime": "1/3", "spent": "0", "held": "0", "remaining": "1/3"},
        "refuse_unproved": False,
    }
    with pytest.raises(ParameterError):
        run("init", path, "--population", "x", "--lifetime", "0")


def test_show_tells_every_release_and_what_remains(path: Path, purpose: Make) -> None:
    release(path, purpose("2.5", target="[bold]out.csv"))
    release(path, purpose("1/3"))
    with Ledger.open(path) as ledger, ledger.charge(purpose("4")):
        content = run_json("show", path)
    (account,) = content["populations"]
    assert (account["spent"], account["held"], account["remaining"]) == ("17/6", "4", "19/6")
    assert [(row["loss"]["epsilon"], row["state"], row["charged"]) for row in account["releases"]] == [
        ("2.5", "released", True),
        ("1/3", "released", True),
        ("4", "reserved", False),
    ]
    assert account["releases"][0]["method"] == "laplace"
    assert account["releases"][0]["status"] == "proved"
    assert content["seal"] in Ledger.inspect(path).seals

    shown = run("show", path, "--population", "patients")
    assert "7.167" in shown  # the reservation above was given back
    with pytest.raises(LedgerError, match="Did you mean 'patients'"):
        run("show", path, "--population", "patient")


def test_show_fits_on_a_terminal_and_tells_inside_from_outside(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    options = ("--delta", "1e-6", "--relation", "replace-one", "--unit", "person", "--refuse-unproved")
    assert "at delta 0.000001" in run("init", path, "--population", "people", "--lifetime", "10", *options)
    assert "outside the account" in run("policy", path, "--population", "people", "--accept-unproved")
    stated = (
        (
            Loss(LossModel.DP, NeighbourRelation.ADD_REMOVE, "proved", Fraction(1, 2)),
            "statistics: wages",
            "proved",
        ),
        (
            Loss(LossModel.DP, NeighbourRelation.REPLACE_ONE, "proved", rho=Fraction(1, 10)),
            "statistics: hours",
            "proved",
        ),
        (Loss.pure(Fraction(1, 4), "conditional"), "dp-synthetic", "conditional"),
        (Loss(LossModel.IDP, NeighbourRelation.REPLACE_ONE, "bounded", Fraction(2)), "idp-ls", "refuted"),
        (
            Loss(LossModel.NONE, NeighbourRelation.REPLACE_ONE, "heuristic", Fraction(1)),
            "idp-cbls",
            "heuristic",
        ),
    )
    for number, (loss, method, status) in enumerate(stated):
        target = str(tmp_path / f"released-{number}.csv")
        release(path, Purpose("people", loss, method, status, target))
    shown = run("show", path)
    assert max(map(len, shown.splitlines())) <= 80
    inside, outside = shown.split("Outside the account")
    proved, apart = inside.split("Rows without a proof")
    assert ("idp-ls" in proved, "idp-ls" in apart) == (False, True)
    assert "people · replace-one, unit person" in inside
    for words in ("ε 0.5 → 1", "ρ 0.1", "ε 2 iDP", "conditional", "released-3.csv"):
        assert words in inside
    assert "idp-cbls" not in inside
    assert "idp-cbls" in outside
    (account,) = run_json("show", path)["populations"]
    assert (account["delta"], account["unit"], account["refuse_unproved"]) == ("0.000001", "person", False)
    assert [row["inside"] for row in account["releases"]] == [True, True, True, False, False]
    assert account["releases"][0]["counts"]["differential_privacy"]["epsilon"] == "1"
    assert account["releases"][3]["counts"]["differential_privacy"] is None
    assert account["releases"][3]["counts"]["individual"]["epsilon"] == "2"
    assert float(Fraction(account["individual"]["spent"])) == pytest.approx(
        2 + float(Fraction(account["spent"]))
    )


def test_show_changes_nothing_and_check_settles(path: Path, tmp_path: Path, purpose: Make) -> None:
    with Ledger.open(path) as ledger, ledger.charge(purpose()) as charge:
        charge.ready([StagedFile.write(tmp_path / "out.csv", b"a")])
    before = path.read_bytes()
    assert run_json("show", path)["populations"][0]["releases"][0]["state"] == "ready"
    assert path.read_bytes() == before
    assert not (tmp_path / "out.csv").exists()

    (message,) = run_json("check", path)["recovered"]
    assert "charged once" in message
    assert (tmp_path / "out.csv").read_bytes() == b"a"
    assert "The ledger is sound" in run("check", path)


def test_check_compares_with_a_seal_noted_earlier(path: Path, purpose: Make) -> None:
    release(path, purpose())
    noted = run_json("show", path)["seal"]
    release(path, purpose())
    assert run_json("check", path, "--seal", noted)["sound"] is True
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("DROP TRIGGER no_delete")
        connection.execute("DELETE FROM events WHERE number > 3")
    with pytest.raises(LedgerError, match="seal does not occur"):
        run("check", path, "--seal", noted)


def test_check_refuses_a_changed_ledger(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("DROP TRIGGER no_update")
        connection.execute("UPDATE events SET content = replace(content, '\"10\"', '\"99\"')")
    with pytest.raises(LedgerError, match="event 2"):
        run("check", path)


def test_every_state_has_a_meaning() -> None:
    assert set(MEANING) == set(ReleaseState)


def test_exit_codes() -> None:
    assert (LedgerError.exit_code, BudgetExceeded.exit_code) == (8, 9)


def test_charges_from_before_units_are_marked(tmp_path: Path) -> None:
    """They count as they did, whatever their promise; nobody should take the total for a proof."""
    path = tmp_path / "ledger.sqlite"
    shutil.copy(Path(__file__).parent / "data" / "before_units.sqlite", path)
    shown = run("show", path)
    assert "dp-ir" in shown.split("Inside the account")[1]
    assert "ε 2.5 †" in shown
    assert "†: recorded before units were kept" in shown
    assert all(len(line) <= 80 for line in shown.splitlines() if "†" in line)
    populations = {account["population"]: account for account in run_json("show", path)["populations"]}
    assert populations["patients"]["individual"]["lifetime"] == "10"


def test_a_large_lifetime_delta_is_told(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    said = " ".join(run("init", path, "--population", "a", "--lifetime", "1", "--delta", "0.05").split())
    assert "permits publishing a random person's record in full where there are 20 people" in said
    assert "Warning" not in run("init", path, "--population", "b", "--lifetime", "1", "--delta", "1e-6")
