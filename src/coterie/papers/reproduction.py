"""reproduce() and list_experiments(): a paper's figure or table, repeated, and how each of its claims ends."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from coterie.errors import OutputError
from coterie.papers import all_experiments, get_experiment
from coterie.papers.data import available
from coterie.papers.experiment import ClaimVerdict, PaperFinding, PaperReading, explain
from coterie.publication.staging import stage, stage_bytes
from coterie.schema.frame_kind import to_kind


@dataclass(frozen=True, repr=False)
class Reproduction:
    """What came of repeating one experiment.

    Attributes
    ----------
    experiment : str
        Its name, such as "sanchez-2016-table1".
    title, paper : str
        What it is, and where it was published.
    verdict : str
        One line: how many claims hold, hold under another reading, are a slip in the paper, are not explained.
    reproduced : bool
        Whether every claim holds as printed.
    findings : tuple of PaperFinding
        Each claim, what the paper published for it, its verdict with the evidence, and what was measured under each
        reading.
    readings : tuple of PaperReading
        How the paper was read: in words, the sentence it rests on, and whether the text supports it.
    notes : tuple of str
        What a reader should know beside.
    seconds : float
        How long it took.
    """

    experiment: str
    title: str
    paper: str
    verdict: str
    reproduced: bool
    findings: tuple[PaperFinding, ...]
    readings: tuple[PaperReading, ...]
    notes: tuple[str, ...]
    seconds: float

    def __repr__(self) -> str:
        held = sum(finding.verdict is ClaimVerdict.HOLDS for finding in self.findings)
        return f"<Reproduction of {self.experiment}: {held} of {len(self.findings)} claims hold, {self.seconds:.1f} s>"

    def to_frame(self, kind: str = "arrow") -> Any:
        """One row per claim and reading. `kind`: arrow, pandas or polars."""
        rows = [
            {
                "claim": finding.claim,
                "published": finding.published,
                "verdict": finding.verdict.value,
                "reading": reading,
                "measured": measured,
                "tolerance": finding.tolerance,
                "holds": finding.holds[reading],
                "error": finding.error[reading],
            }
            for finding in self.findings
            for reading, measured in finding.measured.items()
        ]
        return to_kind(pa.Table.from_pylist(rows), kind)


def reproduce(name: str, output: str | Path = "reproduced", reading: str | None = None) -> Reproduction:
    """Repeat one experiment of the papers; write its figure, its data and its findings.

    Every claim ends in one of four words: holds, holds under another reading, slip in the paper, not explained.

    Parameters
    ----------
    name : str
        An experiment such as "sanchez-2016-table1". `list_experiments()` lists them.
    output : str or Path, default "reproduced"
        The folder for NAME.png, NAME.csv and NAME.json; of every further reading, NAME-READING.png and .csv. It is made
        where there is none; earlier files are replaced.
    reading : str, optional
        One way to read the paper, such as "printed" or "sigma". By default all of them, side by side.
        `list_experiments()` names those of each experiment.

    Returns
    -------
    Reproduction
        The claims of the paper, and how each ends.

    Raises
    ------
    ParameterError
        Where there is no experiment of this name, or it has no such reading.
    DataError
        Where a public data set is not here and cannot be fetched.
    OutputError
        Where `output` is a file, or nothing can be written there.

    Examples
    --------
    >>> import coterie, tempfile
    >>> if coterie.list_experiments()["sanchez-2016-table1"]["data_here"]:
    ...     with tempfile.TemporaryDirectory() as folder:
    ...         found = coterie.reproduce("sanchez-2016-table1", folder)
    """
    experiment, folder = get_experiment(name), Path(output)
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder} is a file.", "Choose another folder for the output.")
    asked = (experiment.reading(reading).name,) if reading else ()
    started = time.perf_counter()
    outcomes = experiment.judge(asked)
    findings = explain(outcomes, {one.name: one for one in experiment.readings})
    found = Reproduction(
        experiment.name,
        experiment.title,
        experiment.paper,
        _verdict(findings),
        all(finding.verdict is ClaimVerdict.HOLDS for finding in findings),
        findings,
        tuple(experiment.reading(name) for name in outcomes),
        tuple(dict.fromkeys(note for outcome in outcomes.values() for note in outcome.notes)),
        round(time.perf_counter() - started, 1),
    )
    folder.mkdir(parents=True, exist_ok=True)
    headline = experiment.headline if experiment.headline in outcomes else next(iter(outcomes))
    for read, outcome in outcomes.items():
        base = name if read == headline else f"{name}-{read}"
        if outcome.figure is not None:
            stage_bytes(outcome.figure.png(), folder / f"{base}.png", force=True).publish()
        stage(outcome.data, folder / f"{base}.csv", force=True).publish()
    content = asdict(found)
    del content["seconds"]  # the same findings, the same file
    text = json.dumps({**content, "headline": headline}, indent=2, ensure_ascii=False) + "\n"
    stage_bytes(text.encode(), folder / f"{name}.json", force=True).publish()
    return found


def _verdict(findings: Sequence[PaperFinding]) -> str:
    """One line: how many claims end in which word, and what does not simply hold."""
    counts = Counter(finding.verdict for finding in findings)
    said = ", ".join(f"{word}: {counts[word]}" for word in ClaimVerdict if counts[word])
    rest = "; ".join(f"{f.claim}: {f.evidence}" for f in findings if f.verdict is not ClaimVerdict.HOLDS)
    return f"{len(findings)} claims ({said})" + (f". {rest}" if rest else "")


class Experiments(Mapping[str, dict[str, Any]]):
    """Every experiment by name, in the order of papers and figures."""

    def __getitem__(self, name: str) -> dict[str, Any]:
        experiment = get_experiment(name)
        return {
            "name": experiment.name,
            "title": experiment.title,
            "paper": experiment.paper,
            "readings": [reading.name for reading in experiment.readings],
            "data": list(experiment.data),
            "data_here": all(available(name) for name in experiment.data),
            "seconds": experiment.seconds,
        }

    def __iter__(self) -> Iterator[str]:
        return iter(all_experiments())

    def __len__(self) -> int:
        return len(all_experiments())

    def __repr__(self) -> str:
        return f"<Experiments: {', '.join(self)}>"

    def to_frame(self, kind: str = "arrow") -> Any:
        """One row per experiment, as an Arrow table, a pandas or a polars frame."""
        return to_kind(pa.Table.from_pylist(list(self.values())), kind)


def list_experiments() -> Experiments:
    """List the experiments of the papers that `reproduce` repeats.

    Returns
    -------
    Experiments
        By name: title, paper, readings, the public data sets it needs, whether they are here, and about how many seconds
        it takes.
        `to_frame` makes a table of it.

    Examples
    --------
    >>> import coterie
    >>> coterie.list_experiments()["sanchez-2016-table1"]["paper"]
    'Sánchez et al. 2016, §4.4, Table 1'
    """
    return Experiments()
