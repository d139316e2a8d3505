"""Soria-Comas et al., Fig. 6: white Wine, F-measures of "excellent" for forests trained on masked records."""

from __future__ import annotations

from coterie.papers.experiment import Experiment, ExperimentOutcome, PaperFinding
from coterie.papers.soria_comas_classes import Task, behind, outcome, score
from coterie.papers.tables import white_wine

KS = (3, 10, 50, 150, 400)


def _task() -> Task:
    table = white_wine()
    upper = table.column("quality").to_numpy() > 6
    return Task(table.drop_columns(["quality"]), upper, "Not Excellent", "Excellent", KS)


def _compute() -> ExperimentOutcome:
    task = _task()
    scores = score(task)
    reach = {epsilon: behind(scores, "idp-cbls", epsilon) for epsilon in ("0.1", "1")}
    findings = (
        PaperFinding(
            "iDP-CBLS, behind the upper bound at ε = 0.1, 1 (best k, mean of both classes)",
            "0 or slightly better",
            ", ".join(f"{share:.0%}" for share in reach.values()),
            "at most 2 % at both",
            all(share <= 0.02 for share in reach.values()),
        ),
        PaperFinding(
            "the smaller class is harder: F-measure of Excellent, of Not Excellent (original data)",
            "lower",
            f"{scores.bound[1]:.2f}, {scores.bound[0]:.2f}",
            "Excellent below Not Excellent",
            bool(scores.bound[1] < scores.bound[0]),
        ),
    )
    return outcome(task, scores, findings, "Soria-Comas et al., Fig. 6: white Wine, quality above 6", ())


EXPERIMENT = Experiment(
    name="soria-comas-fig6",
    title="white Wine: F-measures of forests trained on masked records",
    paper="Soria-Comas et al. (iDP), §4.2.2, Fig. 6",
    data=("wine-white",),
    seconds=300,
    compute=_compute,
)
