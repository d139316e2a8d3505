"""A written policy: what this owner agrees to without being asked. Everything else is refused, with a reason."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import AfterValidator, BeforeValidator, Field

from coterie.errors import CoterieError, reading
from coterie.federation.documents.signed import Document, validated
from coterie.federation.documents.study import Study, StudyAttribute
from coterie.federation.documents.wire import now
from coterie.federation.errors import FederationError, Refused
from coterie.federation.secrets.keys import fingerprint
from coterie.schema.attributes import Outside
from coterie.schema.dialect import Dialect
from coterie.schema.exact import as_text, parse_epsilon

# A refusal: the reason and the figures that go to the aggregator, signed. Nothing in it depends on the data.
#
# What was wrong with the table is the `__cause__`, which is shown on this machine only.

# One sentence for every table, whatever is wrong with it: a second one would be an answer about the data.
UNFIT = "the owner's table could not be protected under this study's description"


class Refusal(Refused):
    def __init__(self, reason: str, **figures: str) -> None:
        shown = ", ".join(f"{name} {value}" for name, value in figures.items())
        super().__init__(
            f"Refused: {reason}{f' ({shown})' if shown else ''}.", "Nothing was computed or charged."
        )
        self.reason = reason
        self.figures = figures

    @property
    def told_here(self) -> str | None:
        """The reason for the people at this owner: it may name a path, a column, a row."""
        return str(self.__cause__) if isinstance(self.__cause__, CoterieError) else None


def _epsilon(text: str) -> str:
    try:
        return as_text(parse_epsilon(text))
    except CoterieError as error:
        raise ValueError(error.problem) from None


Exact = Annotated[str, BeforeValidator(str), AfterValidator(_epsilon)]
Bound = Annotated[str, BeforeValidator(str)]


class Declared(Document):
    """The public domain of this owner's values, the same for every study. Numbers and dates have bounds, others labels."""

    lower: Bound | None = None
    upper: Bound | None = None
    labels: tuple[Annotated[str, BeforeValidator(str)], ...] | None = None

    def admits(self, asked: StudyAttribute) -> bool:
        """Whether a table inside these bounds and labels always fits the study."""
        if asked.labels is not None:
            return self.labels is not None and set(self.labels) <= set(asked.labels)
        if asked.lower is None or asked.outside is Outside.CLIP:
            return True
        if self.lower is None or self.upper is None:
            return False
        try:
            own = asked.model_copy(update={"lower": self.lower, "upper": self.upper}).as_attribute().bounds()
        except ValueError:
            return False
        study = asked.as_attribute().bounds()
        return study.lower <= own.lower and own.upper <= study.upper


def _by_name(content: object) -> object:
    """A plain list of names declares nothing about their values."""
    return {name: {} for name in content} if isinstance(content, list | tuple) else content


class Limit(Document):
    """At most so many in so many days, because even yes and no tell something about the data."""

    most: Annotated[int, Field(ge=1, le=100_000)]
    days: Annotated[int, Field(ge=1, le=3660)]

    def __str__(self) -> str:
        return f"{self.most} in {self.days} days"


STUDIES = Limit(most=30, days=30)  # of one aggregator, for which the table may be opened
EXCHANGES = Limit(most=6, days=365)  # of blinded ids with one other owner


class OwnerSource(Document):
    """Where the owner's own table is, and whose budget it uses. Never leaves the owner's machine."""

    kind = "approval"
    data: str
    table: str | None = None
    query: str | None = None
    population: Annotated[str, Field(min_length=1)]
    ledger: str | None = None  # default: ledger.sqlite in the owner's folder
    identifier: str | None = None  # the owner's own name of the id column (vertical)
    columns: dict[str, str] = Field(default_factory=dict)  # attribute of the study → the owner's own name
    dialect: Dialect = Dialect()  # how the owner's own text file writes its cells
    # Signed with the answer: these people are at no other owner, and who is here does not depend on the attributes.
    disjoint: bool = False
    # Signed with the answer: the number of rows of this table is no secret, and may be printed on the joined certificate.
    rows_public: bool = False
    # Blinded ids: how many the other owner may bring (default: twice our own), and how many exchanges with it.
    peer_ids: Annotated[int, Field(ge=1)] | None = None
    exchanges: Limit = EXCHANGES


class Policy(OwnerSource):
    kind = "policy"
    maximum_epsilon: Exact
    minimum_k: Annotated[int, Field(ge=3)]
    # A study needs 2k rows: with one k after the other its author could count a table that has no more than twice this.
    maximum_k: Annotated[int, Field(ge=3)] = 100
    attributes: Annotated[dict[str, Declared], BeforeValidator(_by_name), Field(min_length=1)]
    methods: Annotated[tuple[str, ...], Field(min_length=1)]
    aggregators: Annotated[tuple[str, ...], Field(min_length=1)]  # fingerprints
    lifetime: Exact | None = None  # made in the ledger for the population if it has none yet
    blinded: bool = False  # allow that one other owner and we find out which people we have in common
    studies: Limit = STUDIES
    peers: dict[str, str] = Field(default_factory=dict)  # other owners → fingerprints (vertical studies)
    within_days: Annotated[int, Field(ge=1, le=3660)] = 100  # to a deadline: ε is held until then
    unsealed: bool = False  # allow studies before protocol 3: a part can be read, and is charged, before all have delivered
    seeded: bool = False  # allow experiments with reproducible noise, which protects nobody

    def require(self, study: Study, owner: str, keys: Sequence[str] = ()) -> None:
        """Refuse what the policy does not allow: requested, and the limit. The table is not opened for that.

        `keys`: of the aggregator, this study's and those that it followed.
        """
        cost = study.charge(owner)
        limit = parse_epsilon(self.maximum_epsilon)
        if not {fingerprint(key) for key in (study.aggregator, *keys)} & {*self.aggregators}:
            raise Refusal("the policy does not allow this aggregator's key")
        if study.method not in self.methods:
            raise Refusal(
                f"the policy does not allow method '{study.method}'", limit=", ".join(self.methods)[:100]
            )
        if study.k < self.minimum_k:
            raise Refusal("k is too small", requested=str(study.k), limit=str(self.minimum_k))
        largest = max(self.minimum_k, self.maximum_k)
        if study.k > largest:
            raise Refusal("k is larger than the policy allows", requested=str(study.k), limit=str(largest))
        if cost > limit:
            raise Refusal(
                "epsilon is above the policy's maximum", requested=as_text(cost), limit=as_text(limit)
            )
        if not study.sealed and not self.unsealed:
            raise Refusal("the study does not seal the parts until all owners have delivered")
        days = -(-(study.due - now()) // timedelta(days=1))
        if days > self.within_days:
            raise Refusal(
                "the deadline is further off than the policy allows, in days",
                requested=str(days),
                limit=str(self.within_days),
            )
        asked = study.asked_of(owner)
        unknown = [attribute.name for attribute in asked if attribute.name not in self.attributes]
        if unknown:
            raise Refusal(f"the policy does not allow {_listed(unknown)}")
        # Otherwise a study could ask by its bounds where the values lie, and read the answer from yes or no.
        narrow = [a.name for a in asked if not self.attributes[a.name].admits(a)]
        if narrow:
            raise Refusal(
                f"the study does not take all values that the policy declares possible for {_listed(narrow)}"
            )
        if study.blinded and not self.blinded:
            raise Refusal("the policy does not allow that another owner finds out which people are in common")
        if study.seed is not None and not self.seeded:
            raise Refusal("the study names a seed: its noise would protect nobody")


def _listed(names: list[str]) -> str:
    return ", ".join(repr(name) for name in names[:10])


def read_policy(path: Path) -> Policy | None:
    if not path.exists():
        return None
    with reading(f"The policy {path}", FederationError):
        text = path.read_text(encoding="utf-8")
    try:
        content: Any = yaml.safe_load(text)
    except yaml.YAMLError:
        raise FederationError(
            f"The policy {path} is not valid YAML.", "See docs/how-to/federate.md for an example."
        ) from None
    return validated(Policy, content)
