"""Release: where it goes and who counts it, then a page that says what will happen, then the one draw of real noise."""

from __future__ import annotations

import os
from dataclasses import replace

from fastapi import APIRouter, Response
from starlette.responses import JSONResponse, RedirectResponse

from coterie.errors import CoterieError, LedgerError, ParameterError
from coterie.promise.certifying import warnings_on
from coterie.promise.posterior import odds_in_words
from coterie.publication.ledger import Ledger
from coterie.schema.exact import parse_epsilon, readable
from coterie.studio.asking import Opened, Releasing
from coterie.studio.forms import Form
from coterie.studio.ledgers import Account, accounts, counted
from coterie.studio.pages import step_page
from coterie.studio.plan import Plan, read_plan
from coterie.studio.planning import FORMATS, Asked, purpose, recipe_of
from coterie.studio.project import Project, Stale
from coterie.studio.releases import Releases
from coterie.studio.same_in_code import release_command, release_python
from coterie.studio.steps import released

router = APIRouter()


@router.get("/p/{project}/release")
def release(project: Opened, releases: Releasing) -> Response:
    plan = read_plan(project)
    unused = plan is not None and plan.state in ("planned", "nothing")
    return _form(project, releases, Asked.again(plan) if plan and unused else Asked.first(project))


@router.post("/p/{project}/release")
def plan(project: Opened, releases: Releasing, form: Form) -> Response:
    asked = Asked.sent(form)
    try:
        if form.version != project.state.version:
            raise Stale
        releases.plan(project, asked)
    except CoterieError as problem:
        return _form(project, releases, asked, problem)
    return _to(project, "confirm")


@router.post("/p/{project}/release/ledger")
def ledger(project: Opened, releases: Releasing, form: Form) -> Response:
    """Look into a ledger, or make one; what else was typed stays."""
    asked = Asked.sent(form)
    try:
        if form.text("do") == "make":
            _make_ledger(asked)
        elif not os.path.exists(asked.ledger_path):
            raise LedgerError(f"There is no ledger at {asked.ledger_path}.", "Make one, or check the path.")
    except CoterieError as problem:
        return _form(project, releases, asked, problem)
    return _form(project, releases, replace(asked, lifetime=""))


def _make_ledger(asked: Asked) -> None:
    path, lifetime = asked.ledger_path, parse_epsilon(asked.lifetime, "lifetime")
    if os.path.exists(path) and Ledger.inspect(path).lifetimes.get(asked.population) == lifetime:
        return  # made by the first of two clicks
    Ledger.add_population(path, asked.population, lifetime)


def _form(
    project: Project, releases: Releases, asked: Asked, problem: CoterieError | None = None
) -> Response:
    try:
        last, progress = releases.look(project)
    except CoterieError as unsettled:
        last, progress, problem = read_plan(project), None, problem or unsettled
    kept: list[Account] = []
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
        formats=FORMATS,
        accounts=kept,
        last=last,
        running=progress is not None,
        adds_noise=choice is None or recipe_of(choice)[0].adds_noise,
    )


@router.get("/p/{project}/release/confirm")
def confirm_page(project: Opened) -> Response:
    plan = read_plan(project)
    if plan is None:
        return _to(project, "")
    return _to(project, "outcome") if plan.state != "planned" else _confirmation(project, plan)


@router.post("/p/{project}/release/confirm")
def confirm(project: Opened, releases: Releasing, form: Form) -> Response:
    try:
        if not form.flag("understood"):
            raise ParameterError(
                "The box was not ticked: nothing was released.", "Tick it if you want to release."
            )
        releases.begin(project, form.text("plan"))
    except CoterieError as problem:
        plan = read_plan(project)
        if plan is None or plan.state != "planned":
            return _form(project, releases, Asked.first(project), problem)
        return _confirmation(project, plan, problem)
    return _to(project, "outcome")


def _confirmation(project: Project, plan: Plan, problem: CoterieError | None = None) -> Response:
    before = after = spent = will_count = ""
    if plan.ledger is not None:
        try:
            book = Ledger.inspect(plan.ledger)
            balance, asked = book.balance(str(plan.population)), purpose(plan, project.schema(), plan.data)
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
        ways=_ways(project, plan),
    )


@router.get("/p/{project}/release/outcome")
def outcome(project: Opened, releases: Releasing) -> Response:
    """While it runs, how far it is; then what became of it."""
    problem = None
    try:
        plan, progress = releases.look(project)
    except CoterieError as unsettled:
        plan, progress, problem = read_plan(project), None, unsettled
    if plan is None or plan.state == "planned":
        return _to(project, "confirm" if plan else "")
    if plan.state == "done" and progress is None:
        made = [entry.plan for entry in Project(project.folder).state.released]
        return _to(project, str(made.index(plan.id) + 1))
    shown = progress.shown() if progress else None
    return step_page(project, "release", problem, template="release_outcome.html", plan=plan, job=shown)


@router.get("/p/{project}/release/progress")
def progress(project: Opened, releases: Releasing) -> JSONResponse:
    try:
        plan, progress = releases.look(project)
    except CoterieError:
        return JSONResponse({"state": "begun"})
    if progress is not None:
        return JSONResponse(progress.shown())
    return JSONResponse({"state": plan.state if plan else "none"})


@router.post("/p/{project}/release/finish")
def finish(project: Opened, releases: Releasing, form: Form) -> Response:
    try:
        releases.finish(project, form.text("address"))
    except CoterieError as problem:
        plan = read_plan(project)
        return step_page(project, "release", problem, template="release_outcome.html", plan=plan, job=None)
    return _to(project, "outcome")


router.include_router(released.router)


def _to(project: Project, page: str) -> RedirectResponse:
    return RedirectResponse(f"/p/{project.id}/release{'/' if page else ''}{page}", 303)


def _ways(project: Project, plan: Plan) -> list[tuple[str, str]]:
    return [("Command", release_command(project, plan)), ("Python", release_python(project, plan))]
