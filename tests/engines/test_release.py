"""protect(): the chain end to end, the counterexamples to the papers' claims, and refusals without a value."""

from __future__ import annotations

import gc
import math
import time
import weakref
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from coterie import Attribute, CoterieError, Domain, Role, Schema, protect
from coterie.chain.noise.seeded import SeededSampler
from coterie.errors import DataError, ParameterError, SchemaError
from coterie.methods import all_methods
from coterie.schema.attributes import Outside

MakeSchema = Callable[..., Schema]
REATTACHED = ["ir", "dp-ir", "dp-um", "idp-ls"]


def test_the_chain_by_hand(one_attribute: MakeSchema) -> None:
    """dp-ir written out: sort, groups of k, mean, Laplace(Δ/(kε)), one draw per group, back to the rows, clip."""
    values = [0.9, 0.1, 0.4, 0.2, 0.8, 0.3, 0.7]
    released = protect({"x": values}, one_attribute(), method="dp-ir", epsilon="20", k=3, seed=9).data["x"]
    order = np.argsort(values)
    groups = [order[:3], order[3:]]
    means = np.array([np.mean(np.array(values)[group]) for group in groups])
    noisy = np.clip(SeededSampler(9).laplace(means, np.full(2, 1 / 3 / 20), "x"), 0, 1)
    expected = np.empty(7)
    for group, value in zip(groups, noisy, strict=True):
        expected[group] = value
    assert released == pytest.approx(expected.tolist(), abs=1e-12)


@pytest.mark.parametrize("method", REATTACHED)
@pytest.mark.parametrize("epsilon", ["0.001", "1"])
def test_re_attachment_refutes_differential_privacy(
    method: str, epsilon: str, one_attribute: MakeSchema
) -> None:
    """GUARANTEES.md: "y1 = y2 and y3 = y4" always holds under D, at every ε; under its neighbour D' only by clipping.

    Before clipping it never holds under D'. Clipping can put both groups on one bound, with probability below 1/2, so
    it is the complement that refutes: probability 0 under D, above 1/2 under D' (missed in 40 draws: 1e-12).
    """

    def event(values: list[float]) -> bool:
        y = protect({"x": values}, one_attribute(), method=method, epsilon=epsilon, k=2, shuffle=False).data[
            "x"
        ]
        return bool(y[0] == y[1] and y[2] == y[3])

    assert all(event([0, 0.1, 0.9, 1]) for _ in range(40))
    assert not all(event([0, 0.95, 0.9, 1]) for _ in range(40))


@pytest.mark.parametrize("method", REATTACHED)
def test_without_clipping_the_event_never_holds_for_the_neighbour(
    method: str, one_attribute: MakeSchema
) -> None:
    """At ε = 200 no draw reaches a bound (odds e^-200)."""
    for _ in range(20):
        schema = one_attribute(-10, 10)
        y = protect({"x": [0, 0.95, 0.9, 1]}, schema, method=method, epsilon=200, k=2, shuffle=False).data[
            "x"
        ]
        assert y[0] == y[2] != y[1] == y[3]


@pytest.mark.parametrize("method", REATTACHED)
def test_shuffling_two_attributes_does_not_help(method: str) -> None:
    """ "Exactly two distinct rows": probability 1 under D, 0 under D' (the second row → (.1, .95))."""
    domain = Domain(lower=-1e9, upper=1e9)
    schema = Schema(attributes=tuple(Attribute(name=name, role=Role.PROTECT, domain=domain) for name in "xy"))

    def distinct(x: list[float], y: list[float]) -> int:
        released = protect({"x": x, "y": y}, schema, method=method, epsilon="100", k=2, shuffle=True).data
        return len(set(zip(released["x"], released["y"], strict=True)))

    x = [0, 0.1, 0.9, 1]
    assert all(distinct(x, x) == 2 for _ in range(10))
    assert all(distinct(x, [0, 0.95, 0.9, 1]) > 2 for _ in range(10))


def test_plain_laplace_has_no_such_event(one_attribute: MakeSchema) -> None:
    for _ in range(20):
        y = protect({"x": [0, 0.1, 0.9, 1]}, one_attribute(-1e9, 1e9), method="laplace", epsilon="100").data[
            "x"
        ]
        assert len(set(y)) == 4


def test_bounds_from_the_data_show_the_maximum() -> None:
    """GUARANTEES.md: with [0, 1.5·max] and plain Laplace at ε = 0.1 the largest released value is the bound."""
    values = np.random.Generator(np.random.PCG64(0)).random(200) * 77
    domain = Domain(lower=0, upper=1.5 * values.max(), source="data")
    schema = Schema(attributes=(Attribute(name="x", role=Role.PROTECT, domain=domain),))
    for _ in range(5):
        released = protect({"x": values}, schema, method="laplace", epsilon="0.1")
        assert max(released.data["x"]) / 1.5 == pytest.approx(values.max())
        assert released.certificate.guarantee.status == "refuted"


def test_clipped_values_are_counted_inside_only(one_attribute: MakeSchema) -> None:
    release = protect(
        {"x": [0.5, 2.0, -3.0, 0.25]},
        one_attribute(outside=Outside.CLIP),
        method="ir",
        epsilon=1,
        k=2,
    )
    assert release.internal.values_clipped == {"x": 2}
    assert release.data["x"] == pytest.approx([0.75, 0.75, 0.125, 0.125])


def test_weights_move_noise_between_attributes() -> None:
    """Nine tenths of ε to x: its noise has a ninth of the scale of y's (same values, same words)."""
    domain = Domain(lower=-1e9, upper=1e9)
    schema = Schema(
        attributes=(
            Attribute(name="x", role=Role.PROTECT, domain=domain, weight=9),
            Attribute(name="y", role=Role.PROTECT, domain=domain),
        )
    )
    release = protect({"x": [0.0] * 6, "y": [0.0] * 6}, schema, method="laplace", epsilon=1000, seed=2)
    unit = {name: SeededSampler(2).laplace(np.zeros(6), np.ones(6), name) for name in "xy"}
    assert release.data["x"] == pytest.approx((unit["x"] * 2e9 / 900).tolist())
    assert release.data["y"] == pytest.approx((unit["y"] * 2e9 / 100).tolist())


def test_an_attribute_draws_the_same_noise_beside_any_other(people: pa.Table, people_schema: Schema) -> None:
    """The stream belongs to the attribute's name, so columns can run in any order and number."""
    both = protect(people, people_schema, method="dp-ir", epsilon=2, k=5, seed=1).data
    alone = protect(
        people.select(["income"]),
        Schema(attributes=(people_schema["income"],)),
        method="dp-ir",
        epsilon=1,
        k=5,
        seed=1,
    ).data
    assert both["income"].to_pylist() == alone["income"].to_pylist()


def test_progress_counts_the_attributes(people: pa.Table, people_schema: Schema) -> None:
    seen: list[tuple[int, int]] = []
    protect(people, people_schema, method="ir", epsilon=1, k=3, progress=lambda *said: seen.append(said[1:]))
    assert seen[-1] == (2, 2)


def test_progress_of_whole_tables_counts_reading_modelling_and_drawing(
    people: pa.Table, people_schema: Schema
) -> None:
    seen: list[tuple[int, int]] = []
    options: dict[str, Any] = {"method": "dp-synthetic", "epsilon": 1, "seed": 1}
    protect(people, people_schema, **options, progress=lambda *said: seen.append(said[1:]))
    assert seen == [(number, 6) for number in range(1, 7)]


def test_a_pandas_index_does_not_leak(people: pa.Table, people_schema: Schema) -> None:
    frame = people.to_pandas()
    frame.index = frame["name"]
    released = protect(frame, people_schema, method="ir", epsilon=1, k=3).data
    assert released.index.tolist() == list(range(61))


@pytest.mark.parametrize("seed", [-1, 1.5, "1", True])
def test_a_seed_is_a_whole_number(seed: Any, one_attribute: MakeSchema) -> None:
    with pytest.raises(ParameterError, match="seed"):
        protect({"x": [0.1, 0.2]}, one_attribute(), method="laplace", epsilon=1, seed=seed)


@pytest.mark.parametrize(
    ("method", "says"),
    [("idp-cbl", "Did you mean 'idp-cbls'"), ("IDP-LS", "Did you mean 'idp-ls'"), ("", "There is")],
)
def test_an_unknown_method_suggests_a_near_one(method: str, says: str, one_attribute: MakeSchema) -> None:
    with pytest.raises(ParameterError) as caught:
        protect({"x": [0.1, 0.2]}, one_attribute(), method=method, epsilon=1)
    assert says in str(caught.value)


def test_the_method_has_no_default(one_attribute: MakeSchema) -> None:
    with pytest.raises(TypeError):
        protect({"x": [0.1, 0.2]}, one_attribute(), epsilon=1)  # type: ignore[call-arg]


FRAMES: dict[str, Any] = {"dict": dict, "pandas": pd.DataFrame, "polars": pl.DataFrame}
CANARY = 48_151.6234
BAD: dict[str, tuple[Any, type[CoterieError]]] = {
    "text": (["1.0", f"about {CANARY}"], DataError),
    "null": ([CANARY, None], DataError),
    "nan": ([CANARY, math.nan], DataError),
    "infinite": ([CANARY, math.inf], DataError),
    "outside": ([CANARY, 1e7], DataError),
    "below": ([CANARY, -CANARY], DataError),
    "mixed": ([CANARY, "text", b"bytes"], DataError),
    "truth": ([True, False], DataError),
    "one row": ([CANARY], DataError),
    "no row": ([], DataError),
    "huge integer": ([2**63 - 1, int(CANARY)], DataError),
}


@pytest.mark.parametrize(
    ("name", "kind"),
    # polars itself refuses mixed columns
    [(name, kind) for name in BAD for kind in FRAMES if (name, kind) != ("mixed", "polars")],
)
def test_no_message_holds_a_value(name: str, kind: str, one_attribute: MakeSchema) -> None:
    values, error = BAD[name]
    frame = FRAMES[kind]({"x": values})
    with pytest.raises(error) as caught:
        protect(frame, one_attribute(0, 100_000), method="laplace", epsilon=1)
    for text in ("48151", "about", "9223372036854775807", "1e7", "10000000"):
        assert text not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None  # nor the traceback


def test_duplicate_columns_are_refused(one_attribute: MakeSchema) -> None:
    twice = pd.DataFrame([[0.1, 0.2], [0.3, 0.4]], columns=["x", "x"])
    with pytest.raises(DataError, match="'x'"):
        protect(twice, one_attribute(), method="laplace", epsilon=1)


def test_columns_must_match_the_schema(one_attribute: MakeSchema) -> None:
    with pytest.raises(SchemaError, match="does not describe"):
        protect({"x": [0.1, 0.2], "y": [1, 2]}, one_attribute(), method="laplace", epsilon=1)
    with pytest.raises(SchemaError, match="which the table does not have"):
        protect({"X1": [0.1, 0.2]}, one_attribute(), method="laplace", epsilon=1)


def test_epsilon_that_makes_noise_infinite_is_refused(one_attribute: MakeSchema) -> None:
    with pytest.raises(ParameterError, match="infinite"):
        protect({"x": [0.1, 0.2]}, one_attribute(0, 1e200), method="laplace", epsilon="1e-300")


def test_extreme_epsilon_still_stays_in_the_domain(one_attribute: MakeSchema) -> None:
    for epsilon in ("1e-200", "1e200"):
        for method, entry in all_methods().items():
            k = None if entry.fixed_k else 3
            y = protect({"x": [0.1, 0.2, 0.9]}, one_attribute(), method=method, epsilon=epsilon, k=k).data[
                "x"
            ]
            assert all(0 <= value <= 1 for value in y)


def test_epsilon_is_exact_on_the_guarantee(one_attribute: MakeSchema) -> None:
    for given, text in ((0.1, "0.1"), ("1/3", "1/3"), (Fraction(1, 4), "0.25")):
        release = protect({"x": [0.1, 0.2]}, one_attribute(), method="laplace", epsilon=given)
        assert release.guarantee.value == release.certificate.epsilon == text


def test_numbers_may_be_left_as_the_noise_left_them(people: pa.Table, people_schema: Schema) -> None:
    uncut = protect(people, people_schema, method="dp-ir", epsilon="0.01", k=5, seed=1, clip=False)
    cut = protect(people, people_schema, method="dp-ir", epsilon="0.01", k=5, seed=1)
    assert any("not cut" in note for note in uncut.certificate.notes)
    beyond = 0
    for attribute in people_schema.protected:
        domain = attribute.bounds()
        values = uncut.table.column(attribute.name).to_numpy().astype(float)
        beyond += int(((values < domain.lower) | (values > domain.upper)).sum())
        np.testing.assert_allclose(
            np.clip(values, domain.lower, domain.upper), cut.table.column(attribute.name).to_numpy()
        )
    assert beyond


@pytest.mark.parametrize("method", ["dp-ir", "idp-cbls", "dp-synthetic"])
def test_forgetting_the_original_changes_no_value(
    method: str, people: pa.Table, people_schema: Schema
) -> None:
    kept, forgot = (
        protect(
            people,
            people_schema,
            method=method,
            epsilon=2,
            k=None if method == "dp-synthetic" else 5,
            seed=3,
            forget=forget,
        )
        for forget in (False, True)
    )
    assert forgot.table.equals(kept.table)
    assert forgot.certificate.release == kept.certificate.release


def test_what_was_forgotten_is_not_compared(one_attribute: MakeSchema) -> None:
    table = {"x": np.linspace(0, 1, 100)}
    release = protect(table, one_attribute(0, 1), method="dp-ir", epsilon=1, k=5, forget=True)
    with pytest.raises(ParameterError, match="forgotten"):
        _ = release.internal


def test_an_original_column_is_freed_once_it_is_protected(one_attribute: MakeSchema) -> None:
    values = np.linspace(0, 1, 1_000_000)
    table = [pa.table({"x": values})]
    freed = weakref.ref(values)
    del values
    release = protect(table.pop(), one_attribute(0, 1), method="dp-ir", epsilon=1, k=5, forget=True)
    ends = time.monotonic() + 60  # a thread that is just ending may hold it for a moment
    while freed() is not None and time.monotonic() < ends:
        gc.collect()
        time.sleep(0.05)
    assert freed() is None
    assert release.table.num_rows == 1_000_000
