"""An audit: attacks run one after another, their findings, and the verdict in words.

Many attacks are tried, each at 95 %: one of them may beat its baseline by luck. Which findings stand when that is counted?
Holm (1979), *A simple sequentially rejective multiple test procedure*, Scand. J. Statist. 6, 65–70: p-values in ascending
order, the i-th of m against α/(m − i + 1), up to the first that fails. The chance that any finding which stands is luck is
at most α, however the attacks depend on each other. Where one attack took the worst of several attributes, its p-value
counts that choice already (see coterie.auditing.attacks.finding). The verdict counts only what stands: α is 5 % for some
risk and 0.1 % for a severe one, because "severe" stops a release (`python -m benchmarks verdicts`)."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import NormalDist
from typing import Any

import pyarrow as pa

from coterie.auditing.attacks import Attack, Clock, OutOfTime, Subject, all_attacks, get_attack
from coterie.auditing.attacks.evidence import NO_ORDER, MethodEvidence, ReleaseEvidence
from coterie.auditing.attacks.finding import (
    CONFIDENCE,
    Estimate,
    Finding,
    Level,
    NotRun,
    half_width,
    simultaneous,
)
from coterie.errors import CoterieError, counted, enumerated
from coterie.methods.guarantee import Statement
from coterie.promise.posterior import limits_attackers, odds_in_words
from coterie.registry import failure
from coterie.schema.frame_kind import to_kind

ALPHA = 1 - CONFIDENCE
SEVERE_ALPHA = 0.001  # "severe" by luck: in at most one audit of a thousand


def by_luck(finding: Finding) -> float:
    """p-value of "no better than the baseline".

    The attack's own, or from the sides of the two intervals that face each other, as if normal; times as many as the
    attack looked at.
    """
    if finding.p_value is not None:
        return finding.p_value
    gain = finding.estimate.value - finding.baseline.value
    own, other = finding.estimate.value - finding.estimate.low, finding.baseline.high - finding.baseline.value
    spread = math.hypot(own, other) / half_width(simultaneous(finding.looked_at))
    if not gain > 0 or not math.isfinite(spread):
        return 1.0
    return 0.0 if spread == 0 else min(finding.looked_at * NormalDist().cdf(-gain / spread), 1.0)


def sampled(finding: Finding) -> bool:
    """Whether chance had a part in it; the others are facts about these tables."""
    drawn = (finding.estimate, finding.baseline)
    return finding.p_value is not None or any(estimate.low < estimate.high for estimate in drawn)


def _risks(findings: Iterable[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.level in (Level.SOME, Level.SEVERE)]


def _judged(findings: Iterable[Finding]) -> list[Finding]:
    """The findings that have a verdict. The others are figures and test nothing."""
    return [finding for finding in findings if finding.level is not Level.UNKNOWN]


def standing(findings: Sequence[Finding], alpha: float = ALPHA) -> tuple[Finding, ...]:
    """The findings of some risk that stand at `alpha` (5 %) in all, in their order."""
    findings = _judged(findings)
    luck = {place: by_luck(finding) for place, finding in enumerate(findings) if sampled(finding)}
    stands = {place for place in range(len(findings)) if place not in luck}
    for left, place in zip(range(len(luck), 0, -1), sorted(luck, key=luck.__getitem__), strict=True):
        if luck[place] > alpha / left:
            break
        stands.add(place)
    return tuple(_risks(findings[place] for place in sorted(stands)))


def in_words(findings: Sequence[Finding]) -> str:
    """What the correction changes; empty where there is nothing to correct."""
    risks = _risks(findings)
    tried = sum(map(sampled, _judged(findings)))
    if tried < 2 or not any(map(sampled, risks)):
        return ""
    opening = f"Corrected for {tried} attacks tried (Holm, 5\u00a0% in all)"
    firm = standing(findings)
    doubtful = [finding.attack for finding in risks if finding not in firm]
    if not doubtful:
        return f"{opening}, {'every finding stands' if len(risks) > 1 else 'the finding stands'}."
    if not firm:
        return f"{opening}, nothing found stands: it may be luck. More people or runs would tell."
    return f"{opening}, {', '.join(doubtful)} may be luck; the rest stands."


# The result of an audit: every finding, everything that was not run, and the verdict in words.

WARNING = "DO NOT PUBLISH: this audit was computed from the original data."
CANNOT_TELL = "cannot tell population knowledge from leak"
NO_CONTROL = (
    "Without a control group, what the release says about its own people cannot be told from what anybody could infer "
    "about such people. Give people of the same population who are not in it (`--control FILE`; in Python `control=`), or "
    "audit the method: `coterie audit method` holds people back by itself."
)


@dataclass(frozen=True, slots=True)
class QuotedPromise:
    """What the release or method claims, to stand beside what was measured."""

    method: str
    status: str
    label: str
    odds: str
    limits: bool = False  # proved, and worth something: no attacker, known or not, gets past it

    @classmethod
    def of(cls, method: str, promise: Statement) -> QuotedPromise:
        odds = odds_in_words(promise)
        return cls(method, str(promise.status), promise.label, odds, limits_attackers(promise))


@dataclass(frozen=True, slots=True, repr=False)
class Audit:
    """What the attacks found. Computed from the original data: do not publish it."""

    subject: str
    people: int
    rows: int
    control: int
    known: float
    promised: QuotedPromise | None
    findings: tuple[Finding, ...]
    not_run: tuple[NotRun, ...]
    notes: tuple[str, ...]
    seconds: float
    complete: bool  # False: the time budget ended some attack
    related: bool = True  # False: nothing shows that the release is of this original
    made: str = ""  # when, UTC
    release_digest: str | None = None  # SHA-256 on the certificate of the release that was attacked
    source_digest: str | None = None  # SHA-256 of the original, where it is a file

    @property
    def level(self) -> Level:
        """The highest level among findings that stand when all attacks are counted together (see coterie.auditing.audit)."""
        level = self._highest(standing(self.findings))
        severe = self._highest(standing(self.findings, SEVERE_ALPHA)) is Level.SEVERE
        return Level.SOME if level is Level.SEVERE and not severe else level

    @property
    def uncorrected_level(self) -> Level:
        """The highest level by each attack's own interval. The more attacks are tried, the more often it is luck."""
        return self._highest(self.findings)

    @property
    def correction(self) -> str:
        return in_words(self.findings) if self.related else ""

    def _highest(self, findings: Sequence[Finding]) -> Level:
        if not self.findings or not self.related:
            return Level.UNKNOWN
        risks = _risks(findings)
        if risks:
            return Level.SEVERE if any(f.level is Level.SEVERE for f in risks) else Level.SOME
        # A bound that gives nothing away is no comfort where nothing about people could be judged.
        if self._without_verdict and not self.judged:
            return Level.UNKNOWN
        return Level.NOTHING

    @property
    def judged(self) -> bool:
        """Whether any attack on people could be judged."""
        return self.related and any(map(_personal, _judged(self.findings)))

    @property
    def _without_verdict(self) -> list[str]:
        return [finding.attack for finding in self.findings if finding.level is Level.UNKNOWN]

    @property
    def verdict(self) -> str:
        if not self.findings:
            return "Nothing can be said: no attack could be run."
        if not self.related:
            return "Nothing can be concluded: the two tables show no relation to each other."
        partial = "" if self.complete else " The time budget ended before all attacks were run."
        return f"{self._found}{partial}"

    @property
    def _found(self) -> str:
        proved = self.promised is not None and self.promised.limits
        limit = " The promise is proved, and limits what any attacker can learn." if proved else ""
        if self.level is Level.UNKNOWN:
            why = f"The audit {CANNOT_TELL} without a control group."
            if proved:
                which = enumerated(self._without_verdict)
                why = f"That is no fault of the release: people who are not in it are missing, to compare with ({which})."
            return f"{why}{limit}"
        if self.level is Level.NOTHING:
            tried = counted(len(_judged(self.findings)), "attack")
            unsure = " That is a measurement, not a proof; a better attacker may find more."
            missing = self._without_verdict
            more = f" Without a control group, {', '.join(missing)} {CANNOT_TELL}." if missing else ""
            luck = " beyond what luck explains" if self.uncorrected_level is not Level.NOTHING else ""
            return f"{tried} did not beat the baseline{luck}.{limit or unsure}{more}"
        firm = standing(self.findings)
        worst = [f for f in firm if f.level is self.level] or list(firm)
        opening = (
            "This does not protect the people in it."
            if self.level is Level.SEVERE and not proved
            else "An attacker learns something."
        )
        return f"{opening} {' '.join(f.words for f in worst[:3])}{limit}"

    def finding(self, attack: str) -> Finding | None:
        return next((f for f in self.findings if f.attack == attack), None)

    @property
    def highest_gain(self) -> Estimate:
        """The largest share of people that any attack gains beyond its baseline: one number for a map of risks.

        The upper end is the highest of all, which the truth exceeds no more often than one interval misses. The lower
        end would be too high by luck if it were simply the highest: each is lowered for the choice first, as if normal.
        """
        found = [finding for finding in _judged(self.findings) if _personal(finding)]
        if not found:
            return Estimate.exact(0.0)
        best = max((f.gain for f in found), key=lambda gain: gain.value)
        lows = []
        for finding in found:
            each, all_of_them = (simultaneous(finding.looked_at * among) for among in (1, len(found)))
            lower = (finding.gain.value - finding.gain.low) * half_width(all_of_them) / half_width(each)
            lows.append(max(finding.gain.value - lower, 0.0))
        return Estimate(best.value, max(lows), max(f.gain.high for f in found), best.trials)

    def __repr__(self) -> str:
        tried = f"{counted(len(self.findings), 'attack')} run, {len(self.not_run)} not run"
        return f"<Audit of the {self.subject}: {self.people:,} people, {tried}; {self.level.value}>"

    def to_frame(self, kind: str = "arrow") -> Any:
        """One row per attack: what was found, the measured rate with its interval, and the baseline."""
        rows = self.findings
        columns = {
            "attack": [finding.attack for finding in rows],
            "level": [finding.level.value for finding in rows],
            "value": [finding.estimate.value for finding in rows],
            "low": [finding.estimate.low for finding in rows],
            "high": [finding.estimate.high for finding in rows],
            "baseline": [finding.baseline.value for finding in rows],
            "words": [finding.words for finding in rows],
        }
        return to_kind(pa.table(columns), kind)

    def to_dict(self) -> dict[str, Any]:
        """For JSON, which has no infinity: an open end is null."""
        content = asdict(self)
        for finding in content["findings"]:
            high = finding["estimate"]["high"]
            finding["estimate"]["high"] = high if math.isfinite(high) else None
        told = {"verdict": self.verdict, "level": self.level}
        alone = {"correction": self.correction, "uncorrected_level": self.uncorrected_level}
        return {"warning": WARNING, **told, **alone, **content}


def _personal(finding: Finding) -> bool:
    """Whether it is about people at risk; so are findings of attacks that no registry knows."""
    attack = all_attacks().get(finding.attack)
    return attack is None or attack.personal


# Run attacks one after another within a time budget; what was not run is named, never dropped.

TIME_UP = "the time budget was used up"


@dataclass(frozen=True, slots=True)
class Outcomes:
    findings: tuple[Finding, ...]
    not_run: tuple[NotRun, ...]
    complete: bool


def chosen(subject: Subject, attacks: Iterable[str | Attack] | None) -> list[Attack]:
    """All attacks of a subject, or those named; Attack values of your own may stand among the names."""
    if attacks is None:
        return [attack for attack in all_attacks().values() if attack.subject is subject]
    found = [attack if isinstance(attack, Attack) else get_attack(attack) for attack in attacks]
    return [attack for attack in found if attack.subject is subject]


def run_attacks(
    attacks: Sequence[Attack],
    evidence: ReleaseEvidence | MethodEvidence,
    clock: Clock,
    progress: Callable[[str], None] | None = None,
) -> Outcomes:
    findings: list[Finding] = []
    not_run: list[NotRun] = []
    complete = True
    for attack in attacks:
        if clock.up:
            not_run.append(NotRun(attack.name, TIME_UP))
            complete = False
            continue
        if progress:
            progress(attack.title)
        start = time.perf_counter()
        try:
            lost = attack.needs_order and isinstance(evidence, ReleaseEvidence) and evidence.truth is None
            outcome = attack.not_run(NO_ORDER) if lost else attack.run(evidence)
            if not isinstance(outcome, Finding | NotRun):  # of another package: a return that was forgotten
                raise TypeError(f"{attack.name} returned neither a finding nor a reason")
        except OutOfTime:
            not_run.append(NotRun(attack.name, f"{TIME_UP} before it had a result"))
            complete = False
            continue
        except CoterieError:
            raise
        except Exception as error:  # one attack that fails does not take the others with it
            outcome = attack.not_run(failure(error))
        if isinstance(outcome, NotRun):
            not_run.append(outcome)
        else:
            if attack.needs_control and isinstance(evidence, ReleaseEvidence) and not evidence.others:
                words = f"{outcome.words} Without a control group this {CANNOT_TELL}."
                outcome = replace(outcome, level=Level.UNKNOWN, words=words)
            findings.append(replace(outcome, seconds=time.perf_counter() - start))
            complete = complete and not (clock.up and attack is not attacks[-1])
    return Outcomes(tuple(findings), tuple(not_run), complete)
