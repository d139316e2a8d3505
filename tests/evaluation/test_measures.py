"""Every measure against numbers worked out by hand, and the properties that make it a measure."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.comparison.comparison import run_grid
from coterie.comparison.grid import make_grid
from coterie.errors import ParameterError
from coterie.evaluation import all_measures
from coterie.evaluation.evaluation import evaluate
from coterie.schema.attributes import Attribute, Domain, Role, Schema


def schema(**upper: float) -> Schema:
    return Schema(
        attributes=tuple(
            Attribute(name=name, role=Role.PROTECT, domain=Domain(lower=0, upper=high))
            for name, high in upper.items()
        )
    )


def value(measure: str, original: dict, released: dict, of: Schema, **options: object) -> float:
    found = evaluate(original, released, of, measures=[measure], **options)  # type: ignore[arg-type]
    result = found.measures[measure].value
    assert result is not None
    return result


BEFORE = {"x": [0.0, 2.0, 4.0, 6.0], "y": [10.0, 10.0, 20.0, 20.0]}
AFTER = {"x": [1.0, 2.0, 4.0, 5.0], "y": [10.0, 13.0, 20.0, 20.0]}
PUBLIC = schema(x=10, y=40)
# Sample variances: x 20/3, y 100/3. Squared errors: x 2, y 9.


def test_scale_free_sse_is_equation_5_with_sigma() -> None:
    expected = (2 / 4 / (20 / 3) + 9 / 4 / (100 / 3)) / 2**2
    assert value("sse", BEFORE, AFTER, PUBLIC) == pytest.approx(expected, rel=1e-12)


def test_paper_sse_divides_by_the_variance_before_squaring() -> None:
    expected = (2 / 4 / (20 / 3) ** 2 + 9 / 4 / (100 / 3) ** 2) / 2**2
    assert value("sse-paper", BEFORE, AFTER, PUBLIC) == pytest.approx(expected, rel=1e-12)


def test_sse_sum_sums_records_and_divides_by_attributes() -> None:
    assert value("sse-sum", BEFORE, AFTER, PUBLIC) == pytest.approx(11 / 2)


def test_relative_error_has_a_sanity_bound() -> None:
    # x: bound 0.1; errors 1/0.1, 0, 0, 1/6. y: bound 0.4; errors 0, 3/10, 0, 0.
    expected = ((10 + 1 / 6) / 4 + 0.3 / 4) / 2
    assert value("relative-error", BEFORE, AFTER, PUBLIC) == pytest.approx(expected, rel=1e-12)


def test_relative_error_of_dates_and_ranks_is_a_share_of_the_domain() -> None:
    """Their zero is arbitrary: an error must not weigh more in January 1970, or for the lowest label."""
    public = Schema.load(
        {
            "attributes": {
                "day": {
                    "type": "date",
                    "role": "protect",
                    "domain": {"lower": "1970-01-01", "upper": "1970-04-11"},
                },
                "grade": {
                    "type": "ordinal",
                    "role": "protect",
                    "categories": {"labels": ["low", "middle", "high"]},
                },
            }
        }
    )
    before = {"day": ["1970-01-01", "1970-03-02"], "grade": ["low", "high"]}
    after = {"day": ["1970-01-11", "1970-03-12"], "grade": ["middle", "high"]}
    assert value("relative-error", before, after, public) == pytest.approx((10 / 100 + (0.5 + 0) / 2) / 2)


def test_variance_change() -> None:
    after_x = np.var([1, 2, 4, 5], ddof=1)
    after_y = np.var([10, 13, 20, 20], ddof=1)
    expected = (abs(20 / 3 - after_x) / (20 / 3) + abs(100 / 3 - after_y) / (100 / 3)) / 2
    assert value("variance-change", BEFORE, AFTER, PUBLIC) == pytest.approx(expected, rel=1e-12)


def test_jensen_shannon_by_hand() -> None:
    # Bins of 0.1: before {0, 2}, after {2, 2}: P = (½, ½), Q = (0, 1), M = (¼, ¾).
    before, after = {"x": [0.05, 2.05]}, {"x": [2.05, 2.05]}
    expected = 0.5 * (0.5 * math.log2(2) + 0.5 * math.log2(2 / 3)) + 0.5 * math.log2(4 / 3)
    assert value("jensen-shannon", before, after, schema(x=10)) == pytest.approx(expected, rel=1e-12)


def test_jensen_shannon_is_1_for_disjoint_histograms() -> None:
    assert value("jensen-shannon", {"x": [1.0, 2.0]}, {"x": [8.0, 9.0]}, schema(x=10)) == 1


def test_jensen_shannon_bins() -> None:
    public = Schema.load(
        "attributes:\n  x: {type: integer, role: protect, domain: {lower: 0, upper: 1000}}\n"
    )
    before, after = {"x": [1, 500]}, {"x": [2, 500]}
    assert value("jensen-shannon", before, after, public, bins="domain") == 0  # one stripe holds 1 and 2
    assert value("jensen-shannon", before, after, public, bins="value") == pytest.approx(0.5)
    assert (
        value("jensen-shannon", before, after, public, bins="auto") == 0
    )  # 1,001 values are too many for auto


def test_correlation_error_by_hand() -> None:
    before = {"x": [1.0, 2.0, 3.0], "y": [1.0, 2.0, 3.0]}
    after = {"x": [1.0, 2.0, 3.0], "y": [3.0, 2.0, 1.0]}
    assert value("correlation", before, after, schema(x=9, y=9)) == pytest.approx(2)


def test_range_queries_count_exactly() -> None:
    draw = np.random.default_rng(0)
    column = draw.uniform(0, 10, 500)
    public = schema(x=10)
    assert value("range-queries", {"x": column}, {"x": column}, public) == 0
    moved = value("range-queries", {"x": column}, {"x": np.full(500, 5.0)}, public)
    shaken = value(
        "range-queries", {"x": column}, {"x": np.clip(column + draw.normal(0, 0.2, 500), 0, 10)}, public
    )
    assert moved > 5 * shaken > 0


def test_semantic_distance_of_a_flat_domain_is_the_share_of_changes_times_delta() -> None:
    public = Schema.load(
        "attributes:\n  c: {type: categorical, role: protect, categories: {labels: [a, b, d]}}\n"
    )
    before, after = {"c": ["a", "a", "b", "d"]}, {"c": ["a", "b", "b", "d"]}
    # Two leaves under one root share 1 of 3 ancestors-or-selves: δ = log2(1 + 2/3).
    assert value("semantic-distance", before, after, public) == pytest.approx(math.log2(5 / 3) / 4, abs=1e-8)
    assert value("relative-error", before, after, public) == value("semantic-distance", before, after, public)


@pytest.mark.parametrize("measure", [name for name, m in all_measures().items() if not m.higher_is_better])
def test_an_unchanged_release_costs_nothing(measure: str) -> None:
    draw = np.random.default_rng(3)
    x = draw.uniform(0, 10, 60)
    table = {"x": x, "y": 4 * x, "c": np.where(x > 5, "a", "b")}  # there are relations to keep
    public = Schema.load(
        """
        attributes:
          x: {role: protect, domain: {lower: 0, upper: 10}}
          y: {role: protect, domain: {lower: 0, upper: 40}}
          c: {type: categorical, role: protect, categories: {labels: [a, b]}}
        """
    )
    assert value(measure, table, table, public) == pytest.approx(0, abs=1e-12)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.floats(0, 100), min_size=3, max_size=30),
    st.floats(0.01, 1000),
    st.sampled_from(["sse", "relative-error", "variance-change"]),
)
def test_units_do_not_matter_except_to_the_printed_equation(
    values: list[float], unit: float, measure: str
) -> None:
    original = np.array(values)
    released = np.clip(original + np.resize([3.0, -2.0, 1.0], len(values)), 0, 100)
    if np.var(original) < 1e-6:
        return
    plain = value(measure, {"x": original}, {"x": released}, schema(x=100))
    scaled = value(measure, {"x": original * unit}, {"x": released * unit}, schema(x=100 * unit))
    assert scaled == pytest.approx(plain, rel=1e-6, abs=1e-9)


def test_the_printed_equation_does_depend_on_units() -> None:
    euros = value("sse-paper", BEFORE, AFTER, PUBLIC)
    cents = value(
        "sse-paper",
        {name: np.array(v) * 100 for name, v in BEFORE.items()},
        {name: np.array(v) * 100 for name, v in AFTER.items()},
        schema(x=1000, y=4000),
    )
    assert cents == pytest.approx(euros / 10_000)


@pytest.mark.parametrize("upper", [1e160, 1e-150])
def test_units_in_which_no_error_can_be_measured(upper: float) -> None:
    table, public = {"x": [0.0, upper / 2, upper]}, schema(x=upper)
    with pytest.raises(ParameterError, match="'x' is too wide or too narrow"):
        evaluate(table, table, public)
    with pytest.raises(ParameterError, match="'x' is too wide or too narrow"):
        run_grid(table, public, make_grid(["laplace"], ["1"], [], runs=1))


@pytest.mark.parametrize("unit", [1e-139, 1e139])
@pytest.mark.filterwarnings("error")
def test_units_in_which_it_just_can(unit: float) -> None:
    before, after = ({"x": [unit * x for x in values["x"]] * 30} for values in (BEFORE, AFTER))
    found = evaluate(before, after, schema(x=10 * unit)).measures
    assert all(math.isfinite(result.value) for result in found.values() if result.value is not None)
    assert found["sse"].value == pytest.approx(0.5 / (20 / 4 * 120 / 119))
    run_grid(before, schema(x=10 * unit), make_grid(["laplace", "dp-ir"], ["1"], [5], runs=1))


def test_the_square_of_a_variance_may_be_no_double() -> None:
    before, after = {"x": [0.0, 1e100, 2e100]}, {"x": [1e100, 1e100, 1e100]}
    found = value("sse-paper", before, after, schema(x=2e100))
    assert found == pytest.approx(2 / 3 * 1e-200, rel=1e-9, abs=0)


def test_a_constant_attribute_has_no_variance_to_divide_by() -> None:
    same, moved = {"x": [3.0, 3.0, 3.0]}, {"x": [3.0, 3.0, 4.0]}
    for measure in ("sse", "sse-paper", "variance-change"):
        assert value(measure, same, same, schema(x=9)) == 0
        assert value(measure, same, moved, schema(x=9)) == 1


def test_the_last_digit_of_a_mean_is_no_change_of_a_constant() -> None:
    """(0.1 + 0.1 + 0.1) / 3 is not 0.1 in doubles: what `ir` and `mdav` release of a constant column."""
    before = {"x": [0.1] * 6, "y": [1.0, 5.0, 2.0, 8.0, 3.0, 4.0]}
    after = {**before, "x": [0.1, 0.1, 0.1] + [(0.1 + 0.1 + 0.1) / 3] * 3}
    assert len(set(after["x"])) == 2
    for measure in ("sse", "sse-paper", "sse-matched", "variance-change", "correlation"):
        assert value(measure, before, after, schema(x=9, y=9)) == 0


def test_whole_numbers_have_a_bin_each_wherever_the_bounds_lie() -> None:
    """Was: between 0.5 and 9.5 two neighbours shared a bin, and moving from one to the other was no change."""
    domain = Domain(lower=0.5, upper=9.5)
    public = Schema(attributes=(Attribute(name="x", role=Role.PROTECT, domain=domain, decimals=0),))
    for one in range(1, 9):
        before, after = {"x": [float(one)] * 4}, {"x": [one + 1.0] * 4}
        assert value("jensen-shannon", before, after, public) == pytest.approx(1)


def test_every_measure_says_how_to_read_it() -> None:
    for measure in all_measures().values():
        assert measure.title
        assert measure.meaning
        assert measure.papers
        assert (measure.attribute is None) != (measure.table is None)
