"""dp-synthetic end to end: every kind of attribute, both modes, gaps, a target, any number of rows, and what goes wrong."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from coterie import protect
from coterie.chain.noise.seeded import SeededSampler
from coterie.chain.synthesis.accountant import Accountant, Currency, Reading
from coterie.cli.app import app
from coterie.engines.whole_table import synthesised
from coterie.errors import CoterieError, ParameterError
from coterie.methods import get_method
from coterie.promise.loss import epsilon_at
from coterie.promise.posterior import odds_in_words
from coterie.promise.terms import Budget
from coterie.publication.ledger.account import LedgerAccount, Terms
from coterie.schema.document import as_schema
from coterie.table.checked import check

N = 600
_draw = np.random.default_rng(1)
_age = _draw.integers(18, 90, N)
_income = np.where(_draw.random(N) < 0.3, 0, np.round(_age * 500 * _draw.lognormal(0, 0.5, N)))
TABLE = pa.table(
    {
        "age": _age,
        "income": pa.array(_income, mask=_draw.random(N) < 0.1),
        "born": pa.array((_draw.integers(0, 20_000, N)).astype("datetime64[D]")),
        "grade": pa.array(
            np.array(["low", "middle", "high"])[np.minimum(_age // 30, 2)], mask=_draw.random(N) < 0.05
        ),
        "town": np.array(["A", "B", "C", "D"])[_draw.integers(0, 4, N)],
        "insured": _age > 40,
        "rate": np.round(_draw.normal(0, 2, N), 1),
    }
)
SCHEMA: dict[str, Any] = {
    "attributes": {
        "age": {"type": "integer", "role": "protect", "domain": {"lower": 0, "upper": 120}},
        "income": {
            "type": "continuous",
            "role": "protect",
            "domain": {"lower": 0, "upper": 500_000},
            "missing": "own category",
        },
        "born": {"type": "date", "role": "protect", "domain": {"lower": "1970-01-01", "upper": "2030-01-01"}},
        "grade": {
            "type": "ordinal",
            "role": "protect",
            "categories": {"labels": ["low", "middle", "high"]},
            "missing": "own category",
        },
        "town": {"type": "categorical", "role": "protect", "categories": {"labels": ["A", "B", "C", "D"]}},
        "insured": {"type": "boolean", "role": "protect"},
        "rate": {"type": "continuous", "role": "protect", "domain": {"lower": -20, "upper": 20}},
    }
}
ONE = {"attributes": {"x": {"type": "integer", "role": "protect", "domain": {"lower": 0, "upper": 9}}}}


def released(**options: Any) -> Any:
    return protect(TABLE, SCHEMA, method="dp-synthetic", **{"epsilon": 8, "seed": 1} | options)


@pytest.mark.parametrize("delta", [None, "0.00001"])
def test_every_kind_of_attribute_keeps_its_shape_and_its_type(delta: str | None) -> None:
    table = released(delta=delta).table
    assert table.num_rows == N
    assert table.schema.field("income").nullable
    assert not table.schema.field("age").nullable
    assert table["age"].type == pa.int64()
    assert table["born"].type == pa.date32()
    assert set(table["grade"].to_pylist()) <= {"low", "middle", "high", None}
    assert abs(table["income"].null_count / N - 0.1) < 0.05
    zeros = np.mean(np.array(table["income"].drop_null()) == 0)
    assert abs(zeros - 0.3) < 0.1
    assert abs(np.mean(np.array(table["age"])) - _age.mean()) < 4
    assert table["born"].null_count == 0


def test_dependence_is_kept() -> None:
    table = released(epsilon=30, delta="0.00001").table
    age, insured = np.array(table["age"]), np.array(table["insured"])
    assert np.mean((age > 40) == insured) > 0.85  # 0.6 without it


def test_decimal_places_are_found_where_none_are_declared() -> None:
    rate = np.array(released(epsilon=200).table["rate"])
    assert np.allclose(rate, np.round(rate, 1))


def test_the_same_seed_gives_the_same_rows_and_order_of_records_plays_no_part() -> None:
    turned = TABLE.take(list(range(N - 1, -1, -1)))
    again = protect(turned, SCHEMA, method="dp-synthetic", epsilon=8, seed=1).table
    assert again.equals(released().table)


@pytest.mark.parametrize("rows", [1, 50, 1500])
def test_any_number_of_rows(rows: int) -> None:
    release = released(rows=rows)
    assert release.table.num_rows == rows
    assert release.certificate.release.rows == rows


def test_real_noise_differs_each_time_and_the_certificate_says_what_it_promises() -> None:
    first, second = (protect(TABLE, SCHEMA, method="dp-synthetic", epsilon=1, delta="1e-5") for _ in range(2))
    assert not first.table.equals(second.table)
    promise = first.certificate.guarantee
    assert (promise.status, promise.value, promise.delta) == ("proved", "1", "0.00001")
    assert epsilon_at(Fraction(promise.rho or 0), Fraction(1, 100_000)) == 1
    assert "78 %" in odds_in_words(promise)
    assert "with probability at least 1 − 0.00001 over the noise" in odds_in_words(promise)
    assert "except" not in odds_in_words(promise)
    assert (first.loss.epsilon, first.loss.delta, first.loss.rho) == (None, None, Fraction(promise.rho or 0))
    assert first.certificate.from_json(first.certificate.to_json()) == first.certificate


def test_a_ledger_counts_rho_so_that_many_releases_cost_less_and_one_no_more() -> None:
    """Was: two releases at (1, 0.000001) cost ε = 2, whatever the lifetime δ."""
    release = protect(TABLE, SCHEMA, method="dp-synthetic", epsilon=1, delta="0.000001")
    one = LedgerAccount(Terms("people", Fraction(1), Fraction(1, 10**6)))
    assert one.afford(release.loss).remaining == 0
    two = LedgerAccount(Terms("people", Fraction(2), Fraction(1, 10**4)))
    for _ in range(2):
        two.hold(two.terms.counted(release.loss))
    assert two.balance().held < Fraction(112, 100)
    # An ε with more decimals than the account rounds to is counted as it is stated.
    odd = protect(TABLE, SCHEMA, method="dp-synthetic", epsilon="0.1000001", delta="0.000001").loss
    assert (odd.rho, odd.epsilon, odd.delta) == (None, Fraction(1000001, 10**7), Fraction(1, 10**6))


def test_the_certificate_names_the_noise_that_was_drawn_and_its_parts_make_the_whole() -> None:
    """Was: discrete Laplace, whatever was drawn, and no part of ρ at all."""
    pure, mixed = (
        protect(TABLE, SCHEMA, method="dp-synthetic", epsilon=1, delta=delta).certificate
        for delta in (None, "1e-5")
    )
    assert "discrete Laplace" in pure.sampler
    assert "discrete Gaussian" in mixed.sampler
    assert "Laplace" not in mixed.sampler
    assert "discrete" not in released(delta="1e-5").certificate.sampler  # seeded: NumPy's
    parts = [Fraction(attribute.rho or 0) for attribute in mixed.attributes]
    assert min(parts) > 0
    assert mixed.dependence is not None
    assert sum(parts) + Fraction(mixed.dependence.rho or 0) == Fraction(mixed.guarantee.rho or 0)
    assert mixed.dependence.epsilon is None
    for certificate in (pure, mixed):  # signed bytes of those that were written before stay as they are
        assert ("rho" in certificate.attributes[0].model_dump()) is (certificate is mixed)
        assert certificate.from_json(certificate.to_json()) == certificate


def test_show_prints_delta_and_rho_and_no_groups_that_are_not_there(tmp_path: Path) -> None:
    def shown(**options: Any) -> str:
        path = tmp_path / "certificate.json"
        release = protect(TABLE, SCHEMA, method="dp-synthetic", epsilon=1, **options)
        path.write_text(release.certificate.to_json())
        return " ".join(CliRunner().invoke(app, ["certificate", "show", str(path)]).output.split())

    assert "ε = 1, δ = 1e-6 in all; noise for ρ = 0.02436" in shown(delta="0.000001")
    assert "δ = 1e-300 in all" in shown(delta="1e-300")
    assert "clusters" not in shown()


def test_pure_epsilon_is_shared_out_to_the_last_digit() -> None:
    certificate = protect(TABLE, SCHEMA, method="dp-synthetic", epsilon="0.7").certificate
    parts = [Fraction(attribute.epsilon or 0) for attribute in certificate.attributes]
    assert certificate.dependence is not None
    assert sum(parts) + Fraction(certificate.dependence.epsilon or 0) == Fraction("0.7")
    assert certificate.guarantee.delta is None


@pytest.mark.parametrize("delta", [None, Fraction(1, 100_000)])
def test_all_of_the_whole_is_spent_and_never_more(
    delta: Fraction | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    books: list[Accountant] = []
    made = Accountant.__init__

    def noted(self: Accountant, *values: Any, **named: Any) -> None:
        made(self, *values, **named)
        books.append(self)

    monkeypatch.setattr(Accountant, "__init__", noted)
    whole = get_method("dp-synthetic").whole_table
    assert whole is not None
    schema = as_schema(SCHEMA)
    columns = check(TABLE, schema).columns
    for names in (list(columns), ["age", "town", "insured"], ["town", "insured"], ["rate"]):
        some = {name: columns[name] for name in names}
        for epsilon in ("0.01", "1", "100"):
            for target in (None, names[-1]):
                few = schema.model_copy(update={"attributes": tuple(schema[name] for name in names)})
                budget = Budget.of(epsilon, few, get_method("dp-synthetic"), delta)
                synthesised(whole, some, N, budget, SeededSampler(2), 5, target)
    for book in books:
        assert book.left == 0
        assert book.currency is (Currency.EPSILON if delta is None else Currency.RHO)


def test_measurements_are_the_noisy_counts() -> None:
    release = released(epsilon=100)
    found = release.measurements.to_pylist()
    last = [line for line in found if line["attribute"] == "town" and line["reading"] == "histogram 1"]
    counts = {line["from"]: line["noisy_count"] for line in last}
    truth = {town: TABLE["town"].to_pylist().count(town) for town in "ABCD"}
    assert set(counts) == set(truth)
    assert all(abs(counts[town] - truth[town]) < 8 * last[0]["standard_deviation"] for town in truth)
    assert any(line["reading"] == "table" for line in found)
    assert any(line["from"] == "(missing)" for line in found if line["attribute"] == "income")


@pytest.mark.parametrize("delta", [None, "1e-5"])
def test_everything_that_was_paid_for_is_among_the_measurements(
    delta: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Was: neither the decimal places nor the correlations. (A choice of tables shows in which tables there are.)"""
    drawn: dict[str, Reading] = {}
    noisy = Accountant._noisy

    def noted(self: Accountant, *values: Any) -> Reading:
        drawn[values[-1]] = noisy(self, *values)
        return drawn[values[-1]]

    monkeypatch.setattr(Accountant, "_noisy", noted)
    found = released(epsilon=30, delta=delta).measurements.to_pylist()
    scores = drawn.pop("coterie: scores of all pairs")
    assert "attribute 6: decimal places" in drawn
    counts = np.concatenate([reading.values.ravel() for reading in drawn.values()])
    told = [line["noisy_count"] for line in found if line["noisy_count"] is not None]
    assert sorted(told) == sorted(counts)
    correlations = [line for line in found if line["noisy_count"] is None]
    assert len(correlations) == len(scores.values)
    assert np.corrcoef([line["noisy_correlation"] for line in correlations], scores.values)[0, 1] > 0.999999
    (age,) = [c for c in correlations if {c["attribute"], c["second_attribute"]} == {"age", "insured"}]
    assert abs(age["noisy_correlation"] - 0.8) < 0.2 + 4 * age["standard_deviation"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"delta": 1}, "far below 1"),
        ({"delta": 0}, "delta"),
        ({"delta": "0.01"}, "below 1/n"),
        ({"target": "nobody"}, "not a protected attribute"),
        ({"rows": 0}, "from 1 up"),
        ({"rows": 10**10}, "do not fit into the memory"),
        ({"rows": 10**12}, "is above 10,000,000,000"),
        ({"epsilon": None}, "needs a privacy budget"),
    ],
)
def test_impossible_choices_are_refused_in_words(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        released(**options)


def test_a_target_needs_something_to_predict_it_from() -> None:
    alone = {"attributes": {"age": SCHEMA["attributes"]["age"]}}
    with pytest.raises(ParameterError, match="nothing is left to predict it from"):
        protect(TABLE.select(["age"]), alone, method="dp-synthetic", epsilon=1, target="age")


@pytest.mark.parametrize("option", [{"delta": "1e-6"}, {"rows": 5}, {"target": "x"}])
def test_other_methods_know_none_of_these(option: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        protect({"x": [1, 2, 3]}, ONE, method="laplace", epsilon=1, **option)


def test_methods_without_a_proof_for_missing_numbers_name_this_one() -> None:
    with pytest.raises(CoterieError, match=r"missing.*dp-synthetic"):
        protect(TABLE, SCHEMA, method="dp-ir", k=5, epsilon=1)


@pytest.mark.parametrize("values", [[5] * 40, [0, 9], list(range(10)) * 3])
@pytest.mark.parametrize("epsilon", ["0.001", "1", "1000"])
def test_small_and_constant_tables(values: list[int], epsilon: str) -> None:
    """One attribute, two records, one value only: rows come out, inside the domain."""
    table = protect({"x": values}, ONE, method="dp-synthetic", epsilon=epsilon, seed=1).table
    assert table.num_rows == len(values)
    assert set(table["x"].to_pylist()) <= set(range(10))
    if epsilon == "1000":
        assert sorted(table["x"].to_pylist()) == sorted(values)


def test_one_label_many_labels_and_wide_bounds() -> None:
    labels = [f"l{number}" for number in range(3000)]
    schema = {
        "attributes": {
            "only": {"type": "categorical", "role": "protect", "categories": {"labels": ["a"]}},
            "many": {
                "type": "categorical",
                "role": "protect",
                "categories": {"labels": labels, "most": 10_000},
            },
            "wide": {"type": "continuous", "role": "protect", "domain": {"lower": -1e12, "upper": 1e12}},
        }
    }
    rows = {"only": ["a"] * 60, "many": labels[:60], "wide": [float(i) for i in range(60)]}
    table = protect(rows, schema, method="dp-synthetic", epsilon=1, delta="0.001", seed=1).table
    assert set(table["only"].to_pylist()) == {"a"}
    assert set(table["many"].to_pylist()) <= set(labels)


def test_many_columns() -> None:
    names = [f"c{number}" for number in range(60)]
    schema = {"attributes": dict.fromkeys(names, ONE["attributes"]["x"])}
    rows = {name: _draw.integers(0, 10, 50).tolist() for name in names}
    assert protect(rows, schema, method="dp-synthetic", epsilon=1, seed=1).table.num_columns == 60


@pytest.mark.parametrize("delta", ["1e-12", "1e-15"])
def test_a_tiny_epsilon_beside_a_tiny_delta_is_noise_not_a_crash(delta: str) -> None:
    assert protect(TABLE, SCHEMA, method="dp-synthetic", epsilon="1e-6", delta=delta).table.num_rows == N


def test_epsilon_and_delta_that_leave_nothing_are_told() -> None:
    with pytest.raises(ParameterError, match="leave nothing"):
        protect(TABLE, SCHEMA, method="dp-synthetic", epsilon="1e-200", delta="1e-200")


def test_scores_whose_noise_no_sampler_has_are_not_read() -> None:
    """ε = 0.00003 must not fail where 0.000001 works."""
    names = [f"x{number}" for number in range(15)]
    table = pa.table({name: _draw.random(5000) for name in names})
    one = {"type": "continuous", "role": "protect", "domain": {"lower": 0, "upper": 1}}
    schema = {"attributes": dict.fromkeys(names, one)}
    assert (
        protect(table, schema, method="dp-synthetic", epsilon="0.00003", delta="1e-6").table.num_rows == 5000
    )
