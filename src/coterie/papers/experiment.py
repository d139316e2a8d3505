"""What an experiment is: the claims of a paper, judged under each reading of it, and one of four words for each claim.

To add one, write a module here with EXPERIMENT = Experiment(…); `compute` is called once per reading and returns
judgements. A claim is said in our words. Choose its tolerance before the first run. If you change a claim or a tolerance
after a result was seen, say so in the outcome's notes and give the result under the first one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path

import pyarrow as pa

from coterie.errors import ParameterError
from coterie.publication.staging import stage, stage_bytes
from coterie.report.charts import Figure


class ClaimVerdict(StrEnum):
    """How a published claim ends."""

    HOLDS = "holds"
    OTHER_READING = "holds under another reading"
    SLIP = "slip in the paper"
    UNEXPLAINED = "not explained"


class Support(StrEnum):
    """What the text says of a reading."""

    PRINTED = "the text as it is printed"
    SUPPORTED = "other sentences of the paper support it"
    SILENT = "the text neither says nor excludes it"
    CONTRADICTED = "the text contradicts it"


@dataclass(frozen=True, slots=True)
class PaperReading:
    """One way to understand what the paper did, and the sentence it rests on."""

    name: str  # "sigma"
    words: str
    rests_on: str
    support: Support


def as_printed(rests_on: str) -> PaperReading:
    return PaperReading("printed", "as printed", rests_on, Support.PRINTED)


@dataclass(frozen=True, slots=True)
class Judgement:
    """One claim under one reading. `error`: how likely a correct implementation is judged otherwise with other seeds.

    `slip` is a proof, checked in this very run, that the claim as published cannot be.
    """

    claim: str
    published: str
    measured: str
    tolerance: str
    holds: bool
    error: str = "exact"
    slip: str = ""


@dataclass(frozen=True, slots=True)
class PaperFinding:
    """One claim of a paper, and how it ends: one of the four words, and the evidence."""

    claim: str
    published: str
    tolerance: str
    verdict: ClaimVerdict
    reading: str  # under which it holds; empty if under none
    evidence: str
    measured: Mapping[str, str]  # by reading
    holds: Mapping[str, bool]  # by reading
    error: Mapping[str, str]  # by reading


@dataclass(frozen=True, slots=True)
class ExperimentOutcome:
    """What came out under one reading."""

    judgements: tuple[Judgement, ...]
    figure: Figure | None
    data: pa.Table
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """All readings that were asked for, brought together."""

    findings: tuple[PaperFinding, ...]
    readings: tuple[PaperReading, ...]
    notes: tuple[str, ...]

    @property
    def reproduced(self) -> bool:
        """Whether every claim holds as printed."""
        return all(finding.verdict is ClaimVerdict.HOLDS for finding in self.findings)

    @property
    def verdict(self) -> str:
        """The one line: how many claims end in which word, and what does not simply hold."""
        counts = {word: sum(f.verdict is word for f in self.findings) for word in ClaimVerdict}
        said = ", ".join(f"{word}: {count}" for word, count in counts.items() if count)
        rest = "; ".join(
            f"{f.claim}: {f.evidence}" for f in self.findings if f.verdict is not ClaimVerdict.HOLDS
        )
        return f"{len(self.findings)} claims ({said})" + (f". {rest}" if rest else "")


def explain(
    outcomes: Mapping[str, ExperimentOutcome], readings: Mapping[str, PaperReading]
) -> tuple[PaperFinding, ...]:
    """Every claim under every reading, and the word it ends in: as printed if that holds; else a slip if there is a "
    "proof."""
    first = next(iter(outcomes))
    found = []
    for place, claim in enumerate(outcomes[first].judgements):
        judged = {name: outcome.judgements[place] for name, outcome in outcomes.items()}
        assert len({judgement.claim for judgement in judged.values()}) == 1, (
            f"{claim.claim}: other claims elsewhere"
        )
        under = next((name for name, judgement in judged.items() if judgement.holds), "")
        slip = next((judgement.slip for judgement in judged.values() if judgement.slip), "")
        if under and readings[under].support is Support.PRINTED:
            verdict, evidence = ClaimVerdict.HOLDS, claim.measured
        elif slip:
            verdict, evidence = ClaimVerdict.SLIP, slip
        elif under:
            verdict = ClaimVerdict.OTHER_READING
            reading = readings[under]
            evidence = f"{judged[under].measured} ({reading.words}; {reading.support})"
            if under != first:
                evidence += f" instead of {claim.measured}"
        else:
            verdict = ClaimVerdict.UNEXPLAINED
            evidence = f"measured {claim.measured} against published {claim.published}"
        found.append(
            PaperFinding(
                claim.claim, claim.published, claim.tolerance, verdict, under, evidence,
                {name: judgement.measured for name, judgement in judged.items()},
                {name: judgement.holds for name, judgement in judged.items()},
                {name: judgement.error for name, judgement in judged.items()},
            )
        )  # fmt: skip
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Experiment:
    name: str  # "soria-comas-fig3"
    title: str
    paper: str
    data: tuple[str, ...]  # names of data sets (coterie.papers.data)
    seconds: float  # about how long, on two cores, under all readings
    compute: Callable[[str, int], ExperimentOutcome]  # of a reading's name and a number of runs
    readings: tuple[PaperReading, ...]  # as printed first
    headline: str = "printed"  # the reading that the figure shows
    runs: int = 1

    def reading(self, name: str) -> PaperReading:
        named = {reading.name: reading for reading in self.readings}
        if name not in named:
            raise ParameterError(
                f"{self.name} has no reading '{name}'.", f"Its readings are {', '.join(named)}."
            )
        return named[name]

    def judge(self, readings: tuple[str, ...] = (), runs: int | None = None) -> dict[str, ExperimentOutcome]:
        """The outcome under each reading asked for (all of them)."""
        wanted = [self.reading(name) for name in readings] or list(self.readings)
        return {reading.name: self.compute(reading.name, runs or self.runs) for reading in wanted}

    def run(self, output: Path, readings: tuple[str, ...] = ()) -> Found:
        """Write the figure, its data and the findings into `output`."""
        outcomes = self.judge(readings)
        findings = explain(outcomes, {reading.name: reading for reading in self.readings})
        asked = tuple(self.reading(name) for name in outcomes)
        found = Found(
            findings, asked, tuple(dict.fromkeys(note for o in outcomes.values() for note in o.notes))
        )
        output.mkdir(parents=True, exist_ok=True)
        headline = self.headline if self.headline in outcomes else next(iter(outcomes))
        for name, outcome in outcomes.items():
            base = self.name if name == headline else f"{self.name}-{name}"
            if outcome.figure is not None:
                stage_bytes(outcome.figure.png(), output / f"{base}.png", force=True).publish()
            stage(outcome.data, output / f"{base}.csv", force=True).publish()
        content = {
            "experiment": self.name,
            "title": self.title,
            "paper": self.paper,
            "verdict": found.verdict,
            "reproduced": found.reproduced,
            "headline": headline,
            "readings": [asdict(reading) for reading in asked],
            "findings": [asdict(finding) for finding in findings],
            "notes": list(found.notes),
        }
        text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
        stage_bytes(text.encode(), output / f"{self.name}.json", force=True).publish()
        return found
