"""Train on the release, test on original records: the bound, the drop, and F-measures by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from coterie.errors import DataError
from coterie.evaluation import classification
from coterie.evaluation.classification import learn
from coterie.evaluation.evaluation import evaluate
from coterie.evaluation.measure import Settings
from coterie.evaluation.pair import bring_together
from coterie.schema.attributes import Schema

SCHEMA = Schema.load(
    """
    attributes:
      x: {role: protect, domain: {lower: 0, upper: 10}}
      z: {role: protect, domain: {lower: 0, upper: 10}}
      label: {role: keep, type: categorical}
    """
)


def people() -> dict[str, np.ndarray]:
    draw = np.random.default_rng(5)
    x, z = draw.uniform(0, 10, 300), draw.uniform(0, 10, 300)
    return {"x": x, "z": z, "label": np.where(x > 5, "big", "small")}


def run(released: dict[str, np.ndarray], **options: object) -> tuple[float, float]:
    settings = dict(target="label", **options)  # type: ignore[arg-type]
    found = evaluate(people(), released, SCHEMA, measures=["classification"], **settings)
    result = found.measures["classification"]
    assert result.value is not None
    return result.value, result.details["upper_bound"]


def test_an_unchanged_release_reaches_the_upper_bound() -> None:
    value, bound = run(people())
    assert value == bound > 0.97


def test_noise_that_hides_the_class_costs_f_measure() -> None:
    draw = np.random.default_rng(6)
    hidden = {**people(), "x": draw.uniform(0, 10, 300)}
    value, bound = run(hidden)
    assert bound > 0.97
    assert value < 0.7


@pytest.mark.parametrize("classifier", ["DecisionTreeClassifier", "KNeighborsClassifier", "GaussianNB"])
def test_any_classifier_by_name(classifier: str) -> None:
    value, bound = run(people(), classifier=classifier)
    assert value == bound > 0.9


def test_f_measure_is_the_harmonic_mean_of_precision_and_recall() -> None:
    # One training class only: everything is called "a". Precision 3/4, recall 1; b is never found.
    found = learn(
        np.zeros((2, 1)), np.array(["a", "a"]), np.zeros((4, 1)), np.array(["a", "a", "a", "b"]), Settings()
    )
    assert found.f_measures == {"a": pytest.approx(2 * 0.75 / 1.75), "b": 0}


@pytest.mark.filterwarnings("error")
def test_a_classifier_that_stops_early_says_so() -> None:
    """And prints no warning of scikit-learn's."""
    draw = np.random.default_rng(2)
    train = draw.normal(0, 1, (400, 30)) * np.geomspace(1e-4, 1e4, 30)
    labels = np.where(train @ (1 / np.geomspace(1e-4, 1e4, 30)) > 0, "a", "b")
    stopped = learn(train, labels, train, labels, Settings(classifier="LogisticRegression"))
    assert not stopped.converged
    assert learn(train, labels, train, labels, Settings(classifier="GaussianNB")).converged


def test_releases_of_one_report_share_the_upper_bound_and_nobody_else_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    learnt = []

    def count(*arguments: Any) -> Any:
        learnt.append(arguments)
        return learn(*arguments)

    monkeypatch.setattr(classification, "learn", count)
    draw = np.random.default_rng(6)
    settings = Settings(target="label")
    pairs = [
        bring_together(pa.table(people()), pa.table(released), SCHEMA)
        for released in (people(), {**people(), "x": draw.uniform(0, 10, 300)})
    ]
    first, second = (classification.MEASURE.compute(pair, settings) for pair in pairs)
    assert len(learnt) == 3  # a bound, two releases
    assert first.details["upper_bound"] == second.details["upper_bound"]
    classification.MEASURE.compute(pairs[0], Settings(target="label"))
    assert len(learnt) == 5, "settings of their own: nothing is kept in the process"


def test_classes_by_threshold_of_a_protected_number() -> None:
    settings = {"target": "x", "threshold": 5.0}
    found = evaluate(people(), people(), SCHEMA, measures=["classification"], **settings)
    assert set(found.measures["classification"].details["classes"]) == {"at most 5", "above 5"}


def test_a_table_that_is_sorted_by_class_is_split_at_random() -> None:
    """The first 66 % of it hold one class only: both the release and the bound would look equally bad."""
    order = np.argsort(people()["x"])
    rising = {name: values[order] for name, values in people().items()}
    settings = {"target": "label"}
    result = evaluate(rising, rising, SCHEMA, measures=["classification"], **settings).measures
    found = result["classification"]
    assert found.value == found.details["upper_bound"]
    assert found.value is not None
    assert found.value > 0.95
    assert "at random" in found.details["split"]
    mixed = evaluate(people(), people(), SCHEMA, measures=["classification"], **settings).measures
    assert mixed["classification"].details["split"] == "the first records train"


def _by_class(kind: str, before: Any, after: Any, **options: Any) -> dict[str, dict[str, float]]:
    """F-measures of the class column `c`, which goes with x."""
    schema = Schema.load(
        f"attributes:\n  x: {{role: protect, domain: {{lower: 0, upper: 10}}}}\n  c: {kind}\n"
    )
    x = people()["x"]
    settings = dict(target="c", **options)
    found = evaluate(pa.table({"x": x, "c": before}), pa.table({"x": x, "c": after}), schema, **settings)
    classes: dict[str, dict[str, float]] = found.measures["classification"].details["classes"]
    return classes


def test_a_kept_class_has_one_name_in_files_of_different_kinds() -> None:
    """Parquet stores truth values; CSV, read with a schema, has the text."""
    truth = pa.array((people()["x"] > 5).tolist())
    found = _by_class("{role: keep, type: boolean}", truth, truth.cast(pa.string()))
    assert {f["f_measure"] for f in found.values()} == {f["upper_bound"] for f in found.values()}
    assert min(f["f_measure"] for f in found.values()) > 0.9


def test_classes_that_the_original_does_not_know() -> None:
    """Somebody else's release: words where the original has truth values."""
    schema = Schema.load(
        "attributes:\n  x: {role: protect, domain: {lower: 0, upper: 10}}\n  c: {role: keep}\n"
    )
    x = people()["x"]
    original, released = ({"x": x, "c": c} for c in (x > 5, np.where(x > 5, "often", "rarely")))
    found = evaluate(original, released, schema, target="c").measures["classification"]
    assert found.value is None
    assert "holds something else now" in str(found.reason)


def test_classes_that_differ_in_the_seventh_digit_are_told_apart() -> None:
    codes = 1234560 + (people()["x"] > 5)
    found = _by_class(
        "{type: integer, role: protect, domain: {lower: 1000000, upper: 2000000}}", codes, codes
    )
    assert sorted(found) == ["1234560", "1234561"]


def test_ordinal_classes_are_called_by_their_labels() -> None:
    labels = np.where(people()["x"] > 5, "high", "low")
    kind = "{type: ordinal, role: protect, categories: {labels: [low, high]}}"
    assert sorted(_by_class(kind, labels, labels)) == ["high", "low"]
    assert sorted(_by_class(kind, labels, labels, threshold=0.5)) == ["above 0.5", "at most 0.5"]


def test_a_missing_class_is_on_no_side_of_a_threshold() -> None:
    values = [None, *people()["x"][1:].tolist()]
    with pytest.raises(DataError, match="misses values"):
        _by_class("{role: keep, type: continuous}", values, values, threshold=5.0)
