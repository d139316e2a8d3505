"""Each attack on a release finds what is there, and nothing where nothing is."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pytest
from attack_tables import mixed, mixed_schema, normals, normals_schema, real_data

from coterie import Schema, protect
from coterie.auditing import Audit, audit_release
from coterie.auditing.attacks import Attack, Clock, Outcome, Subject, all_attacks, get_attack
from coterie.auditing.attacks._nearest import nearest_rows
from coterie.auditing.attacks.evidence import ReleaseEvidence, Seen
from coterie.auditing.attacks.finding import Estimate, Finding, Level, NotRun
from coterie.errors import ParameterError


def audited(people: pa.Table, released: pa.Table, *attacks: str, **more: object) -> Audit:
    schema = normals_schema(people.num_columns)
    return audit_release(people, released, schema, attacks=attacks, in_order=True, **more)  # type: ignore[arg-type]


def only(audit: Audit) -> Finding:
    (finding,) = audit.findings
    return finding


PEOPLE, OTHERS = normals(1500, 3, 1), normals(1000, 3, 2)
STRANGERS = normals(1500, 3, 3)  # rows of nobody: what a perfect synthesiser would release
WITH_CONTROL = ("attribute-inference", "membership-distance", "singling-out")
WITH_ORDER = ("nearest-linkage", "interval-disclosure", "tie-linkage")


@pytest.mark.parametrize("attack", [*WITH_CONTROL, *WITH_ORDER])
@pytest.mark.parametrize("control", [True, False])
def test_rows_of_strangers_give_nobody_away(attack: str, control: bool) -> None:
    audit = audited(PEOPLE, STRANGERS, attack, control=OTHERS if control else None)
    unknown = [Level.UNKNOWN] if not control and all_attacks()[attack].needs_control else []
    assert [finding.level for finding in audit.findings] in ([], unknown or [Level.NOTHING])
    assert audit.findings or (attack == "membership-distance" and not control)


@pytest.mark.parametrize("attack", [*WITH_CONTROL, "nearest-linkage", "interval-disclosure"])
def test_the_original_itself_gives_everything_away(attack: str) -> None:
    finding = only(audited(PEOPLE, PEOPLE, attack, control=OTHERS))
    assert finding.level is Level.SEVERE
    assert finding.estimate.low > finding.baseline.high


def test_individual_ranking_without_noise_is_read_like_the_original() -> None:
    released = protect(PEOPLE, normals_schema(3), method="ir", epsilon=1, k=10, seed=1).table
    audit = audited(PEOPLE, released, *WITH_CONTROL, *WITH_ORDER, "unnoised-values", control=OTHERS)
    assert audit.level is Level.SEVERE
    linkage, inference = audit.finding("nearest-linkage"), audit.finding("attribute-inference")
    assert linkage is not None
    assert linkage.estimate.low > 0.95
    assert inference is not None
    assert inference.estimate.low > 0.5
    unnoised = audit.finding("unnoised-values")
    assert unnoised is not None
    assert unnoised.estimate.value == 1.0


def test_noise_in_every_group_is_recognised_as_such() -> None:
    released = protect(PEOPLE, normals_schema(3), method="dp-ir", epsilon=1, k=10, seed=1).table
    assert only(audited(PEOPLE, released, "unnoised-values")).level is Level.NOTHING


def test_mixed_tables_with_kept_columns() -> None:
    people, others, schema = mixed(800, 1), mixed(500, 2), mixed_schema()
    release = protect(people, schema, method="ir", epsilon=1, k=5, seed=1)
    audit = audit_release(people, release.data, schema, control=others, certificate=release.certificate)
    assert {finding.attack for finding in audit.findings} >= {*WITH_CONTROL, *WITH_ORDER}
    linkage = audit.finding("nearest-linkage")
    assert linkage is not None
    assert linkage.estimate.low > 0.8


def test_distances_of_mixed_types_by_hand() -> None:
    delta = np.array([[0.0, 0.5], [0.5, 0.0]])
    number = Seen("x", True, np.array([1.0]), np.array([0.0, 4.0]), None, 10.0, 0.0, 10.0)
    label = Seen("c", False, np.array([1.0]), np.array([0.0, 1.0]), None, 1.0, 0.0, 1.0, distance=delta)
    plain = Seen("t", False, np.array([7.0]), np.array([7.0, 7.0]), None, 1.0, 0.0, 1.0)
    found = nearest_rows((number, label, plain), [a.original for a in (number, label, plain)], Clock())
    assert found.row.tolist() == [1]  # 0.3 + 0 + 0 against 0.1 + 0.5 + 0
    assert found.distance[0] == pytest.approx(0.3, abs=1e-6)


def test_large_numbers_keep_their_differences() -> None:
    """Timestamps are around 1.7 billion seconds: single precision alone would lose a minute."""
    base = 1.7e9
    column = Seen(
        "t", True, np.array([base + 5.0]), base + np.array([0.0, 5.0, 9.0]), None, 1e5, base, base + 1e5
    )
    assert nearest_rows((column,), [column.original], Clock()).row.tolist() == [1]


@pytest.mark.parametrize(("factor", "leaks"), [(1.5, True), (2.0, True), (1.37, False)])
def test_a_bound_computed_from_the_maximum_gives_it_away(factor: float, leaks: bool) -> None:
    draw = np.random.default_rng(4)
    values = np.round(draw.lognormal(3, 0.5, 400), 3)
    entry = {"type": "continuous", "role": "protect", "domain": {"lower": 0, "upper": factor * values.max()}}
    schema = Schema.load({"attributes": {"x": entry}})
    table = pa.table({"x": values})
    hits = 0
    for seed in range(20):
        released = protect(table, schema, method="laplace", epsilon="0.1", seed=seed).table
        found = only(audit_release(table, released, schema, attacks=["domain-maximum"], in_order=True))
        hits += found.level is Level.SEVERE
    assert hits == (20 if leaks else 0)


def test_a_public_bound_that_somebody_reaches_is_no_leak() -> None:
    values = np.append(np.random.default_rng(5).uniform(0, 90, 300), 100.0)
    entry = {"type": "continuous", "role": "protect", "domain": {"lower": 0, "upper": 100}}
    schema, table = Schema.load({"attributes": {"x": entry}}), pa.table({"x": values})
    released = protect(table, schema, method="laplace", epsilon="0.1", seed=1).table
    found = only(audit_release(table, released, schema, attacks=["domain-maximum"], in_order=True))
    assert found.level is Level.NOTHING


def test_a_column_of_one_decimal_under_a_round_bound_is_looked_at_like_any_other() -> None:
    """The rounded mean of many 0.1 is not 0.1, so such a column seemed to have a tail."""
    entry = {"type": "continuous", "role": "protect", "domain": {"lower": 0, "upper": 1}}
    schema, table = Schema.load({"attributes": {"x": entry}}), pa.table({"x": np.full(500, 0.1)})
    released = protect(table, schema, method="laplace", epsilon="0.1", seed=1).table
    found = only(audit_release(table, released, schema, attacks=["domain-maximum"], in_order=True))
    assert found.level is Level.NOTHING


def test_equal_answers_go_out_without_noise() -> None:
    """Insurance `children`, k = 10: almost every group of idp-cbls holds one value and gets no noise."""
    table = pacsv.read_csv(real_data("insurance.csv")).select(["age", "children", "bmi"])
    schema = Schema.load(
        {
            "attributes": {
                "age": {"type": "integer", "role": "protect", "domain": {"lower": 0, "upper": 120}},
                "children": {"type": "integer", "role": "protect", "domain": {"lower": 0, "upper": 20}},
                "bmi": {"type": "continuous", "role": "protect", "domain": {"lower": 0, "upper": 100}},
            }
        }
    )
    released = protect(table, schema, method="idp-cbls", epsilon="0.1", k=10, seed=1).table
    found = only(audit_release(table, released, schema, attacks=["unnoised-values"], in_order=True))
    assert found.level is not Level.NOTHING
    assert found.details["without noise in children"] == 1.0


def test_intervals_do_not_cry_wolf() -> None:
    """Over twenty harmless releases no attack with a control group is graded; a wrong interval would grade some."""
    alarms = 0
    for seed in range(20):
        audit = audited(
            normals(400, 3, 100 + seed),
            normals(400, 3, 200 + seed),
            *WITH_CONTROL,
            *WITH_ORDER,
            control=normals(400, 3, 300 + seed),
            seed=seed,
        )
        alarms += sum(finding.level is not Level.NOTHING for finding in audit.findings)
    # 120 findings at 2.5 % (one side): 3 expected; 10 or more has probability below 0.2 %.
    assert alarms < 10


def test_every_attack_tells_its_story() -> None:
    for attack in all_attacks().values():
        assert attack.story.endswith(".")
        assert attack.inputs
        assert attack.statistic
        assert attack.baseline
        assert attack.cost
        assert attack.title


def test_a_misspelt_attack_is_named() -> None:
    with pytest.raises(ParameterError, match="Did you mean 'tie-linkage'"):
        get_attack("tie-linkege")


def _always(evidence: ReleaseEvidence) -> Outcome:
    if evidence.truth is None:
        return NotRun("cheat", "no truth")
    one, none = Estimate.exact(1.0), Estimate.exact(0.0)
    return Finding("cheat", "share", one, none, "nobody", Level.SEVERE, "Looked it up.")


def test_an_attack_of_your_own_joins_the_audit() -> None:
    cheat = Attack(
        "cheat",
        "Cheat",
        Subject.RELEASE,
        "Somebody looks it up.",
        ("all",),
        "share",
        "0",
        "none",
        _always,
        rank=1,
    )
    audit = audit_release(
        PEOPLE, STRANGERS, normals_schema(3), attacks=[cheat, "nearest-linkage"], in_order=True
    )
    assert [finding.attack for finding in audit.findings] == ["cheat", "nearest-linkage"]
    assert audit.level is Level.SEVERE
