"""The dossier of a release: what somebody reads who must sign it. One content, written as HTML and as PDF.

Everything on it comes from the certificate, the ledger, an audit and an evaluation. The public version has nothing from the
last two but whether an audit was made and its verdict: no figure that was computed from the original data.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from coterie.auditing.attacks.finding import Level
from coterie.auditing.audit import Audit
from coterie.errors import DataError, MissingExtra, ParameterError, reading
from coterie.evaluation.evaluation import Evaluation
from coterie.methods.guarantee import Status
from coterie.promise.certificate import Certificate
from coterie.promise.signing import check_signature, require_digest
from coterie.publication.ledger import Ledger
from coterie.publication.publishing import publish_files
from coterie.publication.severe_audit import kept_reason, recorded, recorded_audits
from coterie.report.dossier_blocks import Dossier
from coterie.report.dossier_content import DossierFacts, LedgerFacts, dossier_of
from coterie.report.dossier_page import dossier_page
from coterie.table.address import is_database, without_credentials

JsonDocument = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class WrittenDossier:
    """Where the two files of a dossier are, and whether they may be published."""

    html: Path
    pdf: Path
    public: bool


class NoReason(ParameterError):
    """Nobody wrote why a release goes on that protects nobody."""


def write_dossier(
    released: str | Path,
    *,
    table: str | None = None,
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
        The released file, or the address of a database. Its certificate is checked first: a dossier of changed data is
        never written.
    table : str, optional
        The released table, where `released` is a database.
    certificate : Certificate, str or Path, optional
        Default: the file RELEASED.certificate.json. Of a database, give the file: the dossier is written beside it, and
        audit and evaluation are looked for there.
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
        Why the release goes on despite a severe finding of the audit, or a promise that does not hold. Default: the
        reason in the ledger, or beside the release.
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
        Where the audit found a severe risk, or the promise is refuted or there is none, and nobody wrote why the release
        goes on.
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
    given = {name: value for name, value in locals().items() if name not in ("output", "force")}
    name = "public-dossier" if public else "dossier"
    stem = f"{_beside(released, certificate)}.{name}" if output is None else str(output)
    made = compose_dossier(**given)
    html, pdf = Path(f"{stem}.html"), Path(f"{stem}.pdf")
    files = {pdf: dossier_pdf(made), html: dossier_page(made).encode()}
    publish_files(lambda: files, force=force, private=not public)
    return WrittenDossier(html, pdf, public)


def dossier_pdf(made: Dossier) -> bytes:
    """The dossier as PDF, where the library for it is installed."""
    try:
        from coterie.report import dossier_pdf as pdf
    except ImportError:
        raise MissingExtra.named("report", "A dossier as PDF") from None
    return pdf.drawn(made)


def _beside(released: str | Path, certificate: Certificate | str | Path | None) -> Path:
    """The released file; of a database, what its certificate is called after."""
    if not is_database(released):
        return Path(released)
    if certificate is None or isinstance(certificate, Certificate):
        raise ParameterError(
            "A release in a database has no file that its certificate could lie beside.",
            "Give the certificate's file: --certificate (certificate=).",
        )
    return Path(str(certificate).removesuffix(".certificate.json"))


def compose_dossier(
    released: str | Path,
    *,
    table: str | None = None,
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
    beside = _beside(released, certificate)
    file = f"{beside}.certificate.json" if certificate is None else certificate
    made = file if isinstance(file, Certificate) else Certificate.read(file)
    shown = without_credentials(str(released)) if is_database(released) else beside.name
    digest = made.release.digest
    require_digest(str(released), table, digest)
    if made.signature is not None:
        check_signature(made, None)
    folder = beside.absolute().parent
    found = _checked(audit, "audit", folder, digest.value)
    account = _account(ledger, digest.value)
    reason = (despite or "").strip() or (account.entry.purpose.despite if account else "")
    if not reason and not isinstance(file, Certificate):
        reason = kept_reason(Path(file), digest.value)
    earlier = "" if found is not None else _severe_before(folder, made.method)
    severe = found is not None and found["level"] == Level.SEVERE
    broken = made.guarantee.status in (Status.REFUTED, Status.NONE)
    if (severe or earlier or broken) and not reason:
        if severe or earlier:
            which = "this release" if severe else f"another release by '{made.method}' ({earlier[:10]})"
            problem = f"The audit of {which} found a severe risk"
        else:
            problem = f"'{made.method}' protects nobody for certain ({made.guarantee.status})"
        raise NoReason(
            f"{problem}, and nobody wrote why the release goes on.",
            'Choose a proved method (`coterie methods`), or give the reason: --despite "…" (despite=).',
        )
    facts = DossierFacts(
        title=title or (f"{table} in {shown}" if table else shown),
        audience=audience,
        file=shown,
        table=table,
        certificate_file=f"{beside.name}.certificate.json"
        if isinstance(file, Certificate)
        else Path(file).name,
        certificate=made,
        audit=found,
        evaluation=_checked(evaluation, "evaluation", folder, digest.value),
        ledger=account,
        despite=reason,
        severe_before=earlier,
        public=public,
        made=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    return dossier_of(facts)


_KEYS = {"audit": "level", "evaluation": "measures"}  # what every such document has


def _checked(given: Any, what: str, folder: Path, digest: str) -> JsonDocument | None:
    """An audit or an evaluation of these very bytes: the one that is given, or the latest in the folder."""
    key = _KEYS[what]
    if given is None:
        same = [
            one
            for one in recorded(folder, f"{what}.json")
            if key in one and one.get("release_digest") == digest
        ]
        return same[-1] if same else None
    if isinstance(given, Audit | Evaluation):
        found: JsonDocument = given.to_dict()
    else:
        path = Path(given)
        found = _document(path / f"{what}.json" if path.is_dir() else path, what)
    if key not in found:
        raise DataError(f"{given} is not an {what}.", f"Give what `coterie {_COMMANDS[what]}` wrote.")
    of_a_frame = what == "evaluation" and found.get("release_digest") is None  # whoever gives it must know
    if found.get("release_digest") != digest and not of_a_frame:
        raise DataError(
            f"This {what} is of another release, or does not say which.",
            f"Run `coterie {_COMMANDS[what]}` on this very file, with its certificate beside it.",
        )
    return found


_COMMANDS = {"audit": "audit", "evaluation": "evaluate"}


def _severe_before(folder: Path, method: str) -> str:
    """When the latest audit of a release by this method in the folder was made, if it found a severe risk."""
    same = [one for one in recorded_audits(folder) if (one.get("promised") or {}).get("method") == method]
    return str(same[-1].get("made")) if same and same[-1]["level"] == Level.SEVERE else ""


def _document(path: Path, what: str) -> JsonDocument:
    with reading(f"The {what} {path}", DataError):
        text = path.read_text(encoding="utf-8")
    try:
        content = json.loads(text)
    except ValueError:
        content = None
    if not isinstance(content, dict):
        raise DataError(f"{path} is not an {what}.", "Give the JSON file that Coterie wrote.")
    return content


def _account(ledger: str | Path | None, digest: str) -> LedgerFacts | None:
    """The charge for these bytes, and how the account stands."""
    if ledger is None:
        return None
    book = Ledger.inspect(ledger)
    for entry in book.entries.values():
        if entry.state.charged and any(part.sha256 == digest for part in entry.staged):
            population = entry.purpose.population
            others = [one for one in book.releases(population) if one.state.charged and one is not entry]
            return LedgerFacts(entry, book.balance(population), len(others))
    raise DataError(
        "The ledger has no charge for this release.", "Give the ledger that was charged for this very file."
    )
