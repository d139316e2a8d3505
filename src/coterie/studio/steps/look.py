"""Look: what the chosen release does to the data, on a declared sample with seeded noise; never for publication."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response
from starlette.responses import RedirectResponse

from coterie.errors import CoterieError, ParameterError
from coterie.report.charts import Figure, correlation_matrix, histogram, label_bars, side_by_side
from coterie.schema.attributes import Parameters, Source
from coterie.studio import comparing
from coterie.studio import words as sliders
from coterie.studio.asking import Opened, Running
from coterie.studio.forms import Form, Sent
from coterie.studio.jobs import Jobs, key_of
from coterie.studio.pages import step_page
from coterie.studio.project import Choice, Project
from coterie.studio.promise import Promised, promised, usable_records
from coterie.studio.same_in_code import preview_lines
from coterie.studio.sampling import ROWS

router = APIRouter()
_SIZES = (1_000, 5_000, 20_000, 100_000)


@router.get("/p/{project}/look")
def look(project: Opened, jobs: Running) -> Response:
    if project.state.loaded is None or project.state.choice is None or not project.described:
        return step_page(project, "look")
    if jobs.find(project, "look") is None and jobs.result(project, "look") is None:
        start(project, jobs)
    return _shown(project, jobs)


@router.post("/p/{project}/look")
def look_again(project: Opened, jobs: Running, form: Form) -> Response:
    """With another ε, k or sample. ε and k are the project's: what is looked at is what will be released."""
    if project.state.choice is None or project.state.loaded is None:
        return step_page(project, "look")
    try:
        choice = _changed(project.state.choice, form)
        rows = form.whole("rows", "The size of the sample") or ROWS
        found = promised(choice, project.schema(), usable_records(project))
        if choice.k is not None and found.k > rows:
            raise ParameterError(
                f"k = {found.k:,} is larger than the sample of {rows:,} rows.", "Look at more rows."
            )
        project.change(form.version, choice=choice)
    except CoterieError as problem:
        return _shown(project, jobs, problem, form)
    start(project, jobs, rows, synthetic=form.text("on") == "invented")
    return RedirectResponse(f"/p/{project.id}/look", 303)


@router.get("/p/{project}/compare")
def comparison(project: Opened) -> Response:
    """Where cancelling a comparison leads."""
    return RedirectResponse(f"/p/{project.id}/look#comparison", 303)


@router.post("/p/{project}/compare")
def compare(project: Opened, jobs: Running, form: Form) -> Response:
    if project.state.choice is None or project.state.loaded is None:
        return step_page(project, "look")
    try:
        jobs.start(project, "compare", comparing.parameters(project, form))
    except CoterieError as problem:
        return _shown(project, jobs, problem, compared=form)
    return comparison(project)


@router.post("/p/{project}/compare/use")
def use(project: Opened, jobs: Running, form: Form) -> Response:
    """One line of the comparison becomes the project's choice, and is looked at."""
    try:
        choice = comparing.line_as_choice(form)
        schema, result, said = project.schema(), jobs.result(project, "compare"), None
        promised(choice, schema, usable_records(project))
        if result is None or not result["found"]["synthetic"]:  # invented rows show nothing of the data
            said = schema.model_copy(update={"parameters": Parameters(source=Source.DATA)}).to_yaml()
        project.change(form.version, choice=choice, schema=said)
    except CoterieError as problem:
        return _shown(project, jobs, problem)
    start(project, jobs)
    return RedirectResponse(f"/p/{project.id}/look", 303)


def start(project: Project, jobs: Jobs, rows: int | None = None, *, synthetic: bool = False) -> None:
    """A comparison under way makes room, and goes on afterwards: who moves a slider should not wait for it."""
    choice = project.state.choice
    assert choice is not None
    assert project.state.loaded is not None
    rows = min(rows or max(ROWS, 20 * (choice.k or 1)), project.state.loaded.rows)
    other = jobs.find(project, "compare")
    makes_room = other is not None and other.state in ("waiting", "running")
    if makes_room:
        jobs.cancel(project, "compare")
    jobs.start(project, "look", {"choice": choice.model_dump(), "rows": rows, "synthetic": synthetic})
    if makes_room and other is not None:
        jobs.start(project, "compare", other.parameters)


def _changed(choice: Choice, form: Sent) -> Choice:
    epsilon = form.text("epsilon", choice.epsilon)
    return choice.model_copy(update={"epsilon": epsilon, "k": form.whole("k", "k")})


def _shown(
    project: Project,
    jobs: Jobs,
    problem: CoterieError | None = None,
    form: Sent | None = None,
    compared: Sent | None = None,
) -> Response:
    """`form` and `compared` are what was typed, where something is wrong with it."""
    state, choice = project.state, project.state.choice
    assert choice is not None
    assert state.loaded is not None
    job, result = jobs.find(project, "look"), jobs.result(project, "look")
    last: dict[str, Any] = job.parameters if job else result["parameters"] if result else {}
    now = {
        "choice": choice.model_dump(),
        "rows": last.get("rows", min(ROWS, state.loaded.rows)),
        "synthetic": last.get("synthetic", False),
    }
    found: Promised | None = None
    try:
        found = promised(choice, project.schema(), usable_records(project))
    except CoterieError as error:  # the table or its description changed since the choice
        problem = problem or error
    return step_page(
        project,
        "look",
        problem,
        choice=choice,
        promised=found,
        job=job,
        now=now,
        epsilon=form.text("epsilon") if form else choice.epsilon,
        k=form.text("k") if form else str(choice.k or ""),
        sizes=sorted(
            {*(size for size in _SIZES if size < state.loaded.rows), state.loaded.rows, now["rows"]}
        ),
        slider=sliders.EPSILON,
        epsilon_slider=sliders.place(choice.epsilon),
        k_slider=sliders.place(str(found.k if found else 1)),
        k_slider_end=sliders.end(state.loaded.rows),
        stale=result is not None and result["key"] != key_of(project, "look", now),
        found=result["found"] if result else None,
        made_with=Choice.model_validate(result["parameters"]["choice"]) if result else None,
        attributes=_attributes(result["found"]["attributes"]) if result else None,
        correlations=_correlations(result["found"]["correlation"]) if result else [],
        ways=preview_lines(project, choice, now["rows"]),
        **comparing.content(project, jobs, compared),
    )


def _attributes(counted: list[dict[str, Any]]) -> Figure:
    return side_by_side([_attribute(one) for one in counted], caption="Records, in equal bins or by label.")


def _attribute(one: dict[str, Any]) -> Figure:
    if one["kind"] == "labels":
        return label_bars(one["name"], one["labels"], one["before"], {"after": one["after"]})
    return histogram(
        one["name"],
        one["edges"],
        one["before"],
        {"after": one["after"]},
        unit=one["unit"],
        dates=one["dates"],
    )


def _correlations(found: dict[str, Any] | None) -> list[Figure]:
    if found is None:
        return []
    names, before, after = found["names"], found["before"], found["after"]
    change = [
        [b - a for a, b in zip(one, other, strict=True)] for one, other in zip(before, after, strict=True)
    ]
    left_out = f" {found['left_out']} more attributes are left out." if found["left_out"] else ""
    reach = max(0.1, *(abs(value) for line in change for value in line))
    return [
        correlation_matrix("Correlation before", names, before, note=left_out.strip()),
        correlation_matrix("Correlation after", names, after, note=left_out.strip()),
        correlation_matrix(
            "Change of the correlation",
            names,
            change,
            reach=reach,
            note=f"After minus before: 0 is best. The darkest colour is a change of {reach:.2f}.",
        ),
    ]
