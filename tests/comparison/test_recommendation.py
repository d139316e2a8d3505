"""One release to publish: proved unless somebody accepts less by name, and the same whatever the table holds."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import coterie
from coterie.cli.app import app
from coterie.comparison.recommendation import PURPOSES, in_words
from coterie.errors import ParameterError

SCHEMA: dict[str, Any] = {
    "coterie_schema": 1,
    "attributes": {
        "age": {"role": "protect", "type": "integer", "domain": {"lower": 0, "upper": 100}},
        "income": {"role": "protect", "domain": {"lower": 0, "upper": 1000}},
        "sex": {"role": "protect", "type": "categorical", "categories": {"labels": ["f", "m"]}},
    },
}


def people(age: int, rows: int = 300) -> pa.Table:
    return pa.table({"age": [age] * rows, "income": [1.0 * age] * rows, "sex": ["f"] * rows})


@pytest.mark.parametrize("purpose", PURPOSES)
def test_the_headline_is_proved(purpose: str) -> None:
    found = coterie.recommend(None, SCHEMA, records=500, purpose=purpose)
    assert found.best.status == "proved"
    assert found.best.method == "dp-synthetic"
    assert found.runner_up is None or found.runner_up.status == "proved"
    assert {"idp-cbls", "dp-ir", "ir"} <= found.avoid.keys()


def test_nothing_follows_from_the_values_of_the_table() -> None:
    first, second = (coterie.recommend(people(age), SCHEMA).to_dict() for age in (1, 99))
    assert first == second


def test_less_than_a_proof_is_named_only_if_it_was_accepted_by_name() -> None:
    assert coterie.recommend(None, SCHEMA, records=500, accept="refuted").best.status == "refuted"
    with pytest.raises(ParameterError, match="no promise 'unsafe'"):
        coterie.recommend(None, SCHEMA, records=500, accept="unsafe")


def test_a_private_number_of_rows_is_not_counted() -> None:
    unit = {
        "unit": {"column": "home", "at_most": 3},
        "attributes": {**SCHEMA["attributes"], "home": {"role": "identifier"}},
    }
    households = people(30).append_column("home", pa.array([str(row // 3) for row in range(300)]))
    with pytest.raises(ParameterError, match="number of rows is private"):
        coterie.recommend(households, {**SCHEMA, **unit})
    found = coterie.recommend(households, {**SCHEMA, **unit}, records=400)
    assert found.records == 400
    assert any("at_most is 3" in note for note in found.notes)


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


def test_words_follow_from_figures() -> None:
    assert in_words("two-way", 0.01) == "close to the original"
    assert in_words("two-way", 0.2) == "changed in places"
    assert in_words("two-way", 0.9) == "destroyed"
    tiny = coterie.recommend(None, SCHEMA, records=500, epsilon="0.0001")
    assert tiny.best.words == "destroyed"
    assert any("coterie stats" in note for note in tiny.notes)


def test_the_command_says_publish_this(tmp_path: Any) -> None:
    import pyarrow.csv as csv
    import yaml

    csv.write_csv(people(30), tmp_path / "people.csv")
    (tmp_path / "schema.yaml").write_text(yaml.safe_dump(SCHEMA))
    words = ["recommend", str(tmp_path / "people.csv"), "--schema", str(tmp_path / "schema.yaml")]
    shown = CliRunner().invoke(app, words)
    assert shown.exit_code == 0, shown.output
    assert "Publish this: dp-synthetic at ε = 1" in shown.output
    assert "Do not publish" in shown.output
    made = json.loads(CliRunner().invoke(app, [*words, "--json"]).output)
    assert made["best"]["method"] == "dp-synthetic"
    assert made["command"].startswith("coterie protect ")
