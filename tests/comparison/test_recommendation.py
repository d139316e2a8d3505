"""One release to publish: proved unless somebody accepts less by name, and the same whatever the table holds."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import coterie
from coterie.cli.app import app
from coterie.comparison.invented import invented_people, trial_schema
from coterie.comparison.recommendation import PURPOSES
from coterie.comparison.trial import Trial
from coterie.errors import ParameterError, SchemaError
from coterie.schema.document import as_schema, schema_from

SCHEMA: dict[str, Any] = {
    "coterie_schema": 1,
    "attributes": {
        "age": {"role": "protect", "type": "integer", "domain": {"lower": 0, "upper": 100}},
        "income": {"role": "protect", "domain": {"lower": 0, "upper": 1000}},
        "sex": {"role": "protect", "type": "categorical", "categories": {"labels": ["f", "m"]}},
    },
}


HOMES: dict[str, Any] = {
    "unit": {"column": "home", "at_most": 9},
    "attributes": {**SCHEMA["attributes"], "home": {"role": "identifier"}},
}


def people(age: int, rows: int = 300) -> pa.Table:
    return pa.table({"age": [age] * rows, "income": [1.0 * age] * rows, "sex": ["f"] * rows})


@pytest.mark.parametrize("purpose", PURPOSES)
def test_the_headline_is_proved(purpose: str) -> None:
    found = coterie.recommend(None, SCHEMA, records=500, purpose=purpose, beside=())
    assert found.best.status == "proved"
    assert found.best.method == "dp-synthetic"
    assert found.runner_up is None or found.runner_up.status == "proved"
    assert {"idp-cbls", "dp-ir", "ir"} <= found.avoid.keys()


def test_nothing_follows_from_the_values_of_the_table() -> None:
    first, second = (coterie.recommend(people(age), SCHEMA, beside=()).to_dict() for age in (1, 99))
    assert first == second


def test_less_than_a_proof_is_named_only_if_it_was_accepted_by_name() -> None:
    assert coterie.recommend(None, SCHEMA, records=500, accept="refuted", beside=()).best.status == "refuted"
    with pytest.raises(ParameterError, match="no promise 'unsafe'"):
        coterie.recommend(None, SCHEMA, records=500, accept="unsafe")


def test_a_private_number_of_rows_is_not_counted() -> None:
    unit = {**HOMES, "unit": {"column": "home", "at_most": 3}}
    households = people(30).append_column("home", pa.array([str(row // 3) for row in range(300)]))
    with pytest.raises(ParameterError, match="number of rows is private"):
        coterie.recommend(households, {**SCHEMA, **unit})
    found = coterie.recommend(households, {**SCHEMA, **unit}, records=400)
    assert found.records == 400
    assert found.at_most == 3


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"purpose": "fun"}, "no purpose 'fun'"),
        ({"records": 10}, "at least 50 records"),
        ({"records": None}, "no table"),
    ],
)
def test_bad_questions_are_told_in_words(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        coterie.recommend(None, SCHEMA, **{"records": 500, **settings})


def test_what_is_destroyed_is_called_so_and_a_way_out_is_named() -> None:
    tiny = coterie.recommend(None, SCHEMA, records=500, epsilon="0.0001")
    assert tiny.best.words == "destroyed"
    assert any("coterie stats" in note for note in tiny.notes)


def test_the_promise_is_that_of_a_release_with_real_noise() -> None:
    found = coterie.recommend(None, SCHEMA, records=500, purpose="distributions", epsilon=2)
    assert "at most 89 % sure after" in found.best.promise
    assert [one.at_most_sure for one in found.strengths] == ["63 %", "74 %", "89 %", "98.3 %"]
    shares = [one.shares for one in found.strengths]
    assert shares[0] > shares[-1]  # more ε, less error


def test_bounds_from_the_data_are_no_proof() -> None:
    """What `coterie methods` calls proved is refuted for such a schema: nothing may be recommended."""
    leaky = {"role": "protect", "domain": {"lower": 0, "upper": 1000, "source": "data"}}
    schema = {**SCHEMA, "attributes": {**SCHEMA["attributes"], "income": leaky}}
    with pytest.raises(ParameterError, match=r"came from the data \(income\)"):
        coterie.recommend(None, schema, records=500)
    named = coterie.recommend(None, schema, records=500, accept="refuted", beside=())
    assert named.best.status == "refuted"


def test_a_delta_is_named_only_where_it_saves_something() -> None:
    pure = coterie.recommend(None, SCHEMA, records=20_000, purpose="distributions", beside=())
    assert pure.best.delta is None
    many = {f"a{i}": SCHEMA["attributes"]["age"] for i in range(9)}
    wide = coterie.recommend(None, {"attributes": many}, records=2_000, beside=())
    assert wide.best.delta == "0.000001"
    assert "with probability at least" in wide.best.promise
    assert "--delta 0.000001" in wide.command
    assert wide.runner_up is not None
    assert wide.runner_up.delta is None
    alone = coterie.recommend(None, {"attributes": many}, records=2_000, pure=True, beside=())
    assert alone.best.delta is None
    assert not alone.strengths


def test_at_most_is_chosen_near_the_typical_size_and_not_the_largest() -> None:
    found = coterie.recommend(None, HOMES, records=3000, unit_size=3)
    assert found.at_most is not None
    assert found.at_most <= 4
    assert found.units[found.at_most] == min(found.units.values()) < found.units[9]
    as_written = coterie.recommend(None, HOMES, records=3000)
    assert as_written.at_most == 9
    assert as_written.best.error >= found.best.error
    assert any("--unit-size" in note for note in as_written.notes)


def test_weights_targets_and_gaps_are_tried_as_they_will_be_released() -> None:
    attributes = {
        **SCHEMA["attributes"],
        "job": {
            "role": "protect",
            "type": "categorical",
            "categories": {"labels": ["a", "b"]},
            "not_applicable": "age < 15",
        },
        "w": {"role": "weight", "type": "continuous", "domain": {"lower": 1, "upper": 9}},
    }
    found = coterie.recommend(None, {"attributes": attributes}, records=800, purpose="models", target="sex")
    assert found.best.method == "dp-synthetic"
    assert found.command.endswith("--target sex --output out.csv")
    with pytest.raises(ParameterError, match="target 'sx'"):
        coterie.recommend(None, {"attributes": attributes}, records=800, target="sx")


def test_invented_people_go_together_have_gaps_and_live_in_units() -> None:
    open_age = {**SCHEMA["attributes"]["age"], "missing": "own category"}
    schema = trial_schema(schema_from({**HOMES, "attributes": {**HOMES["attributes"], "age": open_age}}))
    assert schema.unit is not None
    assert schema.unit.at_most == 9
    rows = invented_people(schema, 4000, unit_size=2.5)
    assert rows.num_rows == 4000
    sizes = rows["home"].value_counts().field("counts").to_numpy()
    assert sizes.mean() == pytest.approx(2.5, abs=0.1)
    assert 0.08 < rows["age"].null_count / 4000 < 0.12
    frame = rows.to_pandas()
    assert frame.age.corr(frame.income) > 0.05


LABELS = {"role": "protect", "type": "categorical", "categories": {"labels": ["a", "b"]}}
ONLY = {"role": "protect", "type": "categorical", "categories": {"labels": ["only"]}}
WEIGHT = {"role": "weight", "domain": {"lower": 1, "upper": 100_000}}
DATE = {"role": "protect", "type": "date", "domain": {"lower": "1950-01-01", "upper": "2020-01-01"}}


@pytest.mark.parametrize("purpose", PURPOSES)
@pytest.mark.parametrize(
    "attributes",
    [[LABELS], [ONLY, ONLY], [DATE, LABELS], [WEIGHT, LABELS], [SCHEMA["attributes"]["age"]]],
    ids=["one column", "one label each", "a date", "heavy weights", "one number"],
)
def test_odd_tables_get_a_figure_and_a_word_for_every_purpose(
    attributes: list[dict[str, Any]], purpose: str
) -> None:
    schema = {"attributes": {f"x{place}": one for place, one in enumerate(attributes)}}
    found = coterie.recommend(None, schema, records=120, purpose=purpose, beside=(), pure=True)
    assert 0 <= found.best.error <= 1
    json.dumps(found.to_dict(), allow_nan=False)


def test_everything_that_is_not_said_yet_is_named_at_once_and_no_unsafe_way_is_offered() -> None:
    open_ = {"age": {"role": "protect", "type": "integer"}, "sex": {"role": "protect", "type": "categorical"}}
    with pytest.raises(SchemaError, match="about: age, sex") as refused:
        coterie.recommend(None, {"attributes": open_}, records=500)
    assert "from-data" not in refused.value.advice
    with pytest.raises(SchemaError, match="No column of the schema is protected"):
        coterie.recommend(None, {"attributes": {"age": {"role": "keep"}}}, records=500)


def test_the_command_never_says_publish_this_of_what_is_lost(tmp_path: Any) -> None:
    import pyarrow.csv as csv
    import yaml

    csv.write_csv(people(30), tmp_path / "people.csv")
    (tmp_path / "schema.yaml").write_text(yaml.safe_dump(SCHEMA))
    words = ["recommend", str(tmp_path / "people.csv"), "--schema", str(tmp_path / "schema.yaml")]
    shown = CliRunner().invoke(app, words)
    assert shown.exit_code == 0, shown.output
    assert "No release keeps relations between two columns at ε = 1" in shown.output  # of so few people
    assert "The least loss: dp-synthetic at ε = 1" in shown.output
    assert "at most 7" in shown.output  # the promise, in words
    assert "coterie dossier out.csv" in shown.output
    assert "Do not publish" in shown.output
    assert "Not for this table or purpose" in shown.output
    made = json.loads(CliRunner().invoke(app, [*words, "--json"]).output)
    assert made["best"]["method"] == "dp-synthetic"
    assert made["command"].startswith("coterie protect ")


@pytest.mark.parametrize(("columns", "runs"), [(2, 2), (61, 1)])
def test_a_wide_table_is_tried_once(columns: int, runs: int) -> None:
    """Every figure is a mean over columns, so many columns make up for runs; a second one would only take time."""
    entry = {"type": "integer", "role": "protect", "domain": {"lower": 0, "upper": 9}}
    wide = as_schema({"coterie_schema": 1, "attributes": {f"q{place}": entry for place in range(columns)}})
    trial = Trial.of(wide, 60, None, "one-way", None)
    assert len(trial.pairs("laplace", Fraction(1), None, None)) == runs
