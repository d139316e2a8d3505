"""Release the statistics: where to, who counts it; a page that says what will happen; the one draw; the result."""

from __future__ import annotations

import shlex

from fastapi import APIRouter, Response

from coterie.errors import CoterieError, ParameterError
from coterie.schema.exact import as_text
from coterie.schema.exact import number as short
from coterie.statistics.releasing.certificate import purpose_of
from coterie.studio.desk import result as commands
from coterie.studio.desk.desk import Desk
from coterie.studio.desk.release import asked_first, balances_of, draw_once, plan_release, planned
from coterie.studio.desk.result import figures_of, names_in_words, read_result, shown
from coterie.studio.forms import Form
from coterie.studio.ledgers import counted
from coterie.studio.pages import Opened, download, go, numbered, step_page
from coterie.studio.project import Project, Stale

router = APIRouter()


@router.get("/p/{project}/statistics/release")
def release_form(project: Opened) -> Response:
    desk = Desk(project)
    if not desk.document.get("statistics"):
        return go(project, "statistics")
    return _form(project, desk, asked_first(desk))


@router.post("/p/{project}/statistics/release")
def plan_it(project: Opened, form: Form) -> Response:
    desk = Desk(project)
    try:
        if form.version != desk.state.version:
            raise Stale
        plan_release(desk, form)
    except CoterieError as problem:
        return _form(project, desk, {name: form.text(name) for name in asked_first(desk)}, problem)
    return go(project, "statistics/release/confirm")


def _form(
    project: Project, desk: Desk, asked: dict[str, str], problem: CoterieError | None = None
) -> Response:
    return step_page(
        project,
        "statistics",
        problem,
        view="release",
        desk=desk.state,
        asked=asked,
        specification=desk.specification(),
        split=shown(desk),
    )


@router.get("/p/{project}/statistics/release/confirm")
def confirm_page(project: Opened) -> Response:
    return _confirmation(project, Desk(project))


@router.post("/p/{project}/statistics/release/confirm")
def confirm(project: Opened, form: Form) -> Response:
    desk = Desk(project)
    try:
        if not form.flag("understood"):
            raise ParameterError(
                "The box was not ticked: nothing was released.", "Tick it if you want to release."
            )
        order = planned(desk)
        command = dict(commands.releasing(desk, order))["Command"] if order else ""
        place = draw_once(desk, form.text("plan"), command)
    except CoterieError as problem:
        return _confirmation(project, Desk(project), problem)
    return go(project, f"statistics/released/{place + 1}")


def _confirmation(project: Project, desk: Desk, problem: CoterieError | None = None) -> Response:
    order = planned(desk)
    if order is None or not desk.document.get("statistics"):
        return go(project, "statistics/release")
    for place, entry in enumerate(desk.state.released, 1):
        if entry.id == order.id and problem is None:
            return go(project, f"statistics/released/{place}")
    before = after = will_count = ""
    try:
        balances = balances_of(desk, order)
        if balances is not None:
            now, then = balances
            before, after = as_text(now.remaining), "not enough" if then is None else as_text(then.remaining)
            will_count = f"counts as {counted(purpose_of(desk.specification()), now.terms)}"
    except CoterieError as unreadable:
        problem = problem or unreadable
    return step_page(
        project,
        "statistics",
        problem,
        view="confirm",
        desk=desk.state,
        order=order,
        before=before,
        after=after,
        counted=will_count,
        split=shown(desk),
        specification=desk.specification(),
        equivalent=commands.releasing(desk, order),
    )


@router.get("/p/{project}/statistics/released/{number}")
def released(project: Opened, number: int) -> Response:
    desk = Desk(project)
    entry = numbered(desk.state.released, number)
    result = read_result(entry)
    try:
        names = names_in_words(desk.specification())
    except CoterieError:  # the description of the table has changed since: codes say what was released
        names = {}
    return step_page(
        project,
        "statistics",
        view="released",
        number=number,
        entry=entry,
        result=result,
        names=names,
        figures=figures_of(result, names),
        short=short,
        verify=shlex.join(["coterie", "stats", "verify", entry.data, entry.certificate]),
        desk=desk.state,
    )


@router.get("/p/{project}/statistics/released/{number}/{part}")
def take(project: Opened, number: int, part: str) -> Response:
    entry = numbered(Desk(project).state.released, number)
    return download({"data": entry.data, "certificate": entry.certificate}.get(part))
