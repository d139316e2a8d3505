"""What an experiment is: the claims of a paper that it checks, and an outcome that says which of them hold.

To add one, write a module here with EXPERIMENT = Experiment(…); `run` draws, writes and returns findings. A claim is
said in our words. Choose its tolerance before the first run. If you change a claim or a tolerance after a result was
seen, say so in the outcome's notes and give the result under the first one.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from coterie.publication.staging import stage, stage_bytes
from coterie.report.charts import Figure


@dataclass(frozen=True, slots=True)
class PaperFinding:
    """One claim, what the paper published for it, and what we measured."""

    claim: str
    published: str
    measured: str
    tolerance: str
    holds: bool


def counted(
    claim: str,
    published: str,
    holds: NDArray[np.bool_],
    tolerance: str = "every point",
    least: float = 1.0,
    what: str = "points",
) -> PaperFinding:
    """A claim about many points: it holds if at least this part of them keeps it."""
    measured = f"{int(holds.sum())} of {holds.size} {what}"
    return PaperFinding(claim, published, measured, tolerance, bool(holds.mean() >= least))


@dataclass(frozen=True, slots=True)
class ExperimentOutcome:
    findings: tuple[PaperFinding, ...]
    figure: Figure | None
    data: pa.Table
    notes: tuple[str, ...] = ()

    @property
    def reproduced(self) -> bool:
        return all(finding.holds for finding in self.findings)

    @property
    def verdict(self) -> str:
        """The one line: reproduced, or what differs, measured against published."""
        held = sum(finding.holds for finding in self.findings)
        if self.reproduced:
            shown = "; ".join(f"{f.claim}: {f.measured} (published: {f.published})" for f in self.findings)
            return f"reproduced ({held} of {held} claims): {shown}"
        differing = "; ".join(
            f"{f.claim}: measured {f.measured} against published {f.published}"
            for f in self.findings
            if not f.holds
        )
        return f"differs ({held} of {len(self.findings)} claims hold): {differing}"


@dataclass(frozen=True, slots=True)
class Experiment:
    name: str  # "soria-comas-fig3"
    title: str
    paper: str
    data: tuple[str, ...]  # names of data sets (coterie.papers.data)
    seconds: float  # about how long, on two cores
    compute: Callable[[], ExperimentOutcome]

    def run(self, output: Path) -> ExperimentOutcome:
        """Write the figure, its data and the findings into `output`."""
        outcome = self.compute()
        output.mkdir(parents=True, exist_ok=True)
        if outcome.figure is not None:
            stage_bytes(outcome.figure.png(), output / f"{self.name}.png", force=True).publish()
        stage(outcome.data, output / f"{self.name}.csv", force=True).publish()
        content = {
            "experiment": self.name,
            "title": self.title,
            "paper": self.paper,
            "verdict": outcome.verdict,
            "reproduced": outcome.reproduced,
            "findings": [asdict(finding) for finding in outcome.findings],
            "notes": list(outcome.notes),
        }
        text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
        stage_bytes(text.encode(), output / f"{self.name}.json", force=True).publish()
        return outcome
