"""What an experiment is: the claims of a paper, judged under each reading of it, and one of four words for each claim.

To add one, write a module here with EXPERIMENT = Experiment(…); `compute` is called once per reading and returns
judgements. A claim is said in our words. Choose its tolerance before the first run. If you change a claim or a tolerance
after a result was seen, say so in the outcome's notes and give the result under the first one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

import pyarrow as pa

from coterie.errors import ParameterError, nearest
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


def explain(
    outcomes: Mapping[str, ExperimentOutcome], readings: Mapping[str, PaperReading]
) -> tuple[PaperFinding, ...]:
    """Every claim under every reading, and the word it ends in: as printed if that holds; else a slip with a proof."""
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
            close = nearest(name, named).partition("There is:")[0]
            its = f"Its readings are {', '.join(named)}."
            raise ParameterError(f"{self.name} has no reading '{name}'.", f"{close} {its}".strip())
        return named[name]

    def judge(self, readings: tuple[str, ...] = (), runs: int | None = None) -> dict[str, ExperimentOutcome]:
        """The outcome under each reading asked for (all of them)."""
        wanted = [self.reading(name) for name in readings] or list(self.readings)
        return {reading.name: self.compute(reading.name, runs or self.runs) for reading in wanted}
