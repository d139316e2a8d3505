"""Release: where it goes and who counts it, a page that says what will happen, the one draw of noise, what came of it."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from fastapi import APIRouter, Response
from starlette.responses import JSONResponse

from coterie.errors import CertificateError, CoterieError, LedgerError, ParameterError
from coterie.methods.guarantee import Status
from coterie.promise.certificate import Certificate
from coterie.promise.certifying import warnings_on
from coterie.promise.posterior import odds_in_words
from coterie.promise.signing import check_signature, require_digest
from coterie.publication.ledger import Ledger, without_credentials
from coterie.schema.attributes import Schema
from coterie.schema.exact import parse_epsilon, readable
from coterie.studio.forms import Form
from coterie.studio.jobs import Jobs
from coterie.studio.ledgers import ShownAccount, account_of, accounts, counted
from coterie.studio.pages import Opened, Releasing, Running, download, go, numbered, step_page
from coterie.studio.project import PastRelease, Project, SignedReason, Stale
from coterie.studio.promise import ChoicePromise, promised
from coterie.studio.release_plan import FORMATS, ReleaseForm, ReleasePlan, recipe_of
from coterie.studio.releases import Releases
from coterie.studio.same_in_code import dossier_ways, release_ways, verify_command
from coterie.studio.steps.audit import last_audit, severe_audit, signed_reason
from coterie.studio.steps.dossier import facts, level_of, other_database

router = APIRouter()


@router.get("/p/{project}/release")
def release(project: Opened, releases: Releasing, jobs: Running) -> Response:
    plan = ReleasePlan.read(project)
    unused = plan is not None and plan.state in ("planned", "nothing")
    asked = ReleaseForm.again(plan) if plan and unused else ReleaseForm.first(project)
    return _form(project, releases, jobs, asked)


@router.post("/p/{project}/release")
def plan(project: Opened, releases: Releasing, jobs: Running, form: Form) -> Response:
    asked = ReleaseForm.sent(form)
    try:
        if form.version != project.state.version:
            raise Stale
        if severe_audit(project, jobs) and not signed_reason(project, jobs):
            raise unsigned()
        releases.plan(project, asked)
    except CoterieError as problem:
        return _form(project, releases, jobs, asked, problem)
    return go(project, "release/confirm")


@router.post("/p/{project}/release/ledger")
def ledger(project: Opened, releases: Releasing, jobs: Running, form: Form) -> Response:
    """Show a ledger, or make one. Everything else that was typed stays."""
    asked = ReleaseForm.sent(form)
    try:
        if form.text("do") == "make":
            _make_ledger(asked, project.schema())
        elif not os.path.exists(asked.ledger_path):
            raise LedgerError(f"There is no ledger at {asked.ledger_path}.", "Make one, or check the path.")
    except CoterieError as problem:
        return _form(project, releases, jobs, asked, problem)
    return _form(project, releases, jobs, replace(asked, lifetime=""))


def _make_ledger(asked: ReleaseForm, schema: Schema) -> None:
    path, lifetime = asked.ledger_path, parse_epsilon(asked.lifetime, "lifetime")
    if os.path.exists(path) and Ledger.inspect(path).lifetimes.get(asked.population) == lifetime:
        return  # made by the first of two clicks
    Ledger.add_population(path, asked.population, lifetime, delta=asked.delta or None, **account_of(schema))


def _form(
    project: Project,
    releases: Releases,
    jobs: Jobs,
    asked: ReleaseForm,
    problem: CoterieError | None = None,
) -> Response:
    last, progress, unsettled = releases.look(project)
    problem, kept = problem or unsettled, list[ShownAccount]()
    if asked.ledger and os.path.exists(asked.ledger_path):
        try:
            kept = accounts(asked.ledger_path)
        except CoterieError as damaged:
            problem = problem or damaged
    choice = project.state.choice
    return step_page(
        project,
        "release",
        problem,
        asked=asked,
        promised=_promised(project),
        audit=last_audit(project, jobs),
        severe=severe_audit(project, jobs),
        signed=signed_reason(project, jobs),
        formats=FORMATS,
        accounts=kept,
        last=last,
        running=progress is not None,
        adds_noise=choice is None or recipe_of(choice)[0].adds_noise,
    )


def _promised(project: Project) -> ChoicePromise | None:
    choice = project.state.choice
    try:
        return promised(choice, project.schema(), project.records) if choice and project.described else None
    except CoterieError:  # the plan says what is wrong
        return None


@router.get("/p/{project}/release/confirm")
def confirm_page(project: Opened, jobs: Running) -> Response:
    plan = ReleasePlan.read(project)
    if plan is None:
        return go(project, "release")
    return go(project, "release/outcome") if plan.state != "planned" else _confirmation(project, jobs, plan)


@router.post("/p/{project}/release/confirm")
def confirm(project: Opened, releases: Releasing, jobs: Running, form: Form) -> Response:
    try:
        severe, signed = severe_audit(project, jobs), signed_reason(project, jobs)
        if not form.flag("understood"):
            raise ParameterError(
                "The box was not ticked: nothing was released.", "Tick it if you want to release."
            )
        if severe and not signed:
            raise unsigned()
        reason = signed if severe else None
        if reason is None and (asked := ReleasePlan.read(project)) and broken(asked.draft):
            reason = SignedReason.sent(form)
        releases.begin(project, form.text("plan"), str(reason or ""))
    except CoterieError as problem:
        plan = ReleasePlan.read(project)
        if plan is None or plan.state != "planned":
            return _form(project, releases, jobs, ReleaseForm.first(project), problem)
        return _confirmation(project, jobs, plan, problem)
    return go(project, "release/outcome")


def broken(made: Certificate) -> bool:
    return made.guarantee.status in (Status.REFUTED, Status.NONE)


def unsigned() -> ParameterError:
    return ParameterError(
        "The audit found a severe risk, and nobody signed a reason to go on: nothing was released.",
        "Choose another release, or sign why you go on at the end of the page 'Audit'.",
    )


def _confirmation(
    project: Project, jobs: Jobs, plan: ReleasePlan, problem: CoterieError | None = None
) -> Response:
    before = after = spent = will_count = ""
    if plan.ledger is not None:
        try:
            book = Ledger.inspect(plan.ledger)
            balance, asked = book.balance(str(plan.population)), plan.purpose(project.schema(), plan.data)
            before, spent = readable(balance.remaining), readable(balance.spent)
            will_count = counted(asked, balance.terms)
            after = readable(book.afford(asked).remaining)
        except CoterieError as unreadable:
            problem = problem or unreadable
    same = [entry for entry in project.state.released if entry.choice == plan.choice]
    return step_page(
        project,
        "release",
        problem,
        template="release_confirm.html",
        plan=plan,
        odds=odds_in_words(plan.draft.guarantee),
        warnings=warnings_on(plan.draft),
        remaining=before,
        counted=will_count,
        spent=spent,
        after=after,
        same=same,
        severe=severe_audit(project, jobs),
        signed=signed_reason(project, jobs),
        broken=broken(plan.draft),
        audit=last_audit(project, jobs),
        ways=release_ways(project, plan),
    )


@router.get("/p/{project}/release/outcome")
def outcome(project: Opened, releases: Releasing) -> Response:
    """While it runs, how far it is; then what became of it."""
    plan, progress, problem = releases.look(project)
    if plan is None or plan.state == "planned":
        return go(project, "release/confirm" if plan else "release")
    if plan.state == "done" and progress is None:
        made = [entry.plan for entry in Project(project.folder).state.released]
        return go(project, f"release/{made.index(plan.id) + 1}")
    shown = progress.shown() if progress else None
    return step_page(project, "release", problem, template="release_outcome.html", plan=plan, job=shown)


@router.get("/p/{project}/release/progress")
def progress(project: Opened, releases: Releasing) -> JSONResponse:
    plan, progress, _ = releases.look(project)
    return JSONResponse(progress.shown() if progress else {"state": plan.state if plan else "none"})


@router.post("/p/{project}/release/finish")
def finish(project: Opened, releases: Releasing, form: Form) -> Response:
    try:
        releases.finish(project, form.text("address"))
    except CoterieError as problem:
        plan = ReleasePlan.read(project)
        return step_page(project, "release", problem, template="release_outcome.html", plan=plan, job=None)
    return go(project, "release/outcome")


@router.get("/p/{project}/release/{number}")
def released(project: Opened, number: int) -> Response:
    entry = numbered(project.state.released, number)
    return _page(project, number, *_checked(entry, entry.data))


@router.post("/p/{project}/release/{number}")
def check_again(project: Opened, number: int, form: Form) -> Response:
    """Check a table behind a password. The address is used for this one check and kept nowhere."""
    entry, address = numbered(project.state.released, number), form.text("address")
    if entry.table is None or without_credentials(address) != entry.data:
        return _page(project, number, _checked(entry, entry.data)[0], other_database(entry))
    return _page(project, number, *_checked(entry, address))


def _page(
    project: Project, number: int, certificate: Certificate | None, problem: CoterieError | None
) -> Response:
    entry = numbered(project.state.released, number)
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
        level=level_of(project, entry),
        ways=[
            ("Check it, as any recipient can", verify_command(entry)),
            *release_ways(project, entry),
            *dossier_ways(entry, facts(project, number, "")),
        ],
    )


@router.get("/p/{project}/release/{number}/{part}")
def take(project: Opened, number: int, part: str) -> Response:
    entry = numbered(project.state.released, number)
    return download({"data": None if entry.table else entry.data, "certificate": entry.certificate}.get(part))


def _checked(entry: PastRelease, address: str) -> tuple[Certificate | None, CoterieError | None]:
    """The certificate, and what is wrong between it and the bytes that lie there now."""
    certificate = None
    try:
        certificate = Certificate.read(entry.certificate)
        check_signature(certificate)
        require_digest(address, entry.table, certificate.release.digest)
    except CoterieError as error:
        return certificate, error
    return certificate, None


def _accounts(entry: PastRelease) -> list[ShownAccount]:
    if entry.ledger is None:
        return []
    try:
        kept = accounts(Path(entry.ledger))
        return [account for account in kept if account.balance.population == entry.population]
    except CoterieError:  # the ledger was moved: the release page says so where one is chosen
        return []
