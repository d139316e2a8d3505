"""Whatever is written in YAML is read alike: no name twice, labels as they stand, faults with their line."""

from __future__ import annotations

from pathlib import Path

import pytest

from coterie.errors import ParameterError, SchemaError
from coterie.federation.documents.study_file import read_study
from coterie.federation.errors import FederationError
from coterie.schema.document import parse_yaml
from coterie.statistics import read_specification

SPECIFICATION = """
budget: {epsilon: "1"}
neighbours: replace-one
population: people
release: smokers
schema:
  attributes:
    smoker: {type: categorical, role: protect, categories: {labels: [yes, no, 010]}}
statistics:
  n: {kind: count, where: {smoker: "yes"}, expected: 10}
"""


def test_labels_are_text_as_they_stand_and_nothing_else_is() -> None:
    found = parse_yaml("{labels: [yes, 010, 1:30, [no]], other: [yes, 010]}", "It", ParameterError)
    assert found == {"labels": ["yes", "010", "1:30", [False]], "other": [True, 8]}


def test_a_schema_inside_a_specification_is_read_like_one_in_a_file() -> None:
    [smoker] = read_specification(SPECIFICATION).schema.attributes
    assert smoker.categories is not None
    assert smoker.categories.labels == ("yes", "no", "010")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: 1\nb: 2\na: 3\n", "It is not valid YAML at line 3: 'a' appears twice."),
        ("? [a]\n: 1\n", "It is not valid YAML at line 1: a name must be text."),
        ("a: [1,\n", "It is not valid YAML at line 2: "),
        (
            "a: !!python/object:os.system {}\n",
            "It is not valid YAML at line 1: could not determine a constructor",
        ),
    ],
)
def test_faults_are_told_with_their_line(text: str, problem: str) -> None:
    with pytest.raises(SchemaError) as caught:
        parse_yaml(text, "It", SchemaError)
    assert caught.value.problem.startswith(problem)


def test_a_study_that_says_something_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text('epsilon: "1"\nk: 5\nepsilon: "10"\n')
    with pytest.raises(FederationError, match=r"line 3: 'epsilon' appears twice"):
        read_study(path, "key", lambda name: None)
