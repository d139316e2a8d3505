"""The comparison on the Look page: several methods, k and ε on one sample, and a map of risk against loss."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from coterie.comparison.grid import Cell, make_grid
from coterie.comparison.results import promise
from coterie.errors import CoterieError, ParameterError
from coterie.methods import all_methods, get_method
from coterie.report.charts import Figure, Lines, RiskPoint, Series, lines, risk_utility_map
from coterie.report.figures import GROUP_SIZE
from coterie.report.ranking import MEAN_LEVEL, UNITS
from coterie.schema.exact import as_text, parse_epsilon
from coterie.studio.forms import Sent
from coterie.studio.jobs import Jobs, key_of
from coterie.studio.project import Choice, Project
from coterie.studio.promise import firmness, promised, usable_records
from coterie.studio.same_in_code import comparison_lines
from coterie.studio.sampling import ROWS

_OTHERS = 3  # methods beside the chosen one, unless the user ticks others
_KS = (5, 10, 20, 50, 100, 200)


def line_as_choice(form: Sent) -> Choice:
    """One line of the comparison, to be the project's choice."""
    recipe = get_method(form.text("method"))
    epsilon = form.text("epsilon") if recipe.adds_noise else ""
    k = None if recipe.fixed_k else form.whole("k", "k")
    return Choice(method=recipe.name, epsilon=epsilon, k=k)


def parameters(project: Project, form: Sent) -> dict[str, Any]:
    """Checked before the work begins, so that a slip of the pen costs no time."""
    assert project.state.loaded is not None
    ks = [Sent({"k": [word]}).whole("k", "k") for word in form.text("ks").split(",") if word.strip()]
    epsilons = [word.strip() for word in form.text("epsilons").split(",") if word.strip()]
    rows = min(form.whole("rows", "The size of the sample") or ROWS, project.state.loaded.rows)
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


def content(project: Project, jobs: Jobs, form: Sent | None = None) -> dict[str, Any]:
    """What the template of the Look page needs for this part. `form`: what was typed, if something is wrong with it."""
    job, result = jobs.find(project, "compare"), jobs.result(project, "compare")
    asked = job.parameters if job else result["parameters"] if result else _defaults(project)
    found = result["found"] if result else None
    return {
        "compare_job": job,
        "compare_asked": {
            "methods": form.several("methods") if form else asked["methods"],
            "epsilons": form.text("epsilons") if form else ", ".join(asked["epsilons"]),
            "ks": form.text("ks") if form else ", ".join(map(str, asked["ks"])),
            "rows": asked["rows"],
            "synthetic": form.text("on") == "invented" if form else asked["synthetic"],
        },
        "compare_methods": list(all_methods().values()),
        "compare_found": found,
        "compare_made_with": result["parameters"] if result else None,
        "compare_stale": result is not None
        and result["key"] != key_of(project, "compare", result["parameters"]),
        "compare_best": _best(project, found) if found else [],
        "compare_map": _map(found) if found else None,
        "compare_lines": _lines(found) if found else [],
        "compare_ways": comparison_lines(project, asked),
    }


def _defaults(project: Project) -> dict[str, Any]:
    """The chosen method and, of the others, the first of each firmness."""
    choice, schema, records = project.state.choice, project.schema(), usable_records(project)
    assert choice is not None
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
    """With what each would promise for the whole table."""
    schema, records = project.schema(), usable_records(project)
    return [
        {**entry, "unit": UNITS[entry["measure"]], "guarantee": promise(_cell(entry), schema, records)}
        for entry in found["best"]
    ]


def _cell(entry: dict[str, Any]) -> Cell:
    return Cell(entry["method"], entry["k"], Fraction(parse_epsilon(entry["epsilon"])))


def _map(found: dict[str, Any]) -> Figure:
    points = [RiskPoint(**point) for point in found["map"]]
    return risk_utility_map(
        points,
        loss="error (smaller is better)",
        caption="Down and left is better. The height is how much better than guessing the best attack was, with "
        "its interval. A star is a proof; a low point without one was only not attacked successfully here. Rows that stand "
        "for people are measured by their squared error, synthetic ones by the error of their distributions.",
    )


def _lines(found: dict[str, Any]) -> list[Figure]:
    """Error against k at the largest ε: of rows, and of distributions where synthetic rows are compared too."""
    drawn, order = [], list(dict.fromkeys(entry["method"] for entry in found["best"]))
    for measure in dict.fromkeys([*(entry["measure"] for entry in found["best"]), "semantic-distance"]):
        cells = found["errors"].get(measure)
        if not cells:
            continue
        epsilon = max((cell["epsilon"] for cell in cells), key=parse_epsilon)
        series, ks = [], set[float]()
        for method in dict.fromkeys(cell["method"] for cell in cells):
            here = [cell for cell in cells if (cell["method"], cell["epsilon"]) == (method, epsilon)]
            points = tuple((float(cell["k"]), cell["error"]) for cell in here if cell["error"] > 0)
            ks |= {k for k, _ in points if len(points) > 1}
            if points:
                series.append(Series(method, points, order.index(method)))
        if series:
            level = MEAN_LEVEL if measure.startswith("sse") else None
            caption = f"{UNITS[measure][0].upper()}{UNITS[measure][1:]} against k, at ε = {epsilon}."
            drawn.append(
                lines(
                    [Lines("", series)],
                    x=GROUP_SIZE,
                    y=UNITS[measure],
                    caption=caption,
                    level=level,
                    ticks=sorted(ks),
                )
            )
    return drawn
