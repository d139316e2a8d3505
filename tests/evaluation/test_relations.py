"""Measures that see relations: right on cases known by hand, and calling destroyed what is destroyed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import coterie
from coterie.evaluation import all_measures, get_measure
from coterie.evaluation.measure import DESTROYED, MeasureResult
from coterie.evaluation.strength import RelatedColumn, association, information
from coterie.evaluation.tables import TableCells, distance

ROWS = 4000
ATTRIBUTES: dict[str, Any] = {
    "age": {"type": "integer", "role": "protect", "domain": {"lower": 0, "upper": 100}},
    "status": {
        "type": "categorical",
        "role": "protect",
        "categories": {"labels": ["single", "married", "widowed"]},
    },
    "job": {"type": "categorical", "role": "protect", "categories": {"labels": ["a", "b", "c", "d"]}},
    "income": {"type": "continuous", "role": "protect", "domain": {"lower": 0, "upper": 200}},
}
SCHEMA = {"attributes": ATTRIBUTES, "rules": ["age < 16 -> status = single"]}
RELATIONS = ("associations", "mutual-information", "models")


def people(seed: int = 1, rows: int = ROWS) -> pd.DataFrame:
    """Age decides the status, the job decides the income, and income rises with age."""
    draw = np.random.default_rng(seed)
    age = draw.integers(0, 101, rows)
    job = draw.integers(0, 4, rows)
    status = np.where(age < 25, 0, np.where(age < 70, 1, 2))
    status = np.where((draw.random(rows) < 0.2) & (age >= 16), draw.integers(0, 3, rows), status)
    income = np.clip(20 * job + 0.4 * age + draw.normal(0, 12, rows), 0, 200)
    return pd.DataFrame(
        {
            "age": age,
            "status": np.array(["single", "married", "widowed"])[status],
            "job": np.array([*"abcd"])[job],
            "income": income,
        }
    )


def torn(frame: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """The same distributions, without the relations of these columns."""
    draw = np.random.default_rng(9)
    return frame.assign(**{name: draw.permutation(frame[name].to_numpy()) for name in columns})


def evaluated(before: pd.DataFrame, after: pd.DataFrame, schema: Any = SCHEMA, **settings: Any) -> Any:
    return coterie.evaluate(before, after, schema, shuffled=True, **settings)


def test_another_sample_of_the_same_people_is_close_in_every_respect() -> None:
    found = evaluated(people(1), people(2, rows=3000))
    assert {found.words[name] for name in RELATIONS} == {"kept"}
    assert {found.words[name] for name in ("one-way", "two-way", "three-way")} == {"close to the original"}


def test_relations_that_are_gone_are_destroyed_although_every_distribution_is_the_same() -> None:
    found = evaluated(people(), torn(people(), *ATTRIBUTES))
    assert {found.words[name] for name in RELATIONS} == {DESTROYED}
    assert found.words["one-way"] == "close to the original"
    assert found.measures["one-way"].value == 0
    assert found.words["two-way"] != "close to the original"


def test_one_relation_that_is_gone_is_named_although_the_others_are_kept() -> None:
    """Civil status against age fell from 0.7 to nothing, and everything else is as it was."""
    found = evaluated(people(), torn(people(), "status"))
    for name in ("associations", "mutual-information"):
        assert "destroyed: " in found.words[name]
        assert "age × status" in found.words[name]
        assert "job × income" not in found.words[name]
    (worst, *_) = found.measures["associations"].details["worst_pairs"]
    assert worst["pair"] == ["age", "status"]
    assert worst["kind"] == "correlation ratio"
    assert worst["before"] > 0.5
    assert worst["after"] < 0.05
    lost = found.measures["models"].attributes
    assert lost["status"] > 0.9
    assert "destroyed: status" in found.words["models"]


def test_an_answer_that_half_the_people_give_wrongly_is_not_close() -> None:
    """780 people in a bin that 220 people are in after."""
    frame = people()
    frame["job"] = np.array(["a"] * 780 + ["b"] * (ROWS - 780))
    after = frame.assign(job=np.array(["a"] * 220 + ["b"] * (ROWS - 220)))
    words = evaluated(frame, after).measures["one-way"]
    assert words.attributes["job"] == pytest.approx(0.14)
    assert get_measure("one-way").word(words.attributes["job"]) == "clearly changed"
    worst = words.details["worst_answers"][0]
    assert (worst["attribute"], worst["before"], worst["after"]) == ("job", 0.195, 0.055)


def test_everybody_in_one_cell_is_destroyed() -> None:
    after = people().assign(age=50, status="married", job="a", income=1.0)
    words = evaluated(people(), after).words
    assert {words[name] for name in ("one-way", "two-way", "three-way", *RELATIONS)} == {DESTROYED}


def test_invented_relations_count_as_lost() -> None:
    loose, tight = torn(people(), *ATTRIBUTES), people()
    found = evaluated(loose, tight).measures["associations"]
    assert found.value is not None
    assert found.value > 0.9


def test_a_bent_relation_is_seen_by_mutual_information() -> None:
    draw = np.random.default_rng(3)
    age = draw.integers(0, 101, ROWS)
    frame = people().assign(age=age, income=np.abs(age - 50.0) * 2)
    found = evaluated(
        frame[["age", "income"]],
        torn(frame, "income")[["age", "income"]],
        {"attributes": {name: ATTRIBUTES[name] for name in ("age", "income")}},
    )
    assert found.measures["associations"].value is None  # r is 0 before and after
    assert found.words["mutual-information"] == DESTROYED


def side(values: Any) -> RelatedColumn:
    values = np.asarray(values)
    if values.dtype.kind == "f":
        cuts = np.quantile(values[~np.isnan(values)], np.arange(1, 8) / 8)
        cells = np.where(np.isnan(values), 0, 1 + np.searchsorted(cuts, values, side="left"))
        return RelatedColumn(cells, 9, values)
    return RelatedColumn(values, int(values.max()) + 1, None)


def test_strengths_agree_with_their_definitions() -> None:
    draw = np.random.default_rng(4)
    x = draw.normal(size=20_000)
    y = 0.6 * x + 0.8 * draw.normal(size=20_000)
    assert association(side(x), side(y), None).value == pytest.approx(np.corrcoef(x, y)[0, 1])
    assert association(side(-x), side(y), None).value < -0.5
    assert information(side(x), side(y), None).value == pytest.approx(
        0.6, abs=0.04
    )  # √(1 − e^(−2I)) = |r|, less by bins
    codes = draw.integers(0, 3, 20_000)
    assert association(side(codes), side(codes), None).value == pytest.approx(1.0, abs=1e-3)
    means = np.array([0.0, 1.0, 2.0])[codes]
    spread = means.var() / (means.var() + 1)
    ratio = association(side(means + draw.normal(size=20_000)), side(codes), None).value
    assert ratio == pytest.approx(np.sqrt(spread), abs=0.02)


def test_nothing_is_related_by_chance_alone() -> None:
    """Many labels and few rows: uncorrected, Cramér's V would be 0.4 here."""
    draw = np.random.default_rng(5)
    for _ in range(20):
        one, other = draw.integers(0, 15, 500), draw.integers(0, 15, 500)
        for of in (association, information):
            found = of(side(one), side(other), None)
            assert found.value < found.by_luck


def test_weights_change_relations_as_repeated_rows_do() -> None:
    draw = np.random.default_rng(6)
    x, codes = draw.normal(size=300), draw.integers(0, 3, 300)
    times = draw.integers(1, 4, 300)
    for one, other in ((side(x), side(codes)), (side(codes), side(draw.integers(0, 3, 300)))):
        again = [
            RelatedColumn(
                np.repeat(s.cells, times), s.size, None if s.numbers is None else np.repeat(s.numbers, times)
            )
            for s in (one, other)
        ]
        weighted, repeated = association(one, other, times.astype(float)), association(*again, None)
        assert weighted.value == pytest.approx(repeated.value, abs=0.03)


def test_what_chance_costs_is_what_resampling_costs() -> None:
    draw = np.random.default_rng(7)
    shares = draw.dirichlet(np.full(40, 0.5))
    before = np.repeat(np.arange(40), np.round(shares * 100_000).astype(int))
    drawn, by_chance = [], []
    for _ in range(200):
        after = draw.choice(before, 500)
        found, luck = distance([TableCells(before, after, 40, ())])
        drawn.append(found)
        by_chance.append(luck)
    assert np.mean(by_chance) == pytest.approx(np.mean(drawn), rel=0.05)


def test_models_reach_on_the_original_what_the_original_teaches() -> None:
    found = evaluated(people(), people(2)).measures["models"]
    skills = {one["pair"][0]: one for one in found.details["worst_pairs"]}
    assert skills["income"]["kind"] == "regression"
    assert skills["income"]["before"] == pytest.approx(0.8, abs=0.1)
    assert skills["income"]["after"] == pytest.approx(skills["income"]["before"], abs=0.05)
    assert skills["job"]["kind"] == "classifier"


def test_a_target_is_the_only_model() -> None:
    found = evaluated(people(), people(2), target="job", measures=["models"]).measures["models"]
    assert list(found.attributes) == ["job"]


def test_nothing_to_predict_is_said_and_not_called_kept() -> None:
    found = evaluated(torn(people(), *ATTRIBUTES), people(), measures=["models"]).measures["models"]
    assert found.value is None
    assert "not even from the original" in str(found.reason)


def test_gaps_and_codes_of_numbers_and_labels_are_measured() -> None:
    schema = {
        "attributes": {name: {**about, "missing": "own category"} for name, about in ATTRIBUTES.items()}
    }
    frame = people()
    frame.loc[frame.age < 20, "job"] = None
    frame["income"] = frame.income.where(frame.age >= 20)
    found = evaluated(frame, frame, schema)
    assert {found.words[name] for name in RELATIONS} == {"kept"}
    gone = evaluated(frame, torn(frame, *ATTRIBUTES), schema)
    assert {gone.words[name] for name in RELATIONS} == {DESTROYED}


def test_rules_are_counted_before_and_after() -> None:
    broken = people()
    broken.loc[:399, ["age", "status"]] = [10, "married"]
    (rule,) = evaluated(people(), broken).rules
    assert rule.rule == "age < 16 -> status = single"
    assert (rule.before, rule.after) == (0.0, pytest.approx(0.1, abs=1e-9))


def test_a_classifier_learns_from_synthetic_rows_too() -> None:
    found = evaluated(
        people(),
        people(2, rows=700),
        measures=["classification"],
        target="status",
        classifier="DecisionTreeClassifier",
    ).measures["classification"]
    assert found.value is not None
    assert found.value == pytest.approx(found.details["upper_bound"], abs=0.1)
    assert found.details["trained_on"] == 700


@pytest.mark.parametrize("name", [name for name, measure in all_measures().items() if measure.words])
def test_every_threshold_is_kept_and_beyond_the_last_everything_is_destroyed(name: str) -> None:
    measure = all_measures()[name]
    limits = [most for most, _ in measure.words]
    assert limits == sorted(limits)
    for most, word in measure.words:
        assert measure.word(most) == word
        assert measure.word(most + 1e-9) != word
        assert measure.word(most + 0.19, by_sampling=0.2) == word
    assert measure.word(limits[-1] + 1e-9) == DESTROYED
    assert measure.told(MeasureResult(None, reason="no")) == ""
    result = MeasureResult(0.0, details={"worst_pairs": [{"pair": ["u", "v"], "distance": limits[-1] + 1}]})
    assert measure.told(result) == f"{measure.words[0][1]}; destroyed: u × v"


def test_many_labels_and_many_columns_are_measured_in_bounded_time() -> None:
    draw = np.random.default_rng(8)
    labels = [f"l{place}" for place in range(900)]
    wide = {"type": "categorical", "role": "protect", "categories": {"labels": labels}}
    table = pa.table(
        {f"c{place}": pa.array(np.array(labels)[draw.integers(0, 900, 800)]) for place in range(3)}
    )
    found = coterie.evaluate(
        table, table, {"attributes": dict.fromkeys(table.column_names, wide)},
        shuffled=True, measures=["associations", "three-way", "models"],
    )  # fmt: skip
    assert found.measures["three-way"].value == 0
