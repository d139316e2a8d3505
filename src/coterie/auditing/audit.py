"""The result of an audit: every finding, everything that was not run, and the verdict in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from coterie.attacks import all_attacks
from coterie.attacks.finding import Finding, Level, NotRun
from coterie.attacks.intervals import Estimate, half_width
from coterie.attacks.worst_of import simultaneous
from coterie.auditing.multiplicity import in_words, standing

WARNING = "DO NOT PUBLISH: this audit was computed from the original data."


@dataclass(frozen=True, slots=True)
class Promised:
    """What the release or method claims, to stand beside what was measured."""

    method: str
    status: str
    label: str
    odds: str


@dataclass(frozen=True, slots=True)
class Audit:
    subject: str
    people: int
    rows: int
    control: int
    known: float
    promised: Promised | None
    findings: tuple[Finding, ...]
    not_run: tuple[NotRun, ...]
    notes: tuple[str, ...]
    seconds: float
    complete: bool  # False: the time budget ended some attack
    related: bool = True  # False: nothing shows that the release is of this original

    @property
    def level(self) -> Level:
        """By each attack's own interval: to miss a leak is worse than to look twice."""
        return self._highest(self.findings)

    @property
    def corrected_level(self) -> Level:
        """By the findings that stand when all attacks are counted together (see coterie.auditing.multiplicity)."""
        return self._highest(standing(self.findings))

    @property
    def correction(self) -> str:
        return in_words(self.findings) if self.related else ""

    def _highest(self, findings: Sequence[Finding]) -> Level:
        if not self.findings or not self.related:
            return Level.UNKNOWN
        order = [Level.NOTHING, Level.SOME, Level.SEVERE]
        return max((f.level for f in findings), key=order.index, default=Level.NOTHING)

    @property
    def verdict(self) -> str:
        if not self.findings:
            return "Nothing can be said: no attack could be run."
        if not self.related:
            return "Nothing can be concluded: the two tables show no relation to each other."
        worst = [f for f in self.findings if f.level is self.level]
        count = f"{len(self.findings)} attack{'s' if len(self.findings) > 1 else ''}"
        partial = "" if self.complete else " The time budget ended before all attacks were run."
        if self.level is Level.NOTHING:
            return (
                f"{count} did no better than the baseline. "
                f"That is a measurement, not a proof; a better attacker may find more.{partial}"
            )
        opening = (
            "This does not protect the people in it."
            if self.level is Level.SEVERE
            else "An attacker gains something."
        )
        return f"{opening} {' '.join(f.words for f in worst[:3])}{partial}"

    def finding(self, attack: str) -> Finding | None:
        return next((f for f in self.findings if f.attack == attack), None)

    @property
    def highest_gain(self) -> Estimate:
        """The largest share of people that any attack gains beyond its baseline: one number for a map of risks.

        The upper end is the highest of all, which the truth exceeds no more often than one interval misses. The lower
        end would be too high by luck if it were simply the highest: each is lowered for the choice first, as if normal.
        """
        known = all_attacks()
        found = [f for f in self.findings if f.attack not in known or known[f.attack].personal]
        if not found:
            return Estimate.exact(0.0)
        best = max((f.gain for f in found), key=lambda gain: gain.value)
        lows = []
        for finding in found:
            each, all_of_them = (simultaneous(finding.looked_at * among) for among in (1, len(found)))
            lower = (finding.gain.value - finding.gain.low) * half_width(all_of_them) / half_width(each)
            lows.append(max(finding.gain.value - lower, 0.0))
        return Estimate(best.value, max(lows), max(f.gain.high for f in found), best.trials)

    def to_dict(self) -> dict[str, Any]:
        """For JSON, which has no infinity: an open end is null."""
        content = asdict(self)
        for finding in content["findings"]:
            high = finding["estimate"]["high"]
            finding["estimate"]["high"] = high if math.isfinite(high) else None
        told = {"verdict": self.verdict, "level": self.level}
        corrected = {"correction": self.correction, "corrected_level": self.corrected_level}
        return {"warning": WARNING, **told, **corrected, **content}
