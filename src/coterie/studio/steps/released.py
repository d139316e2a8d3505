"""What was released: the files, whether they belong together, what to tell those who get them."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter, Response
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse

from coterie.errors import CertificateError, CoterieError, ParameterError
from coterie.promise.certificate import Certificate
from coterie.promise.posterior import odds_in_words
from coterie.promise.signing import check_signature, released_digest
from coterie.publication.ledger import without_credentials
from coterie.studio.asking import Opened
from coterie.studio.forms import Form
from coterie.studio.ledgers import Account, accounts
from coterie.studio.pages import step_page
from coterie.studio.project import Project, Released
from coterie.studio.same_in_code import release_command, release_python, verify_command

router = APIRouter()


@router.get("/p/{project}/release/{number}")
def released(project: Opened, number: int) -> Response:
    entry = _released(project, number)
    return _page(project, number, *_checked(entry, entry.data))


@router.post("/p/{project}/release/{number}")
def check_again(project: Opened, number: int, form: Form) -> Response:
    """A table behind a password: the address is used for this one check and kept nowhere."""
    entry, address = _released(project, number), form.text("address")
    if entry.table is None or without_credentials(address) != entry.data:
        other = ParameterError(
            "This is not the database of the release.", f"Give the address of {entry.data}."
        )
        return _page(project, number, _checked(entry, entry.data)[0], other)
    return _page(project, number, *_checked(entry, address))


def _page(
    project: Project, number: int, certificate: Certificate | None, problem: CoterieError | None
) -> Response:
    entry = _released(project, number)
    return step_page(
        project,
        "release",
        template="release_done.html",
        number=number,
        entry=entry,
        certificate=certificate,
        unverified=problem,
        # Not reached, rather than found wrong: with a password it may be.
        locked=bool(entry.table and certificate and problem and not isinstance(problem, CertificateError)),
        odds=odds_in_words(certificate.guarantee) if certificate else "",
        accounts=_accounts(entry),
        ways=[
            ("Check it, as any recipient can", verify_command(entry)),
            ("Command", release_command(project, entry)),
            ("Python", release_python(project, entry)),
        ],
    )


@router.get("/p/{project}/release/{number}/{part}")
def download(project: Opened, number: int, part: str) -> Response:
    entry = _released(project, number)
    path = {"data": None if entry.table else entry.data, "certificate": entry.certificate}.get(part)
    if path is None or not Path(path).is_file():
        raise HTTPException(404)
    return FileResponse(path, filename=Path(path).name, media_type="application/octet-stream")


def _released(project: Project, number: int) -> Released:
    if not 1 <= number <= len(project.state.released):
        raise HTTPException(404)
    return project.state.released[number - 1]


def _checked(entry: Released, address: str) -> tuple[Certificate | None, CoterieError | None]:
    """The certificate, and what is wrong between it and the bytes that lie there now."""
    try:
        certificate = Certificate.from_json(Path(entry.certificate).read_bytes())
    except OSError as error:
        gone = CertificateError(
            f"The certificate cannot be read ({error.strerror}).", f"It was written to {entry.certificate}."
        )
        return None, gone
    except CoterieError as error:
        return None, error
    try:
        check_signature(certificate, None)
        if (
            released_digest(address, entry.table, certificate.release.digest)
            != certificate.release.digest.value
        ):
            raise CertificateError(
                "The released data were changed since they were certified: the digests differ.",
                "Do not pass them on.",
            )
    except CoterieError as error:
        return certificate, error
    return certificate, None


def _accounts(entry: Released) -> list[Account]:
    if entry.ledger is None:
        return []
    try:
        return [account for account in accounts(Path(entry.ledger)) if account.population == entry.population]
    except CoterieError:  # the ledger was moved: the release page says so where one is chosen
        return []
