"""The dossier of a release: what somebody reads who must sign it. One content, written as HTML and as PDF.

Everything on it comes from the certificate, the ledger, an audit and an evaluation. The public version has nothing from the
last two but whether an audit was made and its verdict: no figure that was computed from the original data.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from coterie.auditing.attacks.finding import Level
from coterie.auditing.audit import Audit
from coterie.errors import CertificateError, DataError, ParameterError
from coterie.evaluation.evaluation import Evaluation
from coterie.promise.certificate import Certificate
from coterie.promise.signing import check_signature, released_digest
from coterie.publication.ledger import Entry, Ledger
from coterie.publication.publishing import publish_files
from coterie.publication.severe_audit import recorded, recorded_audits
from coterie.report.dossier_blocks import Dossier
from coterie.report.dossier_content import DossierFacts, LedgerFacts, dossier_of
from coterie.report.dossier_page import dossier_page
from coterie.report.dossier_pdf import dossier_pdf
from coterie.schema.exact import as_text

JsonDocument = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class WrittenDossier:
    """Where the two files of a dossier are, and whether they may be published."""

    html: Path
    pdf: Path
    public: bool


def write_dossier(
    released: str | Path,
    *,
    certificate: Certificate | str | Path | None = None,
    audit: Audit | str | Path | None = None,
    evaluation: Evaluation | str | Path | None = None,
    ledger: str | Path | None = None,
    title: str | None = None,
    audience: str = "everybody",
    public: bool = False,
    despite: str | None = None,
    output: str | Path | None = None,
    force: bool = False,
) -> WrittenDossier:
    """Write the dossier of a release: two printable pages for whoever must sign it, as HTML and as PDF.

    Parameters
    ----------
    released : str or Path
        The released file. Its certificate is checked first: a dossier of changed data is never written.
    certificate : Certificate, str or Path, optional
        Default: the file RELEASED.certificate.json.
    audit : Audit, str or Path, optional
        What `audit` found about this very file, or the folder or `audit.json` that holds it. Default: an `audit.json`
        in the folder of the release, or in a folder inside it, that names this release.
    evaluation : Evaluation, str or Path, optional
        What `evaluate` found about this very file, or the folder or JSON file that holds it. Default: an
        `evaluation.json` in the folder of the release, or in a folder inside it, that names this release.
    ledger : str or Path, optional
        The ledger that was charged.
    title : str, optional
        What is released, in a few words. Default: the name of the file.
    audience : str, default "everybody"
        Who gets the release.
    public : bool, default False
        Write the public version, which holds no figure from the original data.
    despite : str, optional
        Why the release goes on despite a severe finding of the audit. Default: the reason in the ledger.
    output : str or Path, optional
        Path of the two files without their ending. Default: RELEASED.dossier, or RELEASED.public-dossier.
    force : bool, default False
        Replace an earlier dossier.

    Returns
    -------
    WrittenDossier
        The paths `html` and `pdf`.

    Raises
    ------
    CertificateError
        Where certificate and released file do not belong together.
    DataError
        Where the audit or the evaluation is of other bytes.
    ParameterError
        Where the audit found a severe risk and nobody wrote why the release goes on.
    MissingExtra
        Where the package for PDF is not installed (`pip install 'coterie[report]'`).

    Examples
    --------
    >>> import coterie, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = coterie.publish(
    ...         coterie.demo_population(people=100),
    ...         coterie.demo_schema(),
    ...         f"{folder}/out.csv",
    ...         method="dp-synthetic",
    ...         epsilon=1,
    ...     )
    ...     made = coterie.write_dossier(written.path, title="Incomes 2026")
    >>> made.html.name, made.pdf.name
    ('out.csv.dossier.html', 'out.csv.dossier.pdf')
    """
    released = Path(released)
    name = "public-dossier" if public else "dossier"
    stem = Path(f"{released}.{name}") if output is None else Path(output)
    made = compose_dossier(
        released,
        certificate=certificate,
        audit=audit,
        evaluation=evaluation,
        ledger=ledger,
        title=title,
        audience=audience,
        public=public,
        despite=despite,
    )
    html, pdf = Path(f"{stem}.html"), Path(f"{stem}.pdf")
    files = {pdf: dossier_pdf(made), html: dossier_page(made).encode()}
    publish_files(lambda: files, force=force, private=not public)
    return WrittenDossier(html, pdf, public)


def compose_dossier(
    released: Path,
    *,
    certificate: Certificate | str | Path | None = None,
    audit: Audit | str | Path | None = None,
    evaluation: Evaluation | str | Path | None = None,
    ledger: str | Path | None = None,
    title: str | None = None,
    audience: str = "everybody",
    public: bool = False,
    despite: str | None = None,
) -> Dossier:
    """The content, checked; nothing is written."""
    if not isinstance(certificate, Certificate):
        certificate = Certificate.read(certificate or f"{released}.certificate.json")
    digest = certificate.release.digest
    if released_digest(str(released), None, digest) != digest.value:
        raise CertificateError(
            f"{released} and its certificate do not belong together: the digests differ.",
            "Give the certificate of this release with --certificate (certificate=), or the file as it was written.",
        )
    if certificate.signature is not None:
        check_signature(certificate, None)
    found = _audit(audit, released, digest.value)
    entry, account = _account(ledger, digest.value)
    reason = despite.strip() if despite and despite.strip() else entry.purpose.despite if entry else ""
    if found is not None and found["level"] == Level.SEVERE and not reason:
        raise ParameterError(
            "The audit of this release found a severe risk, and nobody wrote why it goes on.",
            'Choose a proved method (`coterie methods`), or give the reason: --despite "…" (despite=).',
        )
    facts = DossierFacts(
        title=title or released.name,
        audience=audience,
        file=released.name,
        certificate=certificate,
        audit=found,
        evaluation=_evaluation(evaluation, released, digest.value),
        ledger=account,
        despite=reason,
        public=public,
        made=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    return dossier_of(facts)


def _audit(given: Audit | str | Path | None, released: Path, digest: str) -> JsonDocument | None:
    if given is None:
        same = [
            one for one in recorded_audits(released.absolute().parent) if one.get("release_digest") == digest
        ]
        return same[-1] if same else None
    if isinstance(given, Audit):
        found: JsonDocument = given.to_dict()
    else:
        path = Path(given)
        found = _document(path / "audit.json" if path.is_dir() else path, "audit")
    if found.get("release_digest") != digest:
        raise DataError(
            "This audit is of another release, or does not say which.",
            "Run `coterie audit` on this very file, with its certificate beside it.",
        )
    return found


def _evaluation(given: Evaluation | str | Path | None, released: Path, digest: str) -> JsonDocument | None:
    if given is None:
        known = recorded(released.absolute().parent, "evaluation.json")
        same = [
            one
            for one in known
            if one.get("release_digest") == digest and isinstance(one.get("measures"), dict)
        ]
        return same[-1] if same else None
    if isinstance(given, Evaluation):
        found: JsonDocument = given.to_dict()
    else:
        path = Path(given)
        found = _document(path / "evaluation.json" if path.is_dir() else path, "evaluation")
    if not isinstance(found.get("measures"), dict):
        raise DataError(f"{given} is not an evaluation.", "Give what `coterie evaluate --output` wrote.")
    if found.get("release_digest") not in (
        None,
        digest,
    ):  # None: of a frame, which whoever gives it must know
        raise DataError("This evaluation is of another release.", "Run `coterie evaluate` on this very file.")
    return found


def _document(path: Path, what: str) -> JsonDocument:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"The {what} {path} cannot be read ({error.strerror}).", "Check the path.") from None
    except ValueError:
        content = None
    if not isinstance(content, dict):
        raise DataError(f"{path} is not an {what}.", "Give the JSON file that Coterie wrote.")
    return content


def _short(value: Fraction, *, up: bool = True) -> str:
    """Three digits, rounded against whoever spends: what is spent up, what is left down. The ledger has it exactly."""
    if value <= 0:
        return "0"
    step = Fraction(10) ** (math.floor(math.log10(value)) - 2)
    return as_text((math.ceil if up else math.floor)(value / step) * step)


def _account(ledger: str | Path | None, digest: str) -> tuple[Entry | None, LedgerFacts | None]:
    """The charge for these bytes, and how the account stands."""
    if ledger is None:
        return None, None
    book = Ledger.inspect(ledger)
    for entry in book.entries.values():
        if entry.state.charged and any(part.sha256 == digest for part in entry.staged):
            population = entry.purpose.population
            balance = book.balance(population)
            others = [one for one in book.releases(population) if one.state.charged and one is not entry]
            return entry, LedgerFacts(
                population=population,
                charged=entry.purpose.loss.amount(_short),
                at=entry.changed_at,
                spent=_short(balance.spent),
                lifetime=_short(balance.lifetime),
                remaining=_short(balance.remaining, up=False),
                share_spent=float(balance.spent / balance.lifetime) if balance.lifetime else 0.0,
                others=len(others),
            )
    raise DataError(
        "The ledger has no charge for this release.", "Give the ledger that was charged for this very file."
    )
