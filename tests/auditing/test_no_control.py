"""Without a control group, what anybody could infer about the population is never held against a release."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import coterie
from coterie.auditing import Audit, audit_release
from coterie.auditing.attacks import Clock, Subject, all_attacks
from coterie.auditing.attacks.evidence import ReleaseEvidence, Seen
from coterie.auditing.attacks.finding import Level
from coterie.auditing.audit import NO_CONTROL, QuotedPromise, run_attacks
from coterie.report.audit_page import audit_page

PEOPLE = coterie.demo_population(800)
OTHERS = coterie.demo_population(800, seed=7).drop_columns(["person"])
SCHEMA = coterie.demo_schema()
RISKS = (Level.SOME, Level.SEVERE)
LIMITED = "The promise is proved, and limits what any attacker can learn."


@pytest.fixture(scope="module")
def of_strangers() -> Audit:
    """The "release" is a table of entirely other people: it says much about the population, nothing about anybody."""
    return audit_release(PEOPLE, coterie.demo_population(800, seed=11).drop_columns(["person"]), SCHEMA)


def test_rows_of_strangers_are_never_a_risk(of_strangers: Audit) -> None:
    assert [(f.attack, f.level) for f in of_strangers.findings if f.level in RISKS] == []
    inferred = of_strangers.finding("attribute-inference")
    assert inferred is not None
    assert inferred.estimate.low > 0, "which a constant guess would call a risk"
    assert inferred.level is Level.UNKNOWN
    assert "cannot tell population knowledge from leak" in inferred.words


def test_nothing_about_people_could_be_judged_is_no_verdict(of_strangers: Audit) -> None:
    """domain-maximum alone found nothing: that is no comfort."""
    assert of_strangers.level is of_strangers.uncorrected_level is Level.UNKNOWN
    assert of_strangers.verdict.startswith("The audit cannot tell population knowledge from leak")
    promised = QuotedPromise("dp-synthetic", "1-DP", "proved", "", limits=True)
    assert replace(of_strangers, promised=promised).verdict.startswith("That is no fault of the release")
    assert "--control" in NO_CONTROL
    assert "control=" in NO_CONTROL
    assert NO_CONTROL in of_strangers.notes
    assert of_strangers.correction == ""
    assert of_strangers.highest_gain.value == 0
    assert "No verdict." in audit_page(of_strangers)


def _evidence(*, outside: bool) -> ReleaseEvidence:
    """Forty people, released as they are: whoever looks for a leak finds one."""
    draws = np.random.default_rng(5)

    def seen(name: str) -> Seen:
        values, others = draws.normal(50, 10, 40), draws.normal(50, 10, 40)
        return Seen(name, True, values, values.copy(), others if outside else None, 100.0, 0.0, 100.0)

    return ReleaseEvidence((seen("x"), seen("y"), seen("z")), np.arange(40))


@pytest.mark.parametrize("outside", [False, True])
def test_an_attack_that_needs_a_control_group_has_no_level_without_one(outside: bool) -> None:
    attacks = [a for a in all_attacks().values() if a.subject is Subject.RELEASE and a.needs_control]
    found = run_attacks(attacks, _evidence(outside=outside), Clock())
    levels = {f.attack: f.level for f in found.findings}
    if outside:
        assert levels["attribute-inference"] is levels["membership-distance"] is Level.SEVERE
        assert not found.not_run
    else:
        assert set(levels) == {"attribute-inference", "singling-out"}
        assert set(levels.values()) == {Level.UNKNOWN}
        assert [n.attack for n in found.not_run] == ["membership-distance"]


@pytest.mark.parametrize("control", [None, OTHERS], ids=["alone", "with control"])
@pytest.mark.parametrize("method", ["dp-synthetic", "laplace"])
def test_a_proved_release_is_called_what_it_is(method: str, control: object) -> None:
    release = coterie.protect(PEOPLE, SCHEMA, method=method, epsilon=1, seed=3)
    promised = coterie.protect(PEOPLE.slice(0, 50), SCHEMA, method=method, epsilon=1).guarantee
    found = coterie.audit(PEOPLE, release, SCHEMA, control=control)
    linked = [f.attack for f in found.findings if "linkage" in f.attack]
    assert bool(linked) is (method == "laplace"), "no synthetic row stands for a person"
    found = replace(found, promised=QuotedPromise.of(method, promised))
    assert found.level not in RISKS
    assert LIMITED in found.verdict
    assert "does not protect" not in found.verdict


def test_an_empty_or_refuted_promise_limits_nobody() -> None:
    few = PEOPLE.slice(0, 50)
    for epsilon, method, k, limits in (
        (1, "laplace", None, True),
        (3, "laplace", None, False),
        (1, "dp-ir", 5, False),
        (1, "mdav", 5, False),
    ):
        promised = coterie.protect(few, SCHEMA, method=method, epsilon=epsilon, k=k).guarantee
        assert QuotedPromise.of(method, promised).limits is limits, (method, epsilon)


def test_a_leak_is_severe_with_or_without_a_control_group() -> None:
    release = coterie.protect(PEOPLE, SCHEMA, method="ir", k=5)
    for control in (None, OTHERS):
        found = coterie.audit(PEOPLE, release, SCHEMA, control=control, attacks=["tie-linkage"])
        assert found.level is Level.SEVERE
        assert found.verdict.startswith("This does not protect")
