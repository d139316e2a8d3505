"""Unlike quantities are not added: what an account counts, converts, refuses, or notes outside."""

from __future__ import annotations

import shutil
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from ledger_staged_file import StagedFile

from coterie.errors import BudgetExceeded, LedgerError, MissingExtra, ParameterError
from coterie.promise.loss import Loss, LossModel, NeighbourRelation, epsilon_at
from coterie.publication import ledger as ledgers
from coterie.publication.ledger import BEFORE_UNITS, Balance, Ledger, Purpose, ReleaseState
from coterie.schema.exact import as_text

DELTA = Fraction(1, 10**6)
REPLACE, ADD, EXCHANGE = (
    NeighbourRelation.REPLACE_ONE,
    NeighbourRelation.ADD_REMOVE,
    NeighbourRelation.EXCHANGE,
)


def dp(
    epsilon: str | None = None,
    delta: str | None = None,
    rho: str | None = None,
    relation: NeighbourRelation = REPLACE,
) -> Loss:
    exact = [None if text is None else Fraction(text) for text in (epsilon, delta, rho)]
    return Loss(LossModel.DP, relation, "proved", *exact)


def idp(epsilon: str, status: str = "bounded") -> Loss:
    return Loss(LossModel.IDP, REPLACE, status, Fraction(epsilon), scope="the list of noisy centroids")


def unproved(epsilon: str, status: str = "heuristic") -> Loss:
    return Loss(LossModel.NONE, REPLACE, status, Fraction(epsilon))


def release(path: Path, loss: Loss, status: str | None = None, population: str = "people") -> Balance:
    with Ledger.open(path) as ledger:
        target = path.parent / f"{len(ledger.book().entries)}.csv"
        purpose = Purpose(population, loss, "m", status or loss.status, str(target))
        with ledger.charge(purpose) as charge:
            charge.publish([StagedFile.write(target, b"a")])
        return ledger.balance(population)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


@pytest.mark.parametrize(
    ("account", "loss", "counts"),
    [
        (REPLACE, dp("1"), "1"),
        (REPLACE, dp("1", relation=ADD), "2"),
        (EXCHANGE, dp("1", relation=ADD), "2"),
        (REPLACE, dp("1", relation=EXCHANGE), "1"),
        (ADD, dp("1", relation=EXCHANGE), "1"),
        (ADD, dp("1", relation=ADD), "1"),
    ],
)
def test_a_release_counts_for_the_neighbours_of_the_account(
    path: Path, account: NeighbourRelation, loss: Loss, counts: str
) -> None:
    Ledger.add_population(path, "people", "10", relation=account)
    assert release(path, loss).spent == Fraction(counts)


@pytest.mark.parametrize("account", [ADD, EXCHANGE])
def test_replace_one_is_refused_where_membership_is_promised(path: Path, account: NeighbourRelation) -> None:
    Ledger.add_population(path, "people", "10", relation=account)
    with pytest.raises(LedgerError, match="promised under replace-one, and the account counts"):
        release(path, dp("1"))
    assert Ledger.inspect(path).entries == {}


def test_a_release_for_rows_counts_once_for_each_row_of_a_person(path: Path) -> None:
    Ledger.add_population(path, "people", "10", delta=DELTA, unit="person", rows_per_unit=3)
    assert release(path, dp("1/2")).spent == Fraction(3, 2)
    (tally,) = [entry.purpose.loss for entry in Ledger.inspect(path).entries.values()]
    assert (tally.unit, tally.rows_per_unit) == ("row", 1)  # the charge keeps what was stated
    with pytest.raises(LedgerError, match="nothing about several rows"):
        release(path, idp("1"))
    with pytest.raises(
        BudgetExceeded, match=r"asks for 3, which counts 9 here \(replace-one, unit person of at most 3"
    ):
        release(path, dp("3"))


def test_without_a_lifetime_delta_only_pure_epsilon_is_taken(path: Path) -> None:
    Ledger.add_population(path, "people", "10")
    for loss in (dp("1", "1e-9"), dp(rho="0.1")):
        with pytest.raises(LedgerError, match="has no lifetime delta") as told:
            release(path, loss)
        assert "pure epsilon only" in told.value.advice
    assert release(path, dp("1")).spent == 1


def test_rho_and_delta_are_composed_at_the_lifetime_delta(path: Path) -> None:
    Ledger.add_population(path, "people", "5", delta=DELTA)
    assert release(path, dp("1")).spent == 1
    assert release(path, dp(rho="1/50")).spent == 1 + epsilon_at(Fraction(1, 50), DELTA)
    # δ of the approximate release is gone for the conversion, and ρ is added before it is converted.
    assert release(path, dp(rho="1/50")).spent == 1 + epsilon_at(Fraction(1, 25), DELTA)
    spent = release(path, dp("1/4", "1e-7")).spent
    assert spent == Fraction(5, 4) + epsilon_at(Fraction(1, 25), DELTA - Fraction(1, 10**7))
    # Under add-remove ρ counts four times.
    spent = release(path, dp(rho="1/100", relation=ADD)).spent
    assert spent == Fraction(5, 4) + epsilon_at(
        Fraction(1, 25) + Fraction(4, 100), DELTA - Fraction(1, 10**7)
    )
    with pytest.raises(BudgetExceeded, match="asks for ρ 1"):
        release(path, dp(rho="1"))


def test_many_small_releases_cost_less_than_their_sum_where_there_is_a_delta(path: Path) -> None:
    Ledger.add_population(path, "people", "3", delta=DELTA)
    Ledger.add_population(path, "exact", "3")
    for _ in range(60):
        with_delta = release(path, dp("1/50"))
        exact = release(path, dp("1/50"), population="exact")
    assert exact.spent == Fraction(60, 50)
    assert with_delta.spent == epsilon_at(60 * Fraction(1, 50) ** 2 / 2, DELTA) < Fraction(60, 50)


def test_delta_is_used_up_too(path: Path) -> None:
    Ledger.add_population(path, "people", "100", delta=DELTA)
    release(path, dp("1", "6e-7"))
    with pytest.raises(BudgetExceeded, match="no delta left of 1e-6"):
        release(path, dp("1", "5e-7"))
    release(path, dp("1", "4e-7"))
    with pytest.raises(BudgetExceeded, match="no delta left"):
        release(path, dp(rho="0.001"))
    assert release(path, dp("1")).spent == 3


@pytest.mark.parametrize("delta", ["1", "2", "0", "-1", "nan"])
def test_a_lifetime_delta_that_promises_nothing_is_refused(path: Path, delta: str) -> None:
    with pytest.raises(ParameterError, match="delta"):
        Ledger.add_population(path, "people", "1", delta=delta)
    assert not path.exists()


@pytest.mark.parametrize(
    "loss", [dp("1", "1"), dp(), dp(rho="1", epsilon="1"), dp(delta="1e-6"), dp(rho="1", delta="1e-6")]
)
def test_a_charge_that_is_not_whole_is_refused(path: Path, loss: Loss) -> None:
    Ledger.add_population(path, "people", "9", delta=DELTA)
    with pytest.raises(ParameterError):
        release(path, loss)
    assert Ledger.inspect(path).entries == {}


def test_a_delta_without_the_library_names_the_extra(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "dp_accounting", None)
    with pytest.raises(MissingExtra, match=r"coterie\[statistics\]"):
        Ledger.add_population(path, "people", "1", delta=DELTA)
    assert Ledger.add_population(path, "people", "1").remaining == 1


def test_individual_privacy_has_a_total_of_its_own(path: Path) -> None:
    """`idp-ls` at ε states 2ε for the list, and that is what counts; never in the other total."""
    Ledger.add_population(path, "people", "2", individual_lifetime="5")
    balance = release(path, idp("2"), "refuted")
    assert (balance.spent, balance.individual_spent) == (0, 2)
    balance = release(path, dp("1"))
    assert (balance.spent, balance.individual_spent) == (1, 3)
    with pytest.raises(BudgetExceeded, match="individual epsilon 2 left of 5"):
        release(path, idp("5/2"))
    balance = release(path, idp("2"))
    assert (balance.remaining, balance.individual_remaining) == (1, 0)
    with pytest.raises(BudgetExceeded, match="individual epsilon 0 left"):
        release(path, dp("1"))


def test_the_lifetime_limits_individual_privacy_unless_another_limit_is_given(path: Path) -> None:
    """A ledger that adds and never refuses protects nobody."""
    Ledger.add_population(path, "people", "2", refuse_unproved=True)
    release(path, idp("2"), "conditional")
    with pytest.raises(BudgetExceeded, match="individual epsilon 0 left of 2"):
        release(path, idp("1"), "conditional")


def test_a_release_without_a_proof_is_noted_outside(path: Path) -> None:
    Ledger.add_population(path, "people", "1")
    for status in ("heuristic", "refuted", "none"):
        balance = release(path, unproved("7", status))
        assert (balance.spent, balance.held, balance.individual_spent) == (0, 0, 0)
    entries = Ledger.inspect(path).entries.values()
    assert [entry.purpose.loss.epsilon for entry in entries] == [7, 7, 7]
    assert release(path, dp("1")).remaining == 0


def test_a_conditional_release_counts_at_its_value(path: Path) -> None:
    Ledger.add_population(path, "people", "1")
    assert release(path, replace(dp("1/2"), status="conditional")).spent == Fraction(1, 2)


def test_a_ledger_can_refuse_what_has_no_proof(path: Path) -> None:
    Ledger.add_population(path, "people", "10", refuse_unproved=True)
    for loss, status in ((unproved("1"), "heuristic"), (idp("2"), "refuted")):
        with pytest.raises(LedgerError, match="takes no release without a proof"):
            release(path, loss, status)
    assert release(path, dp("1")).spent == 1
    assert not Ledger.set_policy(path, "people", refuse_unproved=False).refuses_unproved
    release(path, unproved("1"))
    events = Ledger.inspect(path).events
    assert Ledger.set_policy(path, "people", refuse_unproved=True).refuses_unproved
    assert Ledger.inspect(path).events == events + 1  # in the chain
    Ledger.set_policy(path, "people", refuse_unproved=True)
    assert Ledger.inspect(path).events == events + 1
    with pytest.raises(LedgerError, match="no population 'nobody'"):
        Ledger.set_policy(path, "nobody", refuse_unproved=True)


def test_one_population_may_have_accounts_for_several_units(path: Path) -> None:
    Ledger.add_population(path, "people", "4")
    Ledger.add_population(path, "people", "10", unit="household", rows_per_unit=4)
    with pytest.raises(LedgerError, match="already has population 'people'"):
        Ledger.add_population(path, "people", "20")
    release(path, dp("2"))
    assert [balance.spent for balance in Ledger.inspect(path).balances("people")] == [2, 8]
    with pytest.raises(BudgetExceeded, match="counts 4 here"):
        release(path, dp("1"))  # the first account could pay, the second cannot
    with pytest.raises(LedgerError, match="has releases already"):
        Ledger.add_population(path, "people", "20", unit="town", rows_per_unit=9)


@pytest.mark.parametrize(
    "terms",
    [
        {"unit": "two words"},
        {"rows_per_unit": 2},
        {"unit": "person", "rows_per_unit": 0},
        {"relation": "swap"},
    ],
)
def test_impossible_terms_are_refused(path: Path, terms: dict[str, object]) -> None:
    with pytest.raises(ParameterError):
        Ledger.add_population(path, "people", "1", **terms)  # type: ignore[arg-type]
    assert not path.exists()


def test_a_charge_comes_back_from_the_file_as_it_was(path: Path) -> None:
    Ledger.add_population(path, "people", "9", delta=DELTA)
    losses = [
        dp("1/3"),
        dp("1/3", "1e-9", relation=ADD),
        dp(rho="1/77", relation=EXCHANGE),
        idp("1/7"),
        unproved("5"),
        Loss(LossModel.NONE, REPLACE, "none"),
        Loss(
            LossModel.DP,
            EXCHANGE,
            "conditional",
            Fraction(1),
            None,
            None,
            "household",
            4,
            "truncate",
            "the rows",
        ),
    ]
    for loss in losses:
        release(path, loss)
    assert [entry.purpose.loss for entry in Ledger.inspect(path).entries.values()] == losses


def old_ledger(folder: Path) -> Path:
    """Made by the commands of commit 58e40cd: two populations, and releases in every state."""
    path = folder / "ledger.sqlite"
    shutil.copy(Path(__file__).parent / "data" / "before_units.sqlite", path)
    return path


def test_a_ledger_from_before_units_opens_as_it_was(tmp_path: Path) -> None:
    path = old_ledger(tmp_path)
    before = path.read_bytes()
    book = Ledger.inspect(path)
    assert path.read_bytes() == before
    assert book.seal == "c83aeb6bd70282b1f271c38ecfab3d5919f8209643dae42432eed7bc0e8b384f"
    patients, staff = book.balance("patients"), book.balance("staff")
    assert (patients.lifetime, patients.spent, patients.held) == (10, 5, 0)
    assert (staff.lifetime, staff.spent, staff.held) == (Fraction(1, 3), Fraction(2, 9), Fraction(1, 9))
    assert {entry.state for entry in book.entries.values()} == set(ReleaseState)
    for entry in book.entries.values():
        loss = entry.purpose.loss
        assert (loss.model, loss.relation, loss.unit, loss.status) == (
            LossModel.DP,
            REPLACE,
            "row",
            BEFORE_UNITS,
        )
    assert [
        (e.purpose.method, e.purpose.status, as_text(e.purpose.loss.epsilon or Fraction(0)))
        for e in book.releases("patients")
    ] == [
        ("laplace", "proved", "1"),
        ("dp-ir", "refuted", "2.5"),
        ("idp-ls", "bounded", "1"),
        ("dp-sorted", "proved", "3"),
        ("laplace", "proved", "0.5"),
    ]


def test_a_ledger_from_before_units_is_charged_further(tmp_path: Path) -> None:
    path = old_ledger(tmp_path)
    with Ledger.open(path) as opened:
        states = {recovered.entry.state for recovered in opened.recovered}
    assert states == {ReleaseState.ABANDONED, ReleaseState.READY}  # the folder of the charged one is away
    assert Ledger.inspect(path).balance("staff").held == 0
    assert release(path, dp("1", relation=ADD), population="patients").spent == 7
    assert release(path, idp("2"), population="patients").spent == 7
    assert release(path, unproved("2"), population="patients").spent == 7
    with pytest.raises(BudgetExceeded, match="has epsilon 3 left of 10"):
        release(path, dp("4"), population="patients")
    with pytest.raises(LedgerError, match="has no lifetime delta"):
        release(path, dp(rho="0.1"), population="patients")
    Ledger.set_policy(path, "staff", refuse_unproved=True)
    Ledger.add_population(path, "students", "1", delta=DELTA)
    book = Ledger.inspect(path)
    assert "c83aeb6bd70282b1f271c38ecfab3d5919f8209643dae42432eed7bc0e8b384f" in book.seals
    with ledgers.storage.closing(ledgers.storage.sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (
            2,
        )  # an older Coterie says so and stops
