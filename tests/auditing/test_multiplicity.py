"""Many attacks at 95 % each: by luck alone, something "stands" in at most 5 % of all audits; a real leak stands."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from coterie.auditing.attacks.finding import Estimate, Finding, Level, Unit, graded, proportion
from coterie.auditing.audit import Audit, by_luck, in_words, standing

HALF = Estimate.exact(0.5)


def finding(name: str, estimate: Estimate, baseline: Estimate = HALF, level: Level | None = None) -> Finding:
    found = graded(estimate, baseline) if level is None else level
    return Finding(name, "share", estimate, baseline, "a coin", found, f"{name} finds.", unit=Unit.SHARE)


def audit(*findings: Finding, related: bool = True) -> Audit:
    return Audit("x", 100, 100, 0, 0.1, None, findings, (), (), 1.0, True, related)


def test_blind_attacks_stand_rarely_and_without_the_correction_often() -> None:
    draw = np.random.default_rng(8)
    alone = together = 0
    for hits in draw.binomial(400, 0.5, size=(1500, 8)):
        found = [finding(str(place), proportion(int(count), 400)) for place, count in enumerate(hits)]
        alone += any(one.level is not Level.NOTHING for one in found)
        together += bool(standing(found))
    assert alone / 1500 > 0.1, "eight at 97.5 % one-sided: about one audit in six"
    assert together / 1500 < 0.05 + 3 * (0.05 * 0.95 / 1500) ** 0.5


def test_a_real_leak_stands_among_blind_attacks_and_a_doubtful_one_is_named() -> None:
    blind = [finding(f"blind-{place}", proportion(200, 400)) for place in range(6)]
    leak, doubtful = finding("leak", proportion(300, 400)), finding("doubtful", proportion(221, 400))
    assert doubtful.level is Level.SOME
    found = audit(*blind, leak, doubtful)
    assert [one.attack for one in standing(found.findings)] == ["leak"]
    assert found.correction.startswith("Corrected for 8 attacks tried (Holm")
    assert found.correction.endswith(", doubtful may be luck; the rest stands.")
    assert (found.uncorrected_level, found.level) == (Level.SEVERE, Level.SEVERE)
    luck = audit(*blind, doubtful)
    assert (luck.uncorrected_level, luck.level) == (Level.SOME, Level.NOTHING)
    assert "nothing found stands" in luck.correction
    assert luck.to_dict()["level"] == Level.NOTHING
    assert "the finding stands" in audit(*blind, leak).correction
    assert "every finding stands" in audit(*blind, leak, finding("second", proportion(320, 400))).correction


def test_facts_are_not_luck_and_nothing_is_said_where_nothing_is_to_correct() -> None:
    fact = finding("zero-noise", Estimate.exact(0.7), Estimate.exact(0.0), Level.SEVERE)
    blind = [finding(f"blind-{place}", proportion(200, 400)) for place in range(3)]
    assert standing([fact, *blind]) == (fact,)
    assert in_words([fact, *blind]) == "", "the only finding is a fact"
    assert in_words(blind) == ""
    assert in_words([finding("one", proportion(300, 400))]) == "", "one attack, one interval"
    assert audit().level is Level.UNKNOWN
    stranger = audit(*blind, finding("leak", proportion(300, 400)), related=False)
    assert (stranger.correction, stranger.level) == ("", Level.UNKNOWN)


def test_open_ends_and_no_trials_are_no_evidence() -> None:
    assert by_luck(finding("open", Estimate(2.0, float("-inf"), float("inf"), 10), level=Level.NOTHING)) == 1
    assert by_luck(finding("none", proportion(0, 0), level=Level.NOTHING)) == 1


@given(st.lists(st.integers(0, 400), min_size=1, max_size=12))
def test_what_stands_was_found_and_a_further_blind_attack_never_adds_to_it(hits: list[int]) -> None:
    found = [finding(str(place), proportion(count, 400)) for place, count in enumerate(hits)]
    names = {one.attack for one in standing(found)}
    assert names <= {one.attack for one in found if one.level is not Level.NOTHING}
    more = [*found, finding("blind", proportion(200, 400))]
    assert {one.attack for one in standing(more)} <= names


@pytest.mark.parametrize("hits", [221, 230, 250])
def test_p_values_are_near_the_exact_ones(hits: int) -> None:
    exact = float(binomtest(hits, 400, 0.5, alternative="greater").pvalue)
    assert exact / 3 <= by_luck(finding("x", proportion(hits, 400))) <= exact * 3
