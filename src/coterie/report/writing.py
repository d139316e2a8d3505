"""write_report(): what a comparison, audit, evaluation, risk or statistics leave in a folder: pages, figures and tables."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from coterie.auditing.audit import Audit
from coterie.auditing.disclosure_risk import Risk
from coterie.comparison.comparison import Comparison
from coterie.errors import OutputError, ParameterError
from coterie.evaluation.evaluation import Evaluation
from coterie.publication.staging import stage_bytes
from coterie.report.audit_page import audit_figure, audit_page
from coterie.report.comparison_report import write_comparison
from coterie.report.ranking import Verdict
from coterie.report.risk_page import risk_page

_SECONDS = 30.0  # of attacks on the examples of a comparison
EVALUATION_FILES = ("evaluation.json",)
AUDIT_FILES = ("audit.html", "audit.json", "audit.png")


def write_report(
    result: Any,
    folder: str | Path,
    *,
    force: bool = False,
    audit_seconds: float | None = _SECONDS,
    accept: Collection[str] = (),
) -> Verdict | None:
    """Write a comparison, an audit, a risk or released statistics as a page that opens offline, with figures and tables.

    An evaluation is written as JSON, for the dossier.

    Parameters
    ----------
    result : Comparison, Audit, Evaluation, Risk or Published
        What `compare`, `audit`, `audit_method`, `evaluate`, `risk` or `statistics.release` returned.
    folder : str or Path
        A comparison writes report.html, results.csv, results.parquet, attributes.parquet and figures/ into it; an
        audit audit.html, audit.json and audit.png; an evaluation evaluation.json; a risk risk.html. Do not publish
        those of the original data. Statistics write statistics.html.
    force : bool, default False
        Replace the files of an earlier audit, or an earlier risk.html or statistics.html.
    audit_seconds : float, optional
        For how long to attack the example releases of a comparison, in all; None: not at all.

    accept : collection of str, optional
        Promises that the verdict on a comparison may name beside those that hold: "heuristic", "refuted" or "none".

    Returns
    -------
    Verdict or None
        What to take from a comparison, in words.

    Raises
    ------
    OutputError
        Where files are in the way.
    MissingExtra
        Where the extra `report` is not installed.

    Examples
    --------
    >>> import coterie, tempfile
    >>> from pathlib import Path
    >>> people, schema = coterie.demo_population(people=200), coterie.demo_schema()
    >>> release = coterie.protect(people, schema, method="ir", k=5)
    >>> found = coterie.audit(people, release, schema, attacks=["tie-linkage"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     coterie.write_report(found, folder)
    ...     sorted(path.name for path in Path(folder).iterdir())
    ['audit.html', 'audit.json', 'audit.png']
    """
    folder = Path(folder)
    if isinstance(result, Audit):
        _write_audit(result, folder, force=force)
        return None
    if isinstance(result, Evaluation):
        refuse_existing(folder, EVALUATION_FILES, force=force)
        folder.mkdir(parents=True, exist_ok=True)
        content = json.dumps(result.to_dict(), indent=2, ensure_ascii=False) + "\n"
        stage_bytes(content.encode(), folder / EVALUATION_FILES[0], force=force, private=True).publish()
        return None
    if isinstance(result, Risk):
        folder.mkdir(parents=True, exist_ok=True)
        stage_bytes(risk_page(result).encode(), folder / "risk.html", force=force, private=True).publish()
        return None
    if isinstance(result, Comparison):
        if result.table is None:
            raise ParameterError("This comparison does not hold its table.", "Take what `compare` returns.")
        return write_comparison(result, result.table, folder, audit_seconds, accept)
    # Last, and loaded here: the room of statistics takes 0.2 CPU seconds, which no comparison should wait for.
    from coterie.report.statistics_page import statistics_page
    from coterie.statistics.releasing.released_files import Published

    if not isinstance(result, Published):
        raise ParameterError(
            f"There is no report for a result of type {type(result).__name__}.",
            "Give a Comparison, an Audit, an Evaluation, a Risk or Published statistics.",
        )
    folder.mkdir(parents=True, exist_ok=True)
    stage_bytes(statistics_page(result).encode(), folder / "statistics.html", force=force).publish()
    return None


def _write_audit(result: Audit, folder: Path, *, force: bool) -> None:
    refuse_existing(folder, AUDIT_FILES, force=force)
    folder.mkdir(parents=True, exist_ok=True)
    content = json.dumps(result.to_dict(), indent=2, ensure_ascii=False) + "\n"
    figure = audit_figure(result)
    written = (audit_page(result).encode(), content.encode(), figure.png() if figure else b"")
    for name, data in zip(AUDIT_FILES, written, strict=True):
        if data:
            stage_bytes(data, folder / name, force=force).publish()
        else:  # of an earlier audit
            (folder / name).unlink(missing_ok=True)


def refuse_existing(folder: Path, names: Sequence[str], *, force: bool) -> None:
    """Say now, not after the work, that an output is in the way."""
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder} is not a folder.", "Choose another place.")
    for name in names:
        if (folder / name).exists() and not force:
            raise OutputError(
                f"{folder / name} exists already.",
                "Choose another folder, or replace it with --force (force=True).",
            )
