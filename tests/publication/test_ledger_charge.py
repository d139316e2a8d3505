"""The life of a release: held, charged, published; or given back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ledger_staged_file import StagedFile

from coterie.errors import BudgetExceeded, LedgerError, ParameterError
from coterie.promise.loss import Loss
from coterie.publication.ledger import Ledger, Purpose, ReleaseState, without_credentials
from coterie.schema.exact import as_text

Make = Callable[..., Purpose]


def only_state(path: Path) -> ReleaseState:
    (entry,) = Ledger.inspect(path).entries.values()
    return entry.state


def hidden_files(directory: Path) -> list[str]:
    return [item.name for item in directory.iterdir() if item.name.startswith(".")]


def test_a_release_is_held_then_charged_then_published(path: Path, tmp_path: Path, purpose: Make) -> None:
    certificate, data = tmp_path / "out.json", tmp_path / "out.csv"
    with Ledger.open(path) as ledger, ledger.charge(purpose("2.5")) as charge:
        assert only_state(path) is ReleaseState.RESERVED
        assert ledger.balance("patients").held == Fraction(5, 2)
        assert ledger.balance("patients").remaining == Fraction(15, 2)
        staged = [StagedFile.write(certificate, b"{}"), StagedFile.write(data, b"a\n1\n")]
        assert not data.exists()
        charge.publish(staged)
    balance = Ledger.inspect(path).balance("patients")
    assert (balance.spent, balance.held, balance.remaining) == (Fraction(5, 2), 0, Fraction(15, 2))
    assert only_state(path) is ReleaseState.RELEASED
    assert data.read_bytes() == b"a\n1\n"
    assert certificate.read_bytes() == b"{}"
    assert hidden_files(tmp_path) == []


def test_the_data_become_visible_only_after_charge_and_certificate(
    path: Path, tmp_path: Path, purpose: Make
) -> None:
    seen: list[tuple[ReleaseState, bool]] = []

    class Watching(StagedFile):
        def publish(self) -> None:
            seen.append((only_state(path), (tmp_path / "out.json").exists()))
            super().publish()

    with Ledger.open(path) as ledger, ledger.charge(purpose()) as charge:
        charge.publish(
            [StagedFile.write(tmp_path / "out.json", b"{}"), Watching.write(tmp_path / "out.csv", b"a")]
        )
    assert seen == [(ReleaseState.READY, True)]


def _interrupted(ledger: Ledger, purpose: Purpose, target: Path, fault: type[BaseException]) -> None:
    with ledger.charge(purpose) as charge:
        temporary = StagedFile.temporary_for(target)
        charge.staging(temporary)
        StagedFile.write(target, b"half", temporary)
        raise fault


@pytest.mark.parametrize("fault", [RuntimeError, KeyboardInterrupt, SystemExit])
def test_a_fault_before_ready_gives_the_epsilon_back(
    path: Path, tmp_path: Path, purpose: Make, fault: type[BaseException]
) -> None:
    target = tmp_path / "out.csv"
    with Ledger.open(path) as ledger:
        with pytest.raises(fault):
            _interrupted(ledger, purpose(), target, fault)
        assert ledger.balance("patients").remaining == 10
    assert only_state(path) is ReleaseState.ABANDONED
    assert hidden_files(tmp_path) == []
    assert not target.exists()


def test_a_block_that_publishes_nothing_spends_nothing(path: Path, purpose: Make) -> None:
    with Ledger.open(path) as ledger, ledger.charge(purpose()):
        pass
    assert only_state(path) is ReleaseState.ABANDONED


def test_a_fault_after_ready_stays_charged_and_is_finished_later(
    path: Path, tmp_path: Path, purpose: Make
) -> None:
    class Stuck(StagedFile):
        def publish(self) -> None:
            raise PermissionError(13, "Permission denied")

    with Ledger.open(path) as ledger:
        with pytest.raises(LedgerError, match="is charged") as told, ledger.charge(purpose()) as charge:
            charge.publish([Stuck.write(tmp_path / "out.csv", b"a")])
        assert "ledger check" in told.value.advice
        assert ledger.balance("patients").spent == 1
    with Ledger.open(path) as ledger:
        assert [recovered.entry.state for recovered in ledger.recovered] == [ReleaseState.RELEASED]
        assert ledger.finished(purpose()) is not None
        assert ledger.finished(replace(purpose(), status="not known yet")) is not None
        assert (
            ledger.finished(replace(purpose(), loss=Loss.pure(Fraction(2)))) is not None
        )  # a forecast that was off
        assert ledger.finished(replace(purpose(), method="dp-synthetic")) is None
        assert ledger.finished(replace(purpose(), fingerprint="another input")) is None
        assert ledger.balance("patients").spent == 1
    assert (tmp_path / "out.csv").read_bytes() == b"a"
    with Ledger.open(path) as ledger:
        assert ledger.recovered == ()
        assert ledger.finished(purpose()) is None


def test_a_failed_ready_discards_the_staged_files(path: Path, tmp_path: Path, purpose: Make) -> None:
    first, second = (StagedFile.write(tmp_path / name, b"a") for name in ("one", "two"))
    second.temporary.unlink()
    with Ledger.open(path) as ledger:
        with pytest.raises(FileNotFoundError), ledger.charge(purpose()) as charge:
            charge.publish([first, second])
        assert ledger.balance("patients").remaining == 10
    assert hidden_files(tmp_path) == []


def test_nothing_staged_is_no_release(path: Path, purpose: Make) -> None:
    with (
        Ledger.open(path) as ledger,
        pytest.raises(ParameterError, match="without a file"),
        ledger.charge(purpose()) as charge,
    ):
        charge.publish([])
    assert only_state(path) is ReleaseState.ABANDONED


def test_the_lifetime_is_reached_but_never_passed(path: Path, tmp_path: Path, purpose: Make) -> None:
    with Ledger.open(path) as ledger:
        with ledger.charge(purpose("9.9")) as charge:
            charge.publish([StagedFile.write(tmp_path / "one", b"1")])
        with pytest.raises(BudgetExceeded) as told, ledger.charge(purpose("0.1000000000000000000001")):
            pytest.fail("the block of a refused charge must not run")
        assert "has epsilon 0.1 left of 10" in told.value.problem
        assert "asks for 0.1000000000000000000001" in told.value.problem
        with ledger.charge(purpose("0.1")) as charge:
            charge.publish([StagedFile.write(tmp_path / "two", b"2")])
        assert ledger.balance("patients").remaining == 0
        with pytest.raises(BudgetExceeded, match="Do not release"), ledger.charge(purpose("1/1000000")):
            pytest.fail("the block of a refused charge must not run")
    assert len(Ledger.inspect(path).entries) == 2


def test_what_is_held_counts_against_the_lifetime(path: Path, purpose: Make) -> None:
    with Ledger.open(path) as one, Ledger.open(path) as other, one.charge(purpose("6")):
        assert other.recovered == ()  # a living reservation is not touched
        with (
            pytest.raises(BudgetExceeded, match="6 is held by releases under way"),
            other.charge(purpose("5")),
        ):
            pytest.fail("the block of a refused charge must not run")


def test_populations_do_not_share_a_lifetime(path: Path, tmp_path: Path, purpose: Make) -> None:
    Ledger.add_population(path, "staff", "1/3")
    with Ledger.open(path) as ledger, ledger.charge(purpose("1/3", population="staff")) as charge:
        charge.publish([StagedFile.write(tmp_path / "one", b"1")])
    book = Ledger.inspect(path)
    assert book.balance("staff").remaining == 0
    assert book.balance("patients").remaining == 10


@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(-1)])
def test_an_epsilon_that_is_not_positive_is_refused(path: Path, purpose: Make, epsilon: Fraction) -> None:
    with (
        Ledger.open(path) as ledger,
        pytest.raises(ParameterError, match="greater than 0"),
        ledger.charge(purpose(epsilon)),
    ):
        pytest.fail("the block of a refused charge must not run")
    assert Ledger.inspect(path).entries == {}


def test_an_owner_whose_reservation_was_given_back_cannot_publish(
    path: Path, tmp_path: Path, purpose: Make
) -> None:
    """Somebody removed the lock file, so the owner was taken for dead: it must lose, not overspend."""
    with Ledger.open(path) as ledger:
        with ledger.charge(purpose()) as charge:
            staged = StagedFile.write(tmp_path / "out.csv", b"a")
            next(item for item in tmp_path.iterdir() if item.suffix == ".lock").unlink()
            Ledger.open(path).close()
            with pytest.raises(LedgerError, match="'abandoned' in the ledger"):
                charge.publish([staged])
        assert ledger.balance("patients").spent == 0
    assert not (tmp_path / "out.csv").exists()
    assert hidden_files(tmp_path) == []


_epsilons = st.fractions(min_value=Fraction(1, 10**9), max_value=Fraction(9), max_denominator=10**12)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(epsilons=st.lists(_epsilons, min_size=1, max_size=5))
def test_sums_are_exact_and_the_last_crumb_can_be_spent(
    tmp_path_factory: pytest.TempPathFactory, epsilons: list[Fraction]
) -> None:
    directory = tmp_path_factory.mktemp("exact")
    path, lifetime = directory / "ledger.sqlite", sum(epsilons, Fraction(0))
    Ledger.add_population(path, "p", as_text(lifetime))
    with Ledger.open(path) as ledger:
        for number, epsilon in enumerate(epsilons):
            with ledger.charge(Purpose("p", Loss.pure(epsilon), "laplace", "proved", "x")) as charge:
                charge.publish([StagedFile.write(directory / f"{number}", b"x")])
        assert ledger.balance("p").spent == lifetime
        assert ledger.balance("p").remaining == 0
        with (
            pytest.raises(BudgetExceeded),
            ledger.charge(Purpose("p", Loss.pure(Fraction(1, 10**30)), "m", "s", "x")),
        ):
            pytest.fail("the block of a refused charge must not run")


@pytest.mark.parametrize(
    ("address", "kept"),
    [
        ("postgresql://ann:p@ss:w@host/db?table=t", "postgresql://ann@host/db?table=t"),
        (
            "postgresql://host/db?user=a&password=x&sslmode=off",
            "postgresql://host/db?user=a&password=***&sslmode=off",
        ),
        ("host=h password=x dbname=d", "host=h password=*** dbname=d"),
        ("/data/a@b/out.csv", "/data/a@b/out.csv"),
        ("sqlite:///data/x.db", "sqlite:///data/x.db"),
    ],
)
def test_no_password_enters_the_ledger(path: Path, purpose: Make, address: str, kept: str) -> None:
    assert without_credentials(address) == kept
    with Ledger.open(path) as ledger, ledger.charge(purpose(target=address)):
        pass
    (entry,) = Ledger.inspect(path).entries.values()
    assert entry.purpose.target == kept
    assert b"p@ss" not in path.read_bytes()
