"""Formulas are data: everything useful is read, everything else is refused, and derivatives are right."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from coterie.errors import ParameterError
from coterie.statistics.specification.calculus import Range, Tape, range_of
from coterie.statistics.specification.equations import (
    READY_MADE,
    Expression,
    Op,
    apply,
    clamp,
    formula_of,
    in_order,
    name,
    names_in,
    number,
    parse,
)


def value(text: str, **values: float) -> float:
    return float(Tape.of(parse(text)).value({key: np.asarray(v, float) for key, v in values.items()}))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a + b * 2", 10.0),
        ("(a - b) / sqrt(b)", -1.0),
        ("-a ** 2", -4.0),
        ("a ** -1", 0.5),
        ("min(a, b, 1) + max(a, b)", 5.0),
        ("abs(a - b) + log(exp(a))", 4.0),
        ("+a", 2.0),
        ("1e3 * a", 2000.0),
    ],
)
def test_arithmetic(text: str, expected: float) -> None:
    assert value(text, a=2.0, b=4.0) == pytest.approx(expected)


def test_groups_in_square_brackets() -> None:
    assert names_in(parse("m[north] / m['north west', 3] + m[2]")) == ("m[north]", "m[north west, 3]", "m[2]")


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "a.b",
        "a(b)",
        "eval(a)",
        "lambda: 1",
        "[a for a in b]",
        "a if b else c",
        "'text'",
        "True",
        "a < b",
        "a and b",
        "a // b",
        "a % b",
        "a @ b",
        "a ** b",
        "a ** 101",
        "sqrt(a, b)",
        "min(a)",
        "sqrt(x=a)",
        "a[b.c]",
        "f'{a}'",
        "a := 1",
        "1e999",
        "",
        "   ",
        "a +",
        "-" * 500 + "a",
        "a" * 5000,
        "a\0b",
    ],
)
def test_nothing_else_is_read(text: str) -> None:
    with pytest.raises(ParameterError) as caught:
        parse(text)
    assert caught.value.advice


def expressions() -> st.SearchStrategy[Expression]:
    leaves = st.one_of(
        st.sampled_from(["a", "b", "c"]).map(name),
        st.floats(0.5, 4.0).map(lambda x: number(round(x, 2))),
    )

    def grow(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
        two = st.sampled_from([Op.ADD, Op.SUBTRACT, Op.MULTIPLY, Op.DIVIDE, Op.MIN, Op.MAX])
        one = st.sampled_from([Op.NEGATE, Op.ABS, Op.SQRT, Op.LOG])
        power = st.sampled_from([2.0, 3.0, -1.0]).map(number)
        return st.one_of(
            st.builds(lambda op, x, y: apply(op, x, y), two, inner, inner),
            st.builds(lambda op, x: apply(op, x), one, inner),
            st.builds(lambda x, p: apply(Op.POWER, x, p), inner, power),
        )

    return st.recursive(leaves, grow, max_leaves=8)


@given(expressions())
def test_printing_and_reading_give_the_same_formula(expression: Expression) -> None:
    values = {"a": np.asarray(1.3), "b": np.asarray(0.7), "c": np.asarray(2.9)}
    before, after = Tape.of(expression).value(values), Tape.of(parse(str(expression))).value(values)
    assert np.allclose(before, after, equal_nan=True, rtol=1e-9)


@given(expressions(), st.tuples(*[st.floats(0.6, 3.0)] * 3))
def test_derivatives_are_those_of_small_differences(
    expression: Expression, at: tuple[float, float, float]
) -> None:
    tape, step = Tape.of(expression), 1e-6
    point = dict(zip("abc", at, strict=True))
    results = tape.run({key: np.asarray(v) for key, v in point.items()})
    assume(np.isfinite(results[-1]) and abs(results[-1]) < 1e4)
    slopes = tape.gradient(results, np.asarray(1.0), point)
    for key in names_in(expression):
        ends = []
        for sign in (-1, 1):
            moved = {**point, key: point[key] + sign * step}
            ends.append(float(tape.value({k: np.asarray(v) for k, v in moved.items()})))
        left, right = (results[-1] - ends[0]) / step, (ends[1] - results[-1]) / step
        # Skip kinks and cliffs: there the two sides differ.
        assume(np.isfinite(left) and np.isfinite(right) and abs(left - right) < 1e-3 * (1 + abs(left)))
        assert float(slopes[key]) == pytest.approx((left + right) / 2, rel=1e-3, abs=1e-3)


@given(expressions(), st.tuples(*[st.floats(0.6, 3.0)] * 3), st.sets(st.sampled_from("abc")))
def test_derivatives_do_not_depend_on_which_are_asked_for(
    expression: Expression, at: tuple[float, float, float], asked: set[str]
) -> None:
    tape = Tape.of(expression)
    results = tape.run({key: np.asarray(v) for key, v in zip("abc", at, strict=True)})
    every, some = (tape.gradient(results, np.asarray(1.0), names) for names in ("abc", asked))
    assert some.keys() == asked.intersection(names_in(expression))
    np.testing.assert_array_equal([some[key] for key in some], [every[key] for key in some])


@given(expressions(), st.lists(st.floats(0.0, 1.0), min_size=3, max_size=3))
def test_no_value_leaves_its_range(expression: Expression, at: list[float]) -> None:
    ranges = {"a": Range(-1.0, 2.0), "b": Range(0.5, 0.75), "c": Range(0.0, 10.0)}
    point = {key: r.lower + u * r.width for (key, r), u in zip(ranges.items(), at, strict=True)}
    result = float(Tape.of(expression).value({key: np.asarray(v) for key, v in point.items()}))
    found = range_of(expression, ranges)
    if math.isfinite(result):
        slack = 1e-9 * (1 + abs(result))
        assert found.lower - slack <= result <= found.upper + slack


def test_a_clamp_holds_and_passes_no_slope_outside() -> None:
    tape = Tape.of(clamp(name("x"), 0.0, 1.0))
    results = tape.run({"x": np.array([-1.0, 0.5, 2.0])})
    assert results[-1].tolist() == [0.0, 0.5, 1.0]
    assert tape.gradient(results, np.ones(3), ["x"])["x"].tolist() == [0.0, 1.0, 0.0]


def test_ready_made_equations_compute_what_they_say() -> None:
    t = value(formula_of("t_test", list("abcdef"), "t"), a=5, b=2, c=10, d=3, e=1, f=20)
    assert t == pytest.approx((5 - 3) / math.sqrt(4 / 10 + 1 / 20))
    x, y = np.array([1.0, 2.0, 4.0, 7.0]), np.array([2.0, 1.0, 5.0, 6.0])
    sums = {
        "n": 4.0,
        "x": x.sum(),
        "y": y.sum(),
        "xx": (x * x).sum(),
        "yy": (y * y).sum(),
        "xy": (x * y).sum(),
    }
    r = value(formula_of("correlation", ["n", "x", "y", "xx", "yy", "xy"], "r"), **sums)
    assert r == pytest.approx(np.corrcoef(x, y)[0, 1])
    assert value(formula_of("odds_ratio", list("abcd"), "o"), a=10, b=5, c=2, d=8) == pytest.approx(8.0)
    p1, p2, n1, n2 = 0.3, 0.2, 100.0, 200.0
    pooled = (n1 * p1 + n2 * p2) / (n1 + n2)
    z = (p1 - p2) / math.sqrt(pooled * (1 - pooled) * (1 / n1 + 1 / n2))
    assert value(formula_of("z_test", list("pnqm"), "z"), p=p1, n=n1, q=p2, m=n2) == pytest.approx(z)
    assert value(formula_of("share", ["a", "b"], "s"), a=-1, b=4) == 0.0
    assert value(formula_of("percent_change", ["a", "b"], "s"), a=11, b=10) == pytest.approx(10.0)


@pytest.mark.parametrize("ready", sorted(READY_MADE))
def test_a_ready_made_equation_names_what_it_needs(ready: str) -> None:
    with pytest.raises(ParameterError, match="needs the statistics"):
        formula_of(ready, ["only_one_more_than_none"] * 9, "Equation 'x'")


def test_equations_may_use_equations_in_any_order() -> None:
    formulas = {"c": parse("b * a"), "b": parse("a + 1"), "a": parse("n / m"), "d": parse("n")}
    assert in_order(formulas) == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    ("formulas", "circle"),
    [
        ({"a": "a + n"}, "a uses a"),
        ({"n2": "n", "a": "b", "b": "c / n", "c": "2 * a"}, "a uses b uses c uses a"),
    ],
)
def test_a_circle_is_named(formulas: dict[str, str], circle: str) -> None:
    with pytest.raises(ParameterError, match=f"circle: {circle}\\."):
        in_order({name: parse(text) for name, text in formulas.items()})


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("formula", ["e{} + e{}", "1 + e{}"])
def test_equations_that_would_grow_without_end_are_refused(turned: bool, formula: str) -> None:
    chain = {f"e{i}": parse(formula.format(i - 1, i - 1)) for i in range(1, 400)}
    chain["e0"] = parse("n")
    listed = dict(reversed(chain.items())) if turned else chain
    with pytest.raises(ParameterError, match="Use fewer"):
        in_order(listed)
