"""Look: what the chosen release does to the data, and what others would do, on a declared sample with seeded noise.

Never for publication.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any
from urllib.parse import parse_qs, urlencode

from fastapi import APIRouter, Request, Response
from starlette.exceptions import HTTPException

from coterie.comparison.grid import Cell, make_grid
from coterie.comparison.results import promise
from coterie.errors import CoterieError, ParameterError
from coterie.methods import all_methods, get_method
from coterie.report.ranking import UNITS
from coterie.schema.attributes import Parameters, Schema, Source
from coterie.schema.exact import as_text, parse_epsilon
from coterie.studio.forms import Form, Sent
from coterie.studio.jobs import Jobs
from coterie.studio.pages import Opened, Running, as_csv, go, picture, step_page
from coterie.studio.preview_findings import all_figures, crossed, looked
from coterie.studio.project import Choice, Project
from coterie.studio.promise import ChoicePromise, firmness, promised
from coterie.studio.same_in_code import comparison_lines, preview_lines
from coterie.studio.sampling import ROWS

router = APIRouter()
_SIZES = (1_000, 5_000, 20_000, 100_000)


@router.get("/p/{project}/look")
def look(project: Opened, jobs: Running, request: Request) -> Response:
    if project.state.loaded is None or project.state.choice is None or not project.described:
        return step_page(project, "look")
    last = jobs.latest(project, "look")
    if last.job is None and last.found is None:
        start(project, jobs)
    return _shown(project, jobs, table=Sent(parse_qs(request.url.query)))


@router.get("/p/{project}/look/table.csv")
def table_file(project: Opened, jobs: Running, request: Request) -> Response:
    """The shares of the chosen table, a line for each cell."""
    found = jobs.latest(project, "look").found
    asked = _table(project, found, Sent(parse_qs(request.url.query))) if found else None
    if not asked or not asked["tables"]:
        raise HTTPException(404)
    lines = [
        (table.title, row, column, before, after)
        for table in asked["tables"]
        for row, cells in table.lines
        for column, (before, after, _) in zip(table.columns, cells, strict=True)
    ]
    first, second = asked["asked"][:2]
    return as_csv([("of", first, second, "share before", "share after"), *lines], "table")


def _table(project: Project, found: dict[str, Any], form: Sent) -> dict[str, Any]:
    """The table that was asked for, or at first that of the relation that changed most."""
    known = found.get("tables", [])
    worst = found["relations"]["pairs"][0][:2] if found["relations"] else []
    asked = [name for name in (form.text("rows"), form.text("columns"), form.text("each")) if name] or worst
    can_weigh = bool(known) and known[0]["weighted"]
    weighted = can_weigh and (form.flag("weighted") or not form.names)
    return {
        "names": [one["name"] for one in known],
        "asked": [*asked, "", "", ""][:3],
        "can_weigh": can_weigh,
        "weighted": weighted,
        "tables": crossed(project.folder, known, asked, weighted=weighted),
        "query": urlencode(
            dict(zip(("rows", "columns", "each"), asked, strict=False))
            | ({"weighted": "yes"} if weighted else {})
        ),
    }


@router.post("/p/{project}/look")
def look_again(project: Opened, jobs: Running, form: Form) -> Response:
    """Look again, on another sample or on invented rows."""
    choice = project.state.choice
    if choice is None or project.state.loaded is None:
        return step_page(project, "look")
    try:
        rows = form.whole("rows", "The size of the sample") or ROWS
        found = promised(choice, project.schema(), project.records)
        if choice.k is not None and found.k > rows:
            raise ParameterError(
                f"k = {found.k:,} is larger than the sample of {rows:,} rows.", "Look at more rows."
            )
    except CoterieError as problem:
        return _shown(project, jobs, problem)
    start(project, jobs, rows, synthetic=form.text("on") == "invented")
    return go(project, "look")


@router.get("/p/{project}/look/figures/{name}.{kind}")
def figure(project: Opened, jobs: Running, name: str, kind: str) -> Response:
    """One figure of the page as a picture, or its numbers."""
    found = jobs.latest(project, "look").found
    drawn = all_figures(found) if found else {}
    if name not in drawn or kind not in ("svg", "png", "csv"):
        raise HTTPException(404)
    return picture(drawn[name], name, kind)


@router.get("/p/{project}/compare")
def comparison(project: Opened) -> Response:
    """The page to go back to when a comparison is cancelled."""
    return go(project, "look#comparison")


@router.post("/p/{project}/compare")
def compare(project: Opened, jobs: Running, form: Form) -> Response:
    if project.state.choice is None or project.state.loaded is None:
        return step_page(project, "look")
    try:
        jobs.start(project, "compare", _asked(project, form))
    except CoterieError as problem:
        return _shown(project, jobs, problem, form)
    return comparison(project)


@router.post("/p/{project}/compare/use")
def use(project: Opened, jobs: Running, form: Form) -> Response:
    """One line of the comparison becomes the project's choice, and is looked at."""
    try:
        choice, schema, found = Choice.sent(form), project.schema(), jobs.latest(project, "compare").found
        promised(choice, schema, project.records)
        # Invented rows show nothing of the data.
        said = None if found and found["synthetic"] else seen_in_data(schema)
        project.change(form.version, choice=choice, schema=said)
    except CoterieError as problem:
        return _shown(project, jobs, problem)
    start(project, jobs)
    return go(project, "look")


def seen_in_data(schema: Schema) -> str:
    """The description when somebody chose by looking at their data: the mark then stays (`Project.change`)."""
    return schema.model_copy(update={"parameters": Parameters(source=Source.DATA)}).to_yaml()


def start(project: Project, jobs: Jobs, rows: int | None = None, *, synthetic: bool = False) -> None:
    """Start a preview. A comparison under way is stopped first and started again behind it, so that nobody waits for it."""
    choice, other = project.choice, jobs.latest(project, "compare")
    rows = min(rows or max(ROWS, 20 * (choice.k or 1)), project.records)
    if other.under_way:
        jobs.cancel(project, "compare")
    jobs.start(project, "look", {"choice": choice.model_dump(), "rows": rows, "synthetic": synthetic})
    if other.under_way:
        jobs.start(project, "compare", other.asked)


def _shown(
    project: Project,
    jobs: Jobs,
    problem: CoterieError | None = None,
    compared: Sent | None = None,
    table: Sent | None = None,
) -> Response:
    """`compared` is what was typed, where something is wrong with it; `table` what table was asked for."""
    choice, records, last = project.choice, project.records, jobs.latest(project, "look")
    now = {"rows": min(ROWS, records), "synthetic": False, **last.asked, "choice": choice.model_dump()}
    promise: ChoicePromise | None = None
    try:
        promise = promised(choice, project.schema(), records)
    except CoterieError as error:  # the table or its description changed since the choice
        problem = problem or error
    found = last.found
    return step_page(
        project,
        "look",
        problem,
        choice=choice,
        promised=promise,
        job=last.job,
        now=now,
        sizes=sorted({*(size for size in _SIZES if size < records), records, now["rows"]}),
        stale=found is not None and not last.made_with(now),
        found=found,
        looked=looked(found, project.schema()) if found else None,
        table=_table(project, found, table or Sent({})) if found else None,
        made_with=Choice.model_validate(last.parameters["choice"]) if found else None,
        ways=preview_lines(project, choice, now["rows"]),
        **_comparison(project, jobs, compared),
    )


_OTHERS = 3  # methods beside the chosen one, unless the user ticks others
_KS = (5, 10, 20, 50, 100, 200)


def _asked(project: Project, form: Sent) -> dict[str, Any]:
    """The parameters of a comparison, checked before the work begins."""
    ks = [Sent({"k": [word]}).whole("k", "k") for word in form.text("ks").split(",") if word.strip()]
    epsilons = [word.strip() for word in form.text("epsilons").split(",") if word.strip()]
    rows = min(form.whole("rows", "The size of the sample") or ROWS, project.records)
    grid = make_grid(form.several("methods"), epsilons, [k for k in ks if k is not None])
    if grid.ks and grid.ks[-1] > rows:
        raise ParameterError(
            f"k = {grid.ks[-1]:,} is larger than the sample of {rows:,} rows.", "Leave it out."
        )
    return {
        "methods": list(grid.methods),
        "epsilons": [as_text(epsilon) for epsilon in grid.epsilons],
        "ks": list(grid.ks),
        "rows": rows,
        "synthetic": form.text("on") == "invented",
    }


def _comparison(project: Project, jobs: Jobs, form: Sent | None = None) -> dict[str, Any]:
    """The part of the page about comparisons. `form`: what was typed, if something is wrong with it."""
    last = jobs.latest(project, "compare")
    asked, found = last.asked or _defaults(project), last.found
    return {
        "compare_job": last.job,
        "compare_asked": {
            "methods": form.several("methods") if form else asked["methods"],
            "epsilons": form.text("epsilons") if form else ", ".join(asked["epsilons"]),
            "ks": form.text("ks") if form else ", ".join(map(str, asked["ks"])),
            "rows": asked["rows"],
            "synthetic": form.text("on") == "invented" if form else asked["synthetic"],
        },
        "compare_methods": list(all_methods().values()),
        "compare_found": found,
        "compare_stale": found is not None and not last.made_with(),
        "compare_best": _best(project, found) if found else [],
        "compare_ways": comparison_lines(project, asked),
    }


def _defaults(project: Project) -> dict[str, Any]:
    """The chosen method and, of the others, the first of each firmness."""
    choice, schema, records = project.choice, project.schema(), project.records
    epsilon = choice.epsilon or "1"
    levels: dict[int, str] = {}
    own_k: int | None = None
    for name, method in all_methods().items():
        k = None if method.fixed_k or method.public_k else min(10, records)
        try:
            if name == choice.method:
                own_k = promised(choice, schema, records).k
                continue
            trial = Choice(method=name, epsilon=epsilon if method.adds_noise else "", k=k)
            levels.setdefault(firmness(promised(trial, schema, records).guarantee), name)
        except CoterieError:
            continue
    rows = min(ROWS, records)
    ks = {*_KS, *([own_k] if own_k and own_k > 1 else [])}
    return {
        "methods": [choice.method, *(levels[level] for level in sorted(levels)[:_OTHERS])],
        "epsilons": [epsilon],
        "ks": sorted(k for k in ks if k <= rows // 2),
        "rows": rows,
        "synthetic": False,
    }


def _best(project: Project, found: dict[str, Any]) -> list[dict[str, Any]]:
    """The best choices, with what each would promise for the whole table."""
    schema, records = project.schema(), project.records
    return [
        {
            **entry,
            "unit": UNITS[entry["measure"]],
            "guarantee": promise(_cell(entry), schema, records),
            "by_hand": get_method(entry["method"]).public_k is not None,
        }
        for entry in found["best"]
    ]


def _cell(entry: dict[str, Any]) -> Cell:
    return Cell(entry["method"], entry["k"], Fraction(parse_epsilon(entry["epsilon"])))
