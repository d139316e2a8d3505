"""Recommend: two questions, one release, its promise in one sentence. Found from public facts alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Response

from coterie.comparison.recommendation import PURPOSES
from coterie.errors import CoterieError, ParameterError, nearest
from coterie.evaluation import get_measure
from coterie.methods import get_method
from coterie.methods.guarantee import Status
from coterie.methods.recipe import Method
from coterie.promise.posterior import DP, likely_loss, most_sure, share_in_words
from coterie.schema.attributes import Schema
from coterie.schema.exact import number, parse_epsilon
from coterie.studio.forms import Form
from coterie.studio.jobs import Jobs, key_of
from coterie.studio.pages import Opened, Running, go, step_page
from coterie.studio.project import Choice, Project, Wish
from coterie.studio.promise import ChoicePromise, promised
from coterie.studio.same_in_code import protect_lines, recommend_lines
from coterie.studio.steps.look import seen_in_data
from coterie.studio.steps.look import start as start_looking
from coterie.studio.vocabulary import ACCURACY, AUDIENCES, GOALS
from coterie.studio.work.recommending import DIAL

router = APIRouter()


@dataclass(frozen=True, slots=True)
class Offer:
    """One stop of the dial: what would be released at this ε, what it promises and what it costs."""

    epsilon: str
    choice: Choice
    promised: ChoicePromise
    command: str
    error: float | None  # nothing can be measured any more
    words: str
    shares: float  # points by which a share in a table is off, 9 times in 10
    accuracy: dict[str, Any] | None  # more of that, at the ε that was asked for

    @property
    def method(self) -> Method:
        return self.promised.recipe

    @property
    def sure(self) -> float | None:
        """How sure an attacker who was 50 % sure can become at most; None: nothing limits it."""
        guarantee = self.promised.guarantee
        proved = guarantee.model == DP and guarantee.status is Status.PROVED
        return most_sure(likely_loss(guarantee)) if proved else None

    @property
    def sure_words(self) -> str:
        return "no limit" if self.sure is None else share_in_words(self.sure)

    @property
    def percent(self) -> str:
        if self.error is None:
            return "–"
        return f"{number(100 * self.error, 2)} %" if self.error < 0.1 else f"{100 * self.error:,.0f} %"


@router.get("/p/{project}/recommend")
def recommend(project: Opened, jobs: Running) -> Response:
    if not project.described:
        return step_page(project, "recommend")
    asked = _parameters(project)
    if asked is not None:
        last = jobs.latest(project, "recommend")
        # A job that failed or was cancelled waits for the person: it would only fail again.
        tried = last.job is not None and last.job.key == key_of(project, "recommend", asked)
        if not tried and not last.made_with(asked):
            jobs.start(project, "recommend", asked)
    return _shown(project, jobs)


@router.post("/p/{project}/recommend")
def ask(project: Opened, jobs: Running, form: Form) -> Response:
    try:
        wish = Wish(
            purpose=form.text("purpose"),
            audience=form.text("audience"),
            delta=form.flag("delta"),
            records=form.whole("records", "The number of records"),
            unit_size=form.number("unit_size", "The number of rows of an average one"),
        )
        if wish.purpose not in PURPOSES or wish.audience not in AUDIENCES:
            raise ParameterError("There is no such answer.", nearest(wish.purpose, PURPOSES))
        project.change(form.version, wish=wish)
        asked = _parameters(project)
        if asked is not None:
            jobs.start(project, "recommend", asked)
    except CoterieError as problem:
        return _shown(project, jobs, problem)
    return go(project, "recommend")


@router.post("/p/{project}/recommend/take")
def take(project: Opened, jobs: Running, form: Form) -> Response:
    """One stop of the dial becomes the project's choice, and is looked at."""
    try:
        choice, schema = Choice.sent(form), project.schema()
        promised(choice, schema, project.records)
        said = seen_in_data(schema) if form.flag("seen") and schema.parameters is None else None
        project.change(form.version, choice=choice, schema=said)
    except CoterieError as problem:
        return _shown(project, jobs, problem)
    start_looking(project, jobs)
    return go(project, "look")


def looked_at_data(jobs: Jobs, project: Project) -> bool:
    """Whether a preview or a comparison has shown what a release does to the very table."""
    found = [jobs.latest(project, kind).found for kind in ("look", "compare", "audit")]
    return any(one is not None and not one.get("synthetic", False) for one in found)


def _parameters(project: Project) -> dict[str, Any] | None:
    """None while the number of records is not known from outside: with a privacy unit that of the table is private."""
    wish = project.state.wish
    records = project.records if project.schema().unit is None else wish.records
    if records is None:
        return None
    most = AUDIENCES[wish.audience].most
    asked = {"purpose": wish.purpose, "records": records, "epsilon": most, "pure": not wish.delta}
    return asked | ({"unit_size": wish.unit_size} if project.schema().unit and wish.unit_size else {})


def _shown(project: Project, jobs: Jobs, problem: CoterieError | None = None) -> Response:
    if not project.described:
        return step_page(project, "recommend", problem)
    asked, wish, schema = _parameters(project), project.state.wish, project.schema()
    last = jobs.latest(project, "recommend")
    found = last.found if last.found and asked is not None and last.made_with(asked) else {}
    offers: list[Offer] = []
    try:
        offers = _offers(project, schema, found) if found else []
    except CoterieError as error:
        problem = problem or error
    best_word = get_measure(found["measure"]).word(0.0) if found else ""
    begin = _begin(offers, wish, None, best_word)
    return step_page(
        project,
        "recommend",
        problem,
        wish=wish,
        looked=looked_at_data(jobs, project),
        schema=schema,
        goals=GOALS,
        audiences=AUDIENCES,
        accuracy=ACCURACY[found["measure"]] if found else "",
        notes=[
            note for note in found.get("notes", []) if not note.startswith(("Every row counts", "at_most ="))
        ],
        avoid=found.get("avoid", {}),
        units=found.get("units", {}),
        at_most=found.get("at_most"),
        best_word=best_word,
        job=last.job,
        offers=offers,
        place=_begin(offers, wish, project.state.choice, best_word),
        suggested=begin,
        close=bool(offers) and offers[begin].words == best_word,
        from_data=[a.name for a in schema.protected if a.from_data or a.order_from_data],
        ways=recommend_lines(project, asked) if offers and asked else [],
    )


def _offers(project: Project, schema: Schema, found: dict[str, Any]) -> list[Offer]:
    """The recommended method at every stop of the dial."""
    best, recipe = found["best"], get_method(found["best"]["method"])
    beside = {one["epsilon"]: one for one in found["strengths"]}
    offers = []
    for epsilon in DIAL:
        asked = epsilon == found["epsilon"]
        measured = best if asked else beside.get(epsilon)
        if measured is None:  # what could not be tried at this ε
            continue
        choice = Choice(
            method=recipe.name,
            epsilon=epsilon if recipe.adds_noise else "",
            k=best["k"],
            delta=best["delta"] or "",
        )
        (_, command), _ = protect_lines(project, choice)
        accuracy = best["accuracy"] if asked else None
        shares = accuracy["shares"] if accuracy else measured["shares"]
        promise, error = promised(choice, schema, project.records), measured["error"]
        offers.append(Offer(epsilon, choice, promise, command, error, measured["words"], shares, accuracy))
    return offers


def _begin(offers: list[Offer], wish: Wish, choice: Choice | None, best_word: str) -> int:
    """Where the dial stands: at the choice that was made, else at the smallest ε that serves the purpose.

    Never above what the audience allows: a larger ε is only ever a person's own decision.
    """
    for place, offer in enumerate(offers):
        if choice == offer.choice:
            return place
    most = parse_epsilon(AUDIENCES[wish.audience].most)
    allowed = [place for place, offer in enumerate(offers) if parse_epsilon(offer.epsilon) <= most]
    close = [place for place in allowed if offers[place].words == best_word]
    return next(iter(close), allowed[-1] if allowed else 0)
