"""dp-synthetic with a privacy unit: ε is promised to the unit, and the number of rows is private."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import coterie
from coterie.chain import private_bounds
from coterie.chain.noise.seeded import SeededSampler
from coterie.chain.synthesis import accountant
from coterie.chain.synthesis.accountant import Accountant, Reading
from coterie.engines.out_of_core import columns, units
from coterie.engines.whole_table import accountant_of, known_records
from coterie.errors import CoterieError, DataError, LedgerError, ParameterError, SchemaError
from coterie.methods import all_methods, get_method
from coterie.promise.loss import LossModel, NeighbourRelation
from coterie.promise.posterior import most_sure, odds_in_words
from coterie.promise.terms import Budget

METHOD = "dp-synthetic"


def document(at_most: int = 4, **unit: Any) -> dict[str, Any]:
    return {
        "unit": {"column": "household", "at_most": at_most, **unit},
        "attributes": {
            "household": {"role": "identifier"},
            "age": {"type": "integer", "role": "protect", "domain": {"lower": 0, "upper": 100}},
            "income": {"role": "protect", "domain": {"lower": 0, "upper": 1000}, "missing": "own category"},
            "sex": {"type": "categorical", "role": "protect", "categories": {"labels": ["f", "m"]}},
        },
    }


def households(count: int, largest: int = 6, seed: int = 1) -> pa.Table:
    draws = np.random.default_rng(seed)
    home = np.repeat(np.arange(count), draws.integers(1, largest + 1, count))
    income = np.round(draws.gamma(2, 100, len(home)).clip(0, 1000), 1)
    return pa.table(
        {
            "household": pa.array([f"h{number}" for number in home], pa.string()),
            "age": pa.array(draws.integers(0, 101, len(home)), pa.int64()),
            "income": pa.array([None if value > 600 else value for value in income], pa.float64()),
            "sex": pa.array(draws.choice(["f", "m"], len(home)).tolist(), pa.string()),
        }
    )


def protect(table: pa.Table | Path, schema: Any = None, **options: Any) -> coterie.Release:
    return coterie.protect(table, schema or document(), **{"method": METHOD, "epsilon": 1, **options})


def test_the_unit_is_promised_epsilon_and_its_column_is_dropped() -> None:
    release = protect(households(200), seed=None)
    promise, certificate = release.guarantee, release.certificate
    assert (promise.status, promise.value) == ("proved", "1")
    assert (promise.unit, promise.rows_per_unit, promise.relation, promise.policy) == (
        *("household", 4, "exchange", "truncate"),
    )
    assert "1-DP per household of at most 4 rows" in promise.label
    assert "household" in certificate.dropped
    assert release.table.column_names == ["age", "income", "sex"]
    assert "rows are synthetic" in promise.label  # in an order that is drawn: they belong to no household
    assert coterie.Certificate.from_json(certificate.to_json()) == certificate
    content = json.loads(certificate.to_json())["guarantee"]
    assert {name: content[name] for name in ("unit", "rows_per_unit", "relation", "policy")} == {
        "unit": "household",
        "rows_per_unit": 4,
        "relation": "exchange",
        "policy": "truncate",
    }


@pytest.mark.parametrize("delta", [None, "1e-6"])
def test_the_parts_on_the_certificate_make_the_whole(delta: str | None) -> None:
    certificate = protect(households(3000), delta=delta).certificate
    assert certificate.number_of_rows is not None
    assert certificate.dependence is not None
    which = "epsilon" if delta is None else "rho"
    parts = [*certificate.attributes, certificate.dependence, certificate.number_of_rows]
    whole = Fraction(certificate.epsilon or 0) if delta is None else Fraction(certificate.guarantee.rho or 0)
    assert sum(Fraction(getattr(part, which) or 0) for part in parts) == whole
    assert Fraction(getattr(certificate.number_of_rows, which)) == whole / 50
    assert certificate.release.rows == certificate.number_of_rows.found


def test_the_noisy_number_of_records_has_the_width_of_the_design() -> None:
    """Standard deviation 71c/ε, or 5c/√ρ. 2,000 draws: 8 % is above three standard errors (2.5 % for Laplace noise), and
    noise a fifth too small or too large is told."""
    schema = coterie.Schema.load(document(3))
    for delta, width in (
        (None, lambda budget: 71 * 3),
        (1e-6, lambda budget: 5 * 3 / float(budget.rho) ** 0.5),
    ):
        budget = Budget.of(1, schema, get_method(METHOD), delta)
        draws = np.array([known_records(10_000, budget, SeededSampler(seed)) for seed in range(2000)])
        assert np.std(draws) == pytest.approx(width(budget), rel=0.08)
        assert abs(np.mean(draws) - 10_000) < 4 * np.std(draws) / 2000**0.5


@pytest.mark.parametrize("delta", [None, "1e-6"])
def test_the_totals_of_all_histograms_tell_the_number_of_rows_better(delta: str | None) -> None:
    """Over 40 releases: without bias (three standard errors), and with less than half of the first count's noise."""
    table = households(400)
    sizes = np.unique(table.column("household").to_numpy(), return_counts=True)[1]
    truth = int(np.minimum(sizes, 4).sum())
    rows = np.array([protect(table, seed=seed, delta=delta, forget=True).records for seed in range(40)])
    budget = Budget.of(1, coterie.Schema.load(document()), get_method(METHOD), delta)
    first = np.std([known_records(truth, budget, SeededSampler(seed)) for seed in range(200)])
    assert np.std(rows) < first / 2
    assert abs(rows.mean() - truth) < 3 * np.std(rows) / 40**0.5


def test_everything_else_is_read_as_for_rows_at_a_part_of_the_budget() -> None:
    """The noise of c rows with ε is that of one row with ε/c; under ρ, with ρ/c²."""
    for delta in (None, 1e-6):
        budgets = [
            Budget.of(epsilon, coterie.Schema.load(document(c)), get_method(METHOD), delta)
            for epsilon, c in ((1, 4), (1, 1))
        ]
        wide, narrow = (accountant_of(budget, SeededSampler(1)) for budget in budgets)
        times = 4 if delta is None else 16
        alone = Accountant(narrow.whole / times, narrow.currency, SeededSampler(1))
        part = Fraction(1, 3)
        assert wide.deviation(part) == pytest.approx(alone.deviation(part))
        first, second = (one.noisy_histogram([5, 0, 9], part, "same stream").values for one in (wide, alone))
        assert first == pytest.approx(second)


@pytest.fixture
def blind(monkeypatch: pytest.MonkeyPatch) -> None:
    """All readings answer without looking at what they read: what is left of the data is what leaks."""

    def noisy(self: Accountant, exact: Any, l1: int, l2: int, part: Fraction, what: str) -> Reading:
        self._charge(part, what)
        numbers = np.arange(exact.size, dtype=np.float64).reshape(exact.shape) % 7 + 5
        return Reading(numbers if exact.size > 1 else np.array([60.0]), 3.0)

    def choice(self: Accountant, scores: Any, sensitivity: int, part: Fraction, what: str) -> int:
        self._charge(part, what)
        return 0

    monkeypatch.setattr(accountant.Accountant, "_noisy", noisy)
    monkeypatch.setattr(accountant.Accountant, "noisy_choice", choice)
    monkeypatch.setattr(private_bounds, "_chosen", lambda scores, epsilon, sampler, stream: len(scores) // 2)


@pytest.mark.parametrize("delta", [None, "1e-6"])
@pytest.mark.parametrize("rows", [None, 25])
@pytest.mark.usefixtures("blind")
def test_nothing_that_leaves_tells_the_number_of_rows(delta: str | None, rows: int | None) -> None:
    """Readings apart, the release of 300 households is that of two, of one row, and of none at all."""
    schema = document()
    schema["attributes"]["age"]["missing"] = "own category"
    if delta is None:
        schema["attributes"]["age"]["domain"]["source"] = "dp"
    seen, heard = [], []
    for table in (households(300), households(2), households(1, 1), households(300).slice(0, 0)):
        told: list[str] = []
        try:
            made = protect(
                *(table, schema),
                epsilon=5000,
                seed=1,
                delta=delta,
                rows=rows,
                progress=lambda *step, told=told: told.append(str(step)),
            )
        except CoterieError as refusal:
            seen.append(str(refusal))
            continue
        content = json.loads(made.certificate.to_json())
        seen.append(
            (made.table.to_pydict(), {**content, "issued": ""}, repr(made), made.measurements.to_pydict())
        )
        heard.append(told)
    assert len(seen) == 4
    assert all(repr(one) == repr(seen[0]) for one in seen)
    assert all(one == heard[0] for one in heard)
    assert not isinstance(seen[0], str)


@pytest.mark.parametrize("answer", [1.0, 40.0, 3e6])
@pytest.mark.parametrize("delta", [None, "1e-6"])
def test_no_answer_to_the_number_of_rows_is_a_refusal(
    monkeypatch: pytest.MonkeyPatch, answer: float, delta: str | None
) -> None:
    """A refusal would be an answer that is given, asked for again and never charged. What fits badly is said instead."""
    honest = Accountant._noisy

    def noisy(self: Accountant, exact: Any, l1: int, l2: int, part: Fraction, what: str) -> Reading:
        found = honest(self, exact, l1, l2, part, what)
        return Reading(np.array([answer]), found.deviation) if what.endswith("number of records") else found

    monkeypatch.setattr(accountant.Accountant, "_noisy", noisy)
    schema = document()
    if delta is None:
        schema["attributes"]["income"]["domain"]["source"] = "dp"
    release = protect(households(100), schema, delta=delta, rows=20, seed=1)
    assert release.table.num_rows == 20
    said = [note for note in release.certificate.notes if "not below one over the number of records" in note]
    found = release.certificate.number_of_rows
    assert found is not None
    assert len(said) == (delta is not None and found.found >= 10**6)


@pytest.mark.parametrize("delta", [None, "1e-6"])
def test_noise_beyond_any_table_is_refused_before_anything_is_read(
    monkeypatch: pytest.MonkeyPatch, delta: str | None
) -> None:
    """36 million rows came of 300 records at ε = 10⁻⁶, and a Python error at 10⁻³⁰⁰. A chosen number of rows is drawn."""
    table = households(100)
    for epsilon in ("1e-300", "1e-30", "1e-6"):
        assert protect(table, epsilon=epsilon, delta=delta, rows=7).table.num_rows == 7

    def read(*_: Any) -> None:
        raise AssertionError("something was read")

    monkeypatch.setattr(accountant.Accountant, "_noisy", read)
    for epsilon in ("1e-300", "1e-9"):
        with pytest.raises(ParameterError, match="how many rows there are") as refused:
            protect(table, epsilon=epsilon, delta=delta and "1e-9")
        assert "--rows" in refused.value.advice


def test_a_seed_repeats_the_choice_of_rows_too() -> None:
    table = households(50, largest=9)
    assert protect(table, seed=3).table.equals(protect(table, seed=3).table)
    assert not protect(table, seed=3).table.equals(protect(table, seed=4).table)


def test_rows_beyond_the_limit_do_not_count() -> None:
    table = households(400, largest=8)
    schema = document(2)
    found = protect(table, schema, seed=1, epsilon=10_000).certificate.number_of_rows
    sizes = np.unique(table.column("household").to_numpy(), return_counts=True)[1]
    assert found is not None
    assert found.found == pytest.approx(np.minimum(sizes, 2).sum(), abs=2)


def test_refusing_larger_units_makes_the_promise_conditional() -> None:
    schema = document(6, above="refuse")
    release = protect(households(100), schema)
    assert release.guarantee.status == "conditional"
    assert "no household has more than 6 rows" in release.guarantee.label
    assert release.loss.policy == "refuse"
    with pytest.raises(DataError, match="more rows than `at_most` allows"):
        protect(households(100), document(5, above="refuse"))


@pytest.mark.parametrize("method", sorted(set(all_methods()) - {METHOD}))
def test_every_other_method_names_dp_synthetic(method: str) -> None:
    with pytest.raises(ParameterError) as refused:
        protect(households(20), method=method, k=all_methods()[method].fixed_k or 5)
    assert "has no statement for units" in refused.value.problem
    assert "dp-synthetic" in refused.value.advice


def test_kept_columns_and_a_column_that_is_not_there_are_refused() -> None:
    schema = document()
    schema["attributes"]["sex"] = {"type": "categorical", "role": "keep"}
    with pytest.raises(ParameterError, match="would show the number of rows"):
        protect(households(20), schema)
    with pytest.raises(SchemaError, match="is not in the table"):
        protect(households(20).drop_columns(["household"]))


@pytest.mark.parametrize(("seed", "options"), [(1, {}), (2, {"delta": "1e-6"}), (3, {"rows": 40})])
def test_larger_tables_give_the_same_release(
    seed: int, options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of a household may lie in different batches, and households share buckets."""
    import pyarrow.parquet as pq

    people = households(300, largest=30, seed=seed)
    people = people.take(np.random.default_rng(seed).permutation(len(people)))
    pq.write_table(people, tmp_path / "people.parquet", row_group_size=777)
    monkeypatch.setattr(columns, "BATCH", 501)
    held = protect(people, seed=seed, **options)
    for bytes_per_record in (1, 10**6):  # one bucket, and many
        monkeypatch.setattr(units, "_SORTING", bytes_per_record)
        large = protect(tmp_path / "people.parquet", seed=seed, memory="6GB", **options)
        large.write(tmp_path / "out.parquet", force=True)
        assert pq.read_table(tmp_path / "out.parquet").to_pydict() == held.table.to_pydict()
        assert large.guarantee == held.guarantee
    with pytest.raises(DataError, match="more rows than `at_most`"):
        protect(tmp_path / "people.parquet", document(above="refuse"), memory="6GB")


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_no_refusal_tells_how_few_rows_there_are(rows: int, tmp_path: Path) -> None:
    """In memory or larger than it: the number of rows is private."""
    import pyarrow.parquet as pq

    few = households(3).slice(0, rows)
    pq.write_table(few, tmp_path / "few.parquet")
    held = protect(few, seed=1)
    assert protect(tmp_path / "few.parquet", seed=1, memory="6GB").to_frame().equals(held.table)


def test_what_a_killed_run_left_is_not_counted_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow.parquet as pq

    people = households(300, seed=4)
    pq.write_table(people, tmp_path / "people.parquet")
    out = tmp_path / "out.parquet"
    options: dict[str, Any] = {"method": METHOD, "epsilon": 1, "seed": 4, "memory": "6GB"}

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(units, "_SORTING", 10**8)  # many buckets
    with monkeypatch.context() as patched:
        patched.setattr(units, "surplus_rows", killed)
        with pytest.raises(KeyboardInterrupt):
            coterie.publish(tmp_path / "people.parquet", document(), out, **options)
    assert list(tmp_path.glob(".out.parquet.coterie-work/bucket-*"))
    coterie.publish(tmp_path / "people.parquet", document(), out, **options)
    assert pq.read_table(out).equals(protect(people, seed=4).table)


def test_the_words_are_about_the_unit() -> None:
    pure = odds_in_words(protect(households(50)).guarantee)
    assert pure.startswith(
        "Someone who was 50 % sure before of what one household contributed, or whether it took part, is at most 74 % sure"
    )
    with_delta = odds_in_words(protect(households(3000), delta="1e-5").guarantee)
    assert "at most 78 % sure" in with_delta  # ρ + 2√(ρ ln(1/δ)) = 1.21, not ε
    assert most_sure(1.0) < 0.74


def test_a_ledger_counts_the_unit(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.sqlite"
    coterie.Ledger.add_population(
        ledger, "homes", "5", relation="exchange", unit="household", rows_per_unit=4
    )
    coterie.Ledger.add_population(ledger, "rows", "5")
    coterie.Ledger.add_population(
        ledger, "families", "5", relation="exchange", unit="family", rows_per_unit=4
    )
    release = protect(households(50))
    assert release.loss.model is LossModel.DP
    assert (release.loss.relation, release.loss.unit, release.loss.rows_per_unit) == (
        *(NeighbourRelation.EXCHANGE, "household", 4),
    )
    for population in ("homes", "rows"):  # a row inside a household is promised the same
        release.write(tmp_path / f"{population}.csv", ledger=ledger, population=population)
    with coterie.Ledger.open(ledger) as book:
        assert [book.balance(name).spent for name in ("homes", "rows", "families")] == [1, 1, 0]
    with pytest.raises(LedgerError, match="promised for a household of at most 4 rows"):
        release.write(tmp_path / "families.csv", ledger=ledger, population="families")
    plain = document()
    del plain["unit"]
    with pytest.raises(LedgerError, match="promised under replace-one"):
        protect(households(50), plain).write(tmp_path / "x.csv", ledger=ledger, population="homes")
    assert "bytes that were certified" in repr(coterie.verify(tmp_path / "homes.csv"))


def test_warnings_know_that_noise_grows_with_the_unit() -> None:
    def warned(at_most: int) -> int:
        """Of eight releases: the number of people that they rest on is noisy."""
        releases = (
            protect(households(20), document(at_most), epsilon="0.5", rows=10, seed=seed) for seed in range(8)
        )
        return sum(any("no single value" in note for note in one.certificate.notes) for one in releases)

    assert warned(1) < warned(40)


def test_figures_for_the_steward_compare_tables_of_different_length() -> None:
    release = protect(households(300), seed=2, rows=40)
    figures = release.internal.attributes
    assert figures["age"].mean_squared_error is not None
    assert figures["sex"].mean_semantic_distance is not None
