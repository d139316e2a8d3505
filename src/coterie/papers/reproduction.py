"""reproduce() and list_experiments(): a paper's figure or table, repeated, and whether it came out."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from coterie.errors import OutputError
from coterie.papers import all_experiments, get_experiment
from coterie.papers.data import available
from coterie.papers.experiment import PaperFinding
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
        One line: reproduced, or what differs.
    reproduced : bool
        Whether every claim holds.
    findings : tuple of PaperFinding
        Each claim, what the paper published for it, what we measured, and whether it holds.
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
    notes: tuple[str, ...]
    seconds: float

    def __repr__(self) -> str:
        held = sum(finding.holds for finding in self.findings)
        word = "reproduced" if self.reproduced else "differs"
        return (
            f"<Reproduction of {self.experiment}: {word}, {held} of {len(self.findings)} claims hold, "
            f"{self.seconds:.1f} s>"
        )

    def to_frame(self, kind: str = "arrow") -> Any:
        """One row per claim.

        Parameters
        ----------
        kind : {"arrow", "pandas", "polars"}, default "arrow"
            Which library's frame to make.
        """
        names = ("claim", "published", "measured", "tolerance", "holds")
        return to_kind(pa.table({name: [getattr(f, name) for f in self.findings] for name in names}), kind)


def reproduce(name: str, output: str | Path = "reproduced") -> Reproduction:
    """Repeat one experiment of the papers; write its figure, its data and its findings.

    Parameters
    ----------
    name : str
        An experiment such as "sanchez-2016-table1". `list_experiments()` lists them.
    output : str or Path, default "reproduced"
        The folder for NAME.png, NAME.csv and NAME.json. It is made where there is none; earlier files are replaced.

    Returns
    -------
    Reproduction
        The claims of the paper, and which of them hold.

    Raises
    ------
    ParameterError
        Where there is no experiment of this name.
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
    started = time.perf_counter()
    found = experiment.run(folder)
    seconds = time.perf_counter() - started
    return Reproduction(
        *(experiment.name, experiment.title, experiment.paper, found.verdict, found.reproduced),
        *(found.findings, found.notes, round(seconds, 1)),
    )


class Experiments(Mapping[str, dict[str, Any]]):
    """Every experiment by name, in the order of papers and figures."""

    def __getitem__(self, name: str) -> dict[str, Any]:
        experiment = get_experiment(name)
        return {
            "name": experiment.name,
            "title": experiment.title,
            "paper": experiment.paper,
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
        By name: title, paper, the public data sets it needs, whether they are here, and about how many seconds it takes.
        `to_frame` makes a table of it.

    Examples
    --------
    >>> import coterie
    >>> coterie.list_experiments()["sanchez-2016-table1"]["paper"]
    'Sánchez et al. 2016, §4.4, Table 1'
    """
    return Experiments()
