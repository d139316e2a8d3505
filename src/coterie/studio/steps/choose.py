"""All methods, grouped by promise: for who wants another one than the recommended. Nothing is chosen here for the user."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

from fastapi import APIRouter, Request, Response

from coterie.errors import CoterieError, ParameterError
from coterie.methods import all_methods, get_method
from coterie.methods.guarantee import Guarantee, Status
from coterie.methods.recipe import GROUPINGS, Method
from coterie.promise.posterior import DP, odds_in_words
from coterie.schema.attributes import Role, Schema
from coterie.schema.exact import parse_epsilon
from coterie.studio.forms import Form, Sent
from coterie.studio.pages import Opened, Running, go, page, step_page
from coterie.studio.project import Choice, Project
from coterie.studio.promise import FIRM, FIRMNESS, ChoicePromise, firmness, promised
from coterie.studio.same_in_code import protect_lines
from coterie.studio.steps.look import start as start_looking
from coterie.studio.vocabulary import in_plain_words

router = APIRouter()


@dataclass(frozen=True, slots=True)
class ChoiceForm:
    """The form, as typed."""

    method: str = ""
    epsilon: str = "1"
    k: str = "10"
    rule: bool = True  # where a method has a public rule for k, follow it
    grouping: str = "equal"
    shuffle: bool = True
    clip: bool = True

    @classmethod
    def before(cls, choice: Choice | None, records: int) -> ChoiceForm:
        """What was saved, or where the sliders begin."""
        k = str((choice and choice.k) or min(10, records))
        if choice is None:
            return cls(k=k)
        kept = choice.model_dump(include={"method", "grouping", "shuffle", "clip"})
        return cls(**kept, epsilon=choice.epsilon or "1", k=k, rule=choice.k is None)

    @classmethod
    def sent(cls, form: Sent) -> ChoiceForm:
        texts: dict[str, Any] = {name: form.text(name) for name in ("method", "epsilon", "k")}
        flags: dict[str, Any] = {name: form.flag(name) for name in ("rule", "shuffle", "clip")}
        return cls(**texts, **flags, grouping=form.text("grouping", "equal"))

    def choice(self, method: str) -> Choice:
        """The same settings for any method: each takes what it needs."""
        recipe = get_method(method)
        without_k = recipe.fixed_k is not None or (recipe.public_k is not None and self.rule)
        k = None if without_k else Sent({"k": [self.k]}).whole("k", "k")
        epsilon = self.epsilon if recipe.adds_noise else ""
        return Choice(
            method=method, epsilon=epsilon, k=k, grouping=self.grouping, shuffle=self.shuffle, clip=self.clip
        )


@dataclass(frozen=True, slots=True)
class Card:
    method: Method
    words: str
    promised: ChoicePromise | None
    problem: str  # why it is not possible with these settings


@router.get("/p/{project}/choose")
def choose(project: Opened) -> Response:
    if not project.described:
        return step_page(project, "recommend")
    return _shown(project, ChoiceForm.before(project.state.choice, project.records))


@router.get("/p/{project}/choose/live")
def live(project: Opened, request: Request) -> Response:
    """What follows from the form as it stands: cards, summary and commands, for the script to put in place."""
    asked = ChoiceForm.sent(Sent(parse_qs(request.url.query, keep_blank_values=True)))
    return page("choose_live.html", project=project, state=project.state, **_content(project, asked))


@router.post("/p/{project}/choose")
def save(project: Opened, jobs: Running, form: Form) -> Response:
    asked = ChoiceForm.sent(form)
    try:
        if not asked.method:
            raise ParameterError("No method is chosen.", "Choose one of the cards: there is no default.")
        choice = asked.choice(asked.method)
        schema = _reasoned(project.schema(), form.text("because"))
        promised(choice, schema, project.records)
        said = None if schema.parameters is None else schema.to_yaml()
        project.change(form.version, choice=choice, schema=said)
    except CoterieError as problem:
        return _shown(project, asked, problem)
    if form.text("then") != "look":
        return go(project, "choose")
    start_looking(project, jobs)
    return go(project, "look")


def _reasoned(schema: Schema, because: str) -> Schema:
    """Add why method, ε and k are public, if they came from a comparison."""
    if schema.parameters is None:
        return schema
    said = {"source": schema.parameters.source, "public_because": because or None}
    return Schema.load({**schema.to_dict(), "parameters": said})


def _shown(project: Project, asked: ChoiceForm, problem: CoterieError | None = None) -> Response:
    return step_page(project, "recommend", problem, template="choose.html", **_content(project, asked))


def _content(project: Project, asked: ChoiceForm) -> dict[str, Any]:
    schema, records = project.schema(), project.records
    cards = [_card(method, asked, schema, records) for method in all_methods().values()]
    chosen = next((card for card in cards if card.method.name == asked.method), None)
    choice = asked.choice(asked.method) if chosen and chosen.promised else None
    return {
        "asked": asked,
        "records": records,
        "groups": _grouped(cards),
        "chosen": chosen,
        "saved": choice is not None and choice == project.state.choice,
        "general": _general(asked.epsilon),
        "notes": _notes(schema),
        "schema": schema,
        "parameters": schema.parameters,
        "groupings": list(GROUPINGS),
        "ways": protect_lines(project, choice) if choice else [],
    }


def _card(method: Method, asked: ChoiceForm, schema: Schema, records: int) -> Card:
    words = in_plain_words(method)
    try:
        return Card(method, words, promised(asked.choice(method.name), schema, records), "")
    except CoterieError as error:
        return Card(method, words, None, f"{error.problem} {error.advice}")


def _grouped(cards: list[Card]) -> list[tuple[str, str, list[Card], bool]]:
    """The firmest promises first; within a group, in the order of the registry. What is unsafe stays folded."""
    found = []
    for place, (title, meaning) in enumerate(FIRMNESS):
        here = [card for card in cards if card.promised and firmness(card.promised.guarantee) == place]
        found.append((title, meaning, here, place > FIRM))
    rest = [card for card in cards if card.promised is None]
    found.append(("Not possible with these settings", "Each says what to change.", rest, True))
    return [group for group in found if group[2]]


def _general(epsilon: str) -> str:
    """What this ε means where differential privacy is proved, whatever method is chosen in the end."""
    try:
        value = parse_epsilon(epsilon)
    except ParameterError as error:
        return f"{error.problem} {error.advice}"
    proved = Guarantee(DP, str(value), Status.PROVED, "the release", "", (), "")
    return odds_in_words(proved)


def _notes(schema: Schema) -> list[str]:
    """What the description does to every promise on this page."""
    protected = schema.protected
    found = (
        ([a.name for a in schema.with_role(Role.KEEP)], "released untouched, so outside every promise"),
        (
            [a.name for a in protected if a.from_data],
            "described from the data, which breaks every proof",
        ),
        ([a.name for a in protected if a.order_from_data], "ordered by the data, which breaks every proof"),
        (
            schema.searched,
            "without public bounds: a part of its ε pays for finding some",
        ),
    )
    return [f"{', '.join(names)}: {words}." for names, words in found if names]
