"""Shapes: quantile functions in and out, every way of declaring one, and what is assumed without."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv
import pytest
from statistics_people import SCHEMA, document, population

from coterie.errors import CoterieError, DataError, ParameterError, SchemaError
from coterie.statistics import Plan, plan, read_specification, release, solve_budget
from coterie.statistics.prediction.rank_law import Basis, RankLaw, tables
from coterie.statistics.releasing.measuring import Noise, compute
from coterie.statistics.releasing.records import open_records
from coterie.statistics.releasing.releasing import make_release
from coterie.statistics.specification.calculus import Range
from coterie.statistics.specification.shape import (
    DISTRIBUTIONS,
    from_quantiles,
    from_sample,
    from_values,
    of_distribution,
)

DOMAIN = Range(0.0, 100.0)
GAMMA = {"distribution": "gamma", "mean": 16, "std": 11}


def with_median(shape: Any = None, column: str = "cost", **entry: Any) -> dict[str, Any]:
    statistic = {"kind": "median", "of": column, **entry, **({} if shape is None else {"shape": shape})}
    return document(statistics={"mid": statistic}, equations={})


def law_of(chosen: Plan, name: str = "mid") -> RankLaw:
    place = [target.name for target in chosen.design.metric.targets].index(name)
    law = chosen.design.metric.quantities[chosen.design.metric.errors[place].inputs[0]].law
    assert isinstance(law, RankLaw)
    return law


@pytest.mark.parametrize("name", DISTRIBUTIONS[:-1])
def test_a_named_distribution_has_its_mean_and_spread(name: str) -> None:
    shape = of_distribution(name, 40.0, 8.0).within(DOMAIN)
    values = shape.values((np.arange(200_000) + 0.5) / 200_000)
    assert values.mean() == pytest.approx(40.0, rel=1e-3)
    assert values.std() == pytest.approx(8.0, rel=5e-3)
    inside = np.linspace(30, 50, 41)
    assert shape.values(shape.below(inside)) == pytest.approx(inside, abs=1e-6)


def test_clipping_keeps_what_is_inside_and_piles_up_the_rest() -> None:
    cut = of_distribution("uniform", 0.0, 100.0).within(DOMAIN)  # from −173 to 173
    assert cut.below(np.array([0.0, 1e-9, 50.0, 100.0])) == pytest.approx([0, 0.5, 0.6443, 0.7887], abs=1e-4)


def test_values_that_records_share_stay_shared() -> None:
    shape = from_values({0: 0.4, 5: 0.6})
    assert shape.below(np.array([0.0, 0.1, 5.0, 5.1])) == pytest.approx([0, 0.4, 0.4, 1.0])
    assert shape.at(0.3) == 0
    assert shape.at(0.5) == 5
    sample = from_sample(np.array([1.0, 2.0, 2.0, 2.0, 9.0]))
    assert sample.at(0.5) == 2
    assert float(sample.below(np.array([2.0]))[0]) < 0.35


def test_stated_quantiles_are_kept() -> None:
    known = {0.1: 3.0, 0.5: 15.0, 0.75: 24.0}
    shape = from_quantiles(known, DOMAIN)
    assert [shape.at(p) for p in known] == pytest.approx(list(known.values()))
    assert list(shape.x) == sorted(shape.x)
    assert shape.at(0) == 0
    assert shape.at(1) == 100


def test_a_lattice_moves_by_whole_steps() -> None:
    content = with_median({**GAMMA, "step": 1}, expected=20.4)
    assert set(np.unique(law_of(plan(read_specification(content))).shape.x)) <= set(range(101))
    whole = with_median(GAMMA | {"mean": 40}, column="age")  # an integer attribute
    assert set(np.unique(law_of(plan(read_specification(whole))).shape.x)) <= set(range(121))


def test_the_tables_have_the_declared_size_and_quantile() -> None:
    law = law_of(plan(read_specification(with_median(GAMMA))))
    found = tables(law)
    assert (found.distances.min(axis=1) == 0).all()  # the quantile lies in some candidate
    assert (found.distances.max(axis=1) <= 1200).all()
    exact = law.shape.at(0.5)
    spread = found.truth.std(ddof=1)
    assert abs(found.truth.mean() - exact) < 5 * spread / 8
    # σ of a sample median: √(q(1−q)/n) / f; f from the shape itself.
    density = float(np.diff(law.shape.below(np.array([exact - 0.5, exact + 0.5])))[0])
    assert spread == pytest.approx(0.5 / np.sqrt(2400) / density, rel=0.35)


def test_expected_says_where_and_shape_says_how() -> None:
    moved = law_of(plan(read_specification(with_median(GAMMA, expected=30))))
    assert moved.shape.at(0.5) == pytest.approx(30)
    alone = read_specification(with_median(GAMMA))["mid"]
    assert alone.expected == pytest.approx(13.6, abs=0.1)


def test_a_public_sample_is_filtered_like_the_data_and_is_part_of_the_digest(tmp_path: Path) -> None:
    pyarrow.csv.write_csv(population(seed=99), tmp_path / "last-year.csv")
    content = with_median(
        {"sample": str(tmp_path / "last-year.csv")}, where={"smoker": "yes"}, about={"size": 600}
    )
    specification = read_specification(content)
    frame = population(seed=99).to_pandas()
    assert specification["mid"].expected == pytest.approx(
        frame.cost[frame.smoker == "yes"].median(), rel=1e-3
    )
    before = specification.digest
    pyarrow.csv.write_csv(population(seed=98), tmp_path / "last-year.csv")
    assert read_specification(content).digest != before


def test_the_data_are_no_public_sample(tmp_path: Path) -> None:
    pyarrow.csv.write_csv(population(), tmp_path / "people.csv")
    content = with_median({"sample": str(tmp_path / "people.csv")})
    with pytest.raises(DataError, match="these very data"):
        release(read_specification(content), tmp_path / "people.csv", tmp_path / "out.csv", seed=1)
    assert not (tmp_path / "out.csv").exists()


def test_each_group_may_have_its_shape() -> None:
    shapes = {"yes": {"distribution": "normal", "mean": 40, "std": 9}, "no": GAMMA}
    entry = {"by": {"smoker": ["yes", "no"]}, "about": {"yes": {"size": 600}, "no": {"size": 1800}}}
    chosen = plan(read_specification(with_median(shapes, **entry)), report_losses=False)
    assert law_of(chosen, "mid[yes]").shape.at(0.5) == pytest.approx(40, abs=0.01)
    assert (law_of(chosen, "mid[yes]").size, law_of(chosen, "mid[no]").size) == (600, 1800)


BAD: dict[str, tuple[Any, type[CoterieError], str]] = {
    "nothing": ({}, ParameterError, "exactly one of"),
    "two forms": ({**GAMMA, "values": {0: 1}}, ParameterError, "exactly one of"),
    "no mapping": ("gamma", ParameterError, "nothing is said"),
    "unknown": ({"distribution": "gama", "mean": 1, "std": 1}, ParameterError, "Did you mean 'gamma'"),
    "no mean": ({"distribution": "gamma", "std": 1}, ParameterError, "no mean"),
    "no spread": ({"distribution": "normal", "mean": 1}, ParameterError, "no spread"),
    "negative spread": ({"distribution": "normal", "mean": 1, "std": -1}, ParameterError, "greater than 0"),
    "negative gamma": ({"distribution": "gamma", "mean": -1, "std": 1}, ParameterError, "above 0"),
    "spread of an exponential": ({"distribution": "exponential", "mean": 1, "std": 1}, ParameterError, "mean only"),
    "falling quantiles": ({"quantiles": {0.2: 5, 0.5: 3}}, ParameterError, "must rise"),
    "quantiles outside": ({"quantiles": {0.2: 5, 0.5: 300}}, ParameterError, "must rise, and stay between 0"),
    "no share": ({"quantiles": {20: 5}}, ParameterError, "between 0 and 1"),
    "values outside": ({"values": {-1: 1}}, ParameterError, "outside the domain"),
    "negative share": ({"values": {1: -1}}, ParameterError, "not negative"),
    "no numbers": ({"values": {"a": 1}}, ParameterError, "not a number"),
    "no file": ({"sample": "nowhere.csv"}, DataError, "shape: there is no file nowhere.csv"),
    "stray mean": ({"values": {1: 1}, "mean": 3}, ParameterError, "belong to a `distribution`"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_shape_that_means_nothing_is_refused(name: str) -> None:
    shape, kind, problem = BAD[name]
    with pytest.raises(kind, match=problem):
        read_specification(with_median(shape))


def test_a_shape_belongs_to_a_quantile_and_about_has_three_entries() -> None:
    with pytest.raises(ParameterError, match="no quantile"):
        read_specification(document(statistics={"n": {"kind": "count", "shape": GAMMA}}, equations={}))
    with pytest.raises(ParameterError, match="Did you mean 'size'"):
        read_specification(with_median(about={"sise": 3}))
    with pytest.raises(ParameterError, match="is a mapping"):
        read_specification(with_median(about=3))


def test_what_nobody_states_is_called_an_assumption() -> None:
    """Also in what depends on it; and a statement takes the label away."""
    statistics = {
        "mid": {"kind": "median", "of": "cost", "expected": 16},
        "n": {"kind": "count", "where": {"smoker": "yes"}, "expected": 600},
        "avg": {"kind": "mean", "of": "cost", "where": {"smoker": "no"}, "expected": 16, "route": "sums"},
    }
    content = document(statistics=statistics, equations={"d": "2 * mid - n"})
    chosen = plan(read_specification(content), report_losses=False)
    assert {e.name: e.basis for e in chosen.errors} == {
        "mid": Basis.ASSUMED, "d": Basis.ASSUMED, "avg": Basis.ASSUMED, "n": Basis.SOBOL,
    }  # fmt: skip
    assert any("No `shape` is declared for mid" in warning for warning in chosen.warnings)
    assert any("1,200 records with smoker = no" in note for note in chosen.notes)
    statistics["mid"]["shape"] = GAMMA
    statistics["avg"]["about"] = {"size": 1800}
    told = plan(read_specification(document(statistics=statistics, equations={"d": "2 * mid - n"})))
    assert {e.name: e.basis for e in told.errors} == {
        "mid": Basis.SHAPE, "d": Basis.SHAPE, "avg": Basis.SOBOL, "n": Basis.SOBOL,
    }  # fmt: skip
    assert not any("assumed" in note for note in (*told.warnings, *told.notes))


def test_a_tolerance_of_a_quantile_is_met() -> None:
    content = with_median(GAMMA, tolerance=0.2)
    chosen = solve_budget(read_specification(content))
    assert chosen.errors[0].mean + 2 * chosen.errors[0].simulation_error <= 0.2
    assert chosen.errors[0].mean > 0.15


@pytest.mark.statistical
def test_intervals_of_quantiles_cover_where_the_shape_holds() -> None:
    """One release of each of 200 tables: coverage not below 95 % by more than 3.5 standard errors."""
    statistics = {
        "mid": {"kind": "median", "of": "cost", "shape": GAMMA},
        "q9": {"kind": "quantile", "quantile": 0.9, "of": "cost", "shape": GAMMA},
    }
    content = document(statistics=statistics, equations={"gap": "q9 - mid"}, budget={"epsilon": "1"})
    chosen = plan(read_specification(content), report_losses=False)
    draw = np.random.Generator(np.random.PCG64(4))
    hits = dict.fromkeys(("mid", "q9", "gap"), 0)
    people = population()
    for seed in range(200):
        cost = np.clip(draw.gamma((16 / 11) ** 2, 121 / 16, 2400), 0, 100)
        source = open_records(people.set_column(3, "cost", [cost]))
        made = make_release(chosen, source, Noise.seeded(seed))
        truth = {"mid": np.quantile(cost, 0.5), "q9": np.quantile(cost, 0.9)}
        truth["gap"] = truth["q9"] - truth["mid"]
        for name, value in truth.items():
            hits[name] += bool(made[name].lower <= value <= made[name].upper)
    for name, count in hits.items():
        assert count / 200 > 0.95 - 3.5 * np.sqrt(0.05 * 0.95 / 200), (name, count)


def test_a_value_that_all_records_share_lies_in_one_candidate() -> None:
    """0.3 / 0.1 is 2.999…: the release must count as the prediction does. (0.3 rounded to the grid is not the point 0.3.)"""
    content = with_median({"values": {0.3: 1}}, candidates=1000)
    chosen = plan(read_specification(content), report_losses=False)
    source = open_records(population().set_column(3, "cost", [np.full(2400, 0.3)]))
    (counts,) = compute(chosen.design, source).values()
    assert np.count_nonzero(counts) == 1
    assert counts.argmax() in (5, 6, 7)  # before, at or after the fourth point


def test_filters_are_checked_against_a_taxonomy(tmp_path: Path) -> None:
    (tmp_path / "regions.csv").write_text("north;land;*\nsouth;land;*\nwest;sea;*\n")
    column = {
        "role": "keep",
        "type": "categorical",
        "categories": {"taxonomy": str(tmp_path / "regions.csv")},
    }
    schema = {**SCHEMA, "attributes": {**SCHEMA["attributes"], "region": column}}

    def asking(value: str) -> dict[str, Any]:
        entry = {"kind": "count", "where": {"region": value}, "expected": 700}
        return document(statistics={"n": entry}, equations={}, schema=schema)

    read_specification(asking("north"))
    with pytest.raises(SchemaError, match=r"'nort', which is not among the categories.*Did you mean 'north'"):
        read_specification(asking("nort"))
    column["categories"] = {"taxonomy": "adult:occupation"}
    with pytest.raises(SchemaError, match="not among the categories of the taxonomy"):
        read_specification(asking("north"))


def test_the_worst_loss_of_a_wrong_guess_never_falls() -> None:
    """Truths up to 50 % away include those 10 % away, however clamps bend the far end."""
    size = {"kind": "count", "where": {"smoker": "yes"}}
    for statistics in (
        {"n": {**size, "expected": 3}, "s": {"kind": "sum", "of": "cost", "expected": 9}},
        {
            "p": {"kind": "proportion", "that": {"smoker": "yes"}, "expected": 0.9},
            "n": {**size, "expected": 2000},
        },
    ):
        a, b = statistics
        content = document(
            statistics=statistics, equations={"e": f"{a} / ({b} + 1)"}, budget={"epsilon": "0.1"}
        )
        worst = [loss.worst_loss for loss in plan(read_specification(content)).guess_losses]
        assert worst == sorted(worst)
