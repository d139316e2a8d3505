"""The worst of several attributes is reported at 95 % for all of them; one at a time would cry wolf, and a leak is found."""

from __future__ import annotations

import json

import numpy as np
import pytest
from attack_tables import normals, normals_schema
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from coterie.auditing import audit_release
from coterie.auditing.attacks import all_attacks
from coterie.auditing.attacks.domain_maximum import ATTACK as DOMAIN_MAXIMUM
from coterie.auditing.attacks.evidence import ReleaseEvidence, Seen
from coterie.auditing.attacks.finding import (
    CONFIDENCE,
    Estimate,
    Finding,
    Level,
    epsilon_lower_bound,
    graded,
    interval_words,
    over_control,
    p_value,
    proportion,
    share_against,
    simultaneous,
    worst_of,
)
from coterie.auditing.audit import Audit, by_luck, sampled, standing

ERROR_RATE = 0.001  # of each check below that rests on draws; the seeds are fixed
STATED = 1 - CONFIDENCE
PEOPLE, ATTRIBUTES, TABLES = 200, 8, 200
HALF = Estimate.exact(0.5)


def more_often(alarms: int, tables: int) -> bool:
    """Whether so many alarms refute an error rate of 5 %."""
    return bool(binomtest(alarms, tables, STATED, alternative="greater").pvalue < ERROR_RATE)


def sample(draw: np.random.Generator, people: int = PEOPLE) -> np.ndarray:
    common = draw.normal(size=(people, 1))
    return np.asarray(30 + 3 * (0.5 * common + draw.normal(size=(people, ATTRIBUTES))))


def evidence(seed: int, *, leaked: float = 0.0) -> ReleaseEvidence:
    """A release of strangers from the same population; `leaked` is the share of people whose row is their own."""
    draw = np.random.default_rng([seed, 11])
    original, released, control = sample(draw), sample(draw), sample(draw)
    own = draw.random(PEOPLE) < leaked
    released[own] = original[own]
    attributes = tuple(
        Seen(f"a{place}", True, original[:, place], released[:, place], control[:, place], 60.0, 0.0, 60.0)
        for place in range(ATTRIBUTES)
    )
    return ReleaseEvidence(attributes, np.arange(PEOPLE), seed=seed)


def alarms(attack: str, *, leaked: float = 0.0, tables: int = TABLES) -> int:
    run = all_attacks()[attack].run
    return sum(run(evidence(seed, leaked=leaked)).level is not Level.NOTHING for seed in range(tables))  # type: ignore[union-attr]


@pytest.mark.statistical
@pytest.mark.parametrize("attack", ["attribute-inference", "interval-disclosure"])
def test_a_sample_of_the_same_population_is_rarely_called_a_risk(
    attack: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not more_often(alarms(attack), TABLES)
    # The same tables, with each of the eight intervals at 95 % by itself: the test must tell.
    monkeypatch.setattr("coterie.auditing.attacks.finding.simultaneous", lambda looked_at: CONFIDENCE)
    assert more_often(alarms(attack), TABLES)


@pytest.mark.statistical
def test_rare_labels_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty labels that nine in ten share: nearly everybody is guessed, and little is left to gain over the control."""

    def risks(tables: int = TABLES) -> int:
        found = 0
        for seed in range(tables):
            draw = np.random.default_rng([seed, 3])
            sides = [(draw.random((100, 20)) < 0.1).astype(np.float64) for _ in range(3)]
            columns = (tuple(side[:, place] for side in sides) for place in range(20))
            attributes = tuple(Seen(str(n), False, *three, 1.0, 0.0, 1.0) for n, three in enumerate(columns))
            outcome = all_attacks()["attribute-inference"].run(ReleaseEvidence(attributes, None, seed=seed))
            found += outcome.level is not Level.NOTHING  # type: ignore[union-attr]
        return found

    assert not more_often(risks(), TABLES)
    monkeypatch.setattr("coterie.auditing.attacks.finding.simultaneous", lambda looked_at: CONFIDENCE)
    assert more_often(risks(), TABLES)


@pytest.mark.statistical
@pytest.mark.parametrize(("attack", "leaked"), [("attribute-inference", 0.3), ("interval-disclosure", 0.2)])
def test_a_leak_is_still_found(attack: str, leaked: float) -> None:
    assert alarms(attack, leaked=leaked, tables=40) >= 38


@pytest.mark.statistical
def test_the_worst_of_eight_coins_and_its_p_value() -> None:
    draw = np.random.default_rng(3)
    tables, alone, together, small = 1000, 0, 0, 0
    for hits in draw.binomial(400, 0.5, size=(tables, ATTRIBUTES)):
        alone += any(graded(proportion(int(count), 400), HALF) is not Level.NOTHING for count in hits)
        worst = worst_of(
            {str(place): share_against(HALF, int(count), 400) for place, count in enumerate(hits)}
        )
        together += worst.level is not Level.NOTHING
        small += worst.p_value <= STATED
    assert more_often(alone, tables)
    assert not more_often(together, tables)
    assert not more_often(small, tables)


@given(st.lists(st.integers(0, 300), min_size=1, max_size=10))
def test_the_p_value_and_the_interval_agree(hits: list[int]) -> None:
    worst = worst_of({str(place): share_against(HALF, count, 300) for place, count in enumerate(hits)})
    assert worst.looked_at == len(hits)
    assert worst.name == str(hits.index(max(hits)))
    assert (worst.level is not Level.NOTHING) == (worst.p_value < STATED / 2)
    exact = float(binomtest(max(hits), 300, 0.5, alternative="greater").pvalue) * len(hits)
    if 1e-8 < exact < 0.4:
        assert worst.p_value == pytest.approx(exact, rel=1e-3)


def test_the_confidence_of_each_is_shared_out() -> None:
    assert simultaneous(1) == CONFIDENCE
    assert simultaneous(10) == pytest.approx(0.995)


@pytest.mark.parametrize("rate", [0.25, 0.5, 0.8, 0.95])
def test_risk_over_control_errs_no_more_than_it_says_also_at_high_confidence(rate: float) -> None:
    """Exact, over all pairs of counts. A straight line through the estimate, as it was, errs up to three times as often."""
    trials, confidence = 100, simultaneous(ATTRIBUTES)
    chance = binom.pmf(np.arange(trials + 1), trials, rate)
    shares = [proportion(hits, trials, confidence) for hits in range(trials + 1)]
    wrong = straight = 0.0
    for hits in range(1, trials + 1):
        for others in range(hits):
            a, c = shares[hits], shares[others]
            weight = float(chance[hits] * chance[others])
            slope = (1 - a.value) / (1 - c.value)
            line = np.hypot(a.value - a.low, (c.high - c.value) * slope)
            wrong += weight * (over_control(a, c).low > 0)
            straight += weight * (a.value - c.value > line)
    tail = (1 - confidence) / 2
    assert wrong <= tail
    assert straight > 1.3 * tail


@given(st.integers(0, 60), st.integers(0, 60))
def test_risk_over_control_holds_its_value_and_is_above_0_where_the_difference_is(
    hits: int, others: int
) -> None:
    a, c = proportion(hits, 60), proportion(others, 60)
    risk = over_control(a, c)
    assert np.isfinite([risk.value, risk.low, risk.high]).all()
    assert risk.low <= risk.value + 1e-12
    assert risk.value <= risk.high + 1e-12
    assert risk.high <= 1
    if others < 60:
        apart = a.value - c.value > np.hypot(a.value - a.low, c.high - c.value)
        assert (risk.low > 0) == apart


def test_without_doubt_about_the_control_only_the_attack_counts() -> None:
    risk = over_control(proportion(60, 100), Estimate.exact(0.2))
    own = proportion(60, 100)
    assert risk.low == pytest.approx((own.low - 0.2) / 0.8)
    assert risk.high == pytest.approx((own.high - 0.2) / 0.8)


def test_a_bound_on_epsilon_is_no_certainty() -> None:
    """Its interval is open above and has no width below: its p-value must come from the runs."""

    def bound(confidence: float) -> tuple[Estimate, Estimate]:
        end = epsilon_lower_bound(470, 500, 95, 500, confidence)
        return Estimate(end, end, float("inf"), 500), Estimate.exact(1.41)

    low = bound(CONFIDENCE)[0].low
    luck = p_value(bound, sides=1)
    assert (low > 1.41) == (luck < STATED)
    assert 1e-6 < luck < 0.2


def test_an_attack_of_ones_own_may_leave_the_p_value_to_its_interval() -> None:
    def found(looked_at: int) -> Finding:
        share = proportion(240, 400, simultaneous(looked_at))
        return Finding("own", "share", share, HALF, "a coin", graded(share, HALF), "x.", looked_at=looked_at)

    one, many = by_luck(found(1)), by_luck(found(10))
    exact = float(binomtest(240, 400, 0.5, alternative="greater").pvalue)
    assert exact / 3 < one < 3 * exact
    assert 5 * one < many < 20 * one


@pytest.mark.statistical
def test_the_highest_gain_of_blind_attacks_is_rarely_above_0() -> None:
    draw = np.random.default_rng(6)
    tables, corrected, simply = 600, 0, 0
    for hits in draw.binomial(400, 0.5, size=(tables, ATTRIBUTES)):
        shares = [proportion(int(count), 400) for count in hits]
        found = [
            Finding(str(i), "s", share, HALF, "b", Level.NOTHING, "x.") for i, share in enumerate(shares)
        ]
        gain = Audit("x", 9, 9, 0, 0.1, None, tuple(found), (), (), 1.0, True).highest_gain
        assert gain.low <= gain.value <= gain.high
        corrected += gain.low > 0
        simply += max(found, key=lambda one: one.gain.value).gain.low > 0
    assert more_often(simply, tables)
    assert not more_often(corrected, tables)


def ages(seed: int, *, upper: float, step: float | None = 1.0, **more: bool) -> Finding:
    """Ages under a public bound, released with noise that reaches it."""
    draw = np.random.default_rng([seed, 5])
    original = np.rint(draw.normal(50, 14, 1000).clip(0, 120))
    released = (original + np.rint(draw.laplace(0, 40, 1000))).clip(0, upper)
    age = Seen("age", True, original, released, None, upper, 0.0, upper, step=step, **more)
    found = DOMAIN_MAXIMUM.run(ReleaseEvidence((age,), np.arange(1000)))
    assert isinstance(found, Finding)
    return found


def test_a_public_bound_that_is_a_round_multiple_of_the_largest_age_by_luck_is_no_leak() -> None:
    found = [ages(seed, upper=120.0) for seed in range(100)]
    assert sum("factor for age" in one.details for one in found) > 5, "one of eight factors often fits"
    assert all(one.level is Level.NOTHING for one in found)
    fits = next(one for one in found if "factor for age" in one.details)
    assert "by luck" in fits.words
    assert sampled(fits)
    largest = float(np.rint(np.random.default_rng([1, 5]).normal(50, 14, 1000)).max())
    known = ages(1, upper=1.5 * largest, bounds_from_data=True)
    assert known.level is Level.SEVERE, (
        "where the schema says that the bound is from the data, there is no doubt"
    )
    assert standing([known]) == (known,)


def test_findings_say_how_many_were_looked_at() -> None:
    audit = audit_release(
        normals(300, 3, 1),
        normals(300, 3, 2),
        normals_schema(3),
        control=normals(300, 3, 3),
        in_order=True,
        attacks=[
            "attribute-inference",
            "interval-disclosure",
            "unnoised-values",
            "singling-out",
            "nearest-linkage",
        ],
    )
    found = {finding["attack"]: finding for finding in json.loads(json.dumps(audit.to_dict()))["findings"]}
    looked_at = {name: finding["looked_at"] for name, finding in found.items()}
    assert looked_at == {
        "attribute-inference": 3,
        "interval-disclosure": 3,
        "unnoised-values": 3,
        "singling-out": 2,
        "nearest-linkage": 2,
    }
    for finding in found.values():
        assert 0 < finding["p_value"] <= 1
        assert f"widened for the choice among {finding['looked_at']}" in finding["words"]
    assert found["attribute-inference"]["words"].startswith("Worst of 3 attributes, 'a")


def test_one_alone_is_not_called_the_worst() -> None:
    assert "widened" not in interval_words(proportion(5, 100))
    assert worst_of({"age": share_against(HALF, 5, 10)}).attribute == "'age'"


@pytest.mark.slow
@pytest.mark.statistical
def test_whole_audits_of_harmless_samples() -> None:
    """Every attack on a release, with all its choices, and all attacks together."""
    tables, stands = 150, 0
    for seed in range(tables):
        people, released, control = (normals(200, 6, 10 * seed + part) for part in range(3))
        audit = audit_release(people, released, normals_schema(6), control=control, in_order=True, seed=seed)
        stands += audit.level is not Level.NOTHING
    assert not more_often(stands, tables)
