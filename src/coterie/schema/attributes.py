"""What the data are, and what about them is public: attributes, domains, categories, roles."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import BeforeValidator, Field, PrivateAttr, model_validator

from coterie.errors import SchemaError, nearest
from coterie.schema.codebook import check_codes, check_marks, with_codes
from coterie.schema.dialect import Dialect
from coterie.schema.domain import AttributeType as AttributeType
from coterie.schema.domain import Categories as Categories
from coterie.schema.domain import Domain as Domain
from coterie.schema.domain import Frozen, as_number, as_text, as_texts, exactly, typed_bound
from coterie.schema.domain import Order as Order
from coterie.schema.domain import Parameters as Parameters
from coterie.schema.domain import Source as Source
from coterie.schema.recoding import Recodable, apply_recoding
from coterie.schema.roles import Missing as Missing
from coterie.schema.roles import Outside as Outside
from coterie.schema.roles import Role as Role
from coterie.schema.rule_checks import check_rules, read_rules
from coterie.schema.rules import EditRules
from coterie.schema.unit import PrivacyUnit, check_unit
from coterie.schema.weight import Totals, check_weight, check_weights

if TYPE_CHECKING:
    from coterie.schema.draft import Draft


class Attribute(Recodable):
    """One column: its type, what happens to it, and what about it is public.

    Parameters
    ----------
    name : str
        The column's name.
    type : str, default "continuous"
        continuous, integer, date, timestamp, ordinal, categorical or boolean.
    role : Role or str
        protect, identifier, keep or weight.
    domain : Domain or dict, optional
        The public range of numbers, dates and timestamps.
    categories : dict, optional
        The public labels, or the taxonomy that has them.
    unit, decimals, weight, missing, missing_marks, impute, outside, label, value_labels, format, recode, \
not_applicable : optional
        As in a schema file: see the page Describe a table.

    Examples
    --------
    >>> import coterie
    >>> coterie.Attribute(name="age", type="integer", role="protect", domain={"lower": 0, "upper": 120})
    Attribute(name='age', type='integer', role='protect', domain=Domain(lower=0.0, upper=120.0))
    """

    name: str = Field(min_length=1)
    type: AttributeType = AttributeType.CONTINUOUS
    role: Role
    domain: Domain | None = None
    categories: Categories | None = None
    decimals: int | None = Field(default=None, ge=0, le=15)  # released values are rounded to so many places
    unit: str | None = None
    weight: Annotated[Fraction, BeforeValidator(partial(exactly, name="weight"))] = Fraction(1)
    missing: Missing = Missing.ERROR
    # Texts that mean 'missing', such as "?", or ranges of numbers ("97 to 99"); an empty cell always does.
    missing_marks: Annotated[tuple[str, ...], BeforeValidator(as_texts)] = ()
    # Default: the middle of the domain, the most central label.
    impute: Annotated[
        str | int | float | None,
        BeforeValidator(lambda value: as_text(value) if isinstance(value, bool) else value),
    ] = None
    outside: Outside = Outside.ERROR
    # A condition such as "age < 15": cells of such rows are empty, and of no others (coterie.schema.rules).
    not_applicable: str | None = Field(default=None, min_length=1)

    @model_validator(mode="before")
    @classmethod
    def _moments(cls, content: Any) -> Any:
        """Dates and timestamps are spelled alike; the type says which one a bound is."""
        if not isinstance(content, dict) or content.get("type") not in ("date", "timestamp"):
            return with_codes(content)
        timestamp = content["type"] == "timestamp"

        def typed(value: Any) -> Any:
            if isinstance(value, list | tuple):
                return [typed(edge) for edge in value]
            return None if value is None else typed_bound(value, timestamp=timestamp)

        for entry, sides in (("domain", ("lower", "upper")), ("recode", ("top", "bottom", "bands"))):
            if isinstance(found := content.get(entry), Mapping):
                content = {
                    **content,
                    entry: {**found, **{side: typed(found[side]) for side in sides if side in found}},
                }
        if content.get("impute") is not None:
            content = {**content, "impute": as_number(typed(content["impute"]))}
        return content

    @model_validator(mode="after")
    def _fitting(self) -> Self:
        if self.domain is not None and not self.type.ranged:
            raise ValueError(f"a {self.type} attribute has categories, not a domain with bounds")
        listed = (AttributeType.CATEGORICAL, AttributeType.ORDINAL)
        if self.categories is not None and self.type not in listed:
            raise ValueError(f"a {self.type} attribute has no categories")
        if self.type is AttributeType.ORDINAL and self.categories and self.categories.labels is None:
            raise ValueError("an ordinal attribute needs its labels in order: categories: {labels: […]}")
        if self.type in (AttributeType.INTEGER, AttributeType.DATE) and self.domain is not None:
            if self.domain.lower != int(self.domain.lower) or self.domain.upper != int(self.domain.upper):
                raise ValueError("an integer attribute needs whole numbers as bounds")
            if max(abs(self.domain.lower), abs(self.domain.upper)) > 2**53:
                raise ValueError(
                    "the bounds of an integer attribute must lie within ±2^53, where doubles are exact"
                )
        if self.decimals is not None and self.type is not AttributeType.CONTINUOUS:
            raise ValueError("only a continuous attribute has decimals")
        if self.impute is not None and self.missing is not Missing.IMPUTE:
            raise ValueError("a value to impute needs `missing: impute`")
        labels = self.categories.labels if self.categories is not None else None
        check_marks(self.missing_marks, labels, self.domain, truth=self.type is AttributeType.BOOLEAN)
        check_codes(self.value_labels, labels, self.missing_marks)
        if self.role is Role.WEIGHT:
            check_weight(self.type, self.domain, gaps=self.missing is not Missing.ERROR or self.gaps)
        apply_recoding(self)
        return self

    def bounds(self) -> Domain:
        """The domain, which a protected range must have."""
        if self.domain is None:
            raise SchemaError(
                f"Attribute '{self.name}' is protected but has no domain.",
                "Write its public bounds in the schema: domain: {lower: …, upper: …}. A law, a form or common sense "
                "tells them; bounds taken from the data would give them away.",
            )
        return self.domain

    @cached_property
    def is_protected(self) -> bool:
        return self.role in (Role.PROTECT, Role.WEIGHT)

    @property
    def is_public(self) -> bool:
        """Whether it is said what is public: bounds, or labels."""
        if self.type.ranged:
            return self.domain is not None
        return self.type is AttributeType.BOOLEAN or self.categories is not None

    def require_public(self) -> None:
        """A protected attribute must say it."""
        if self.type.ranged:
            self.bounds()
        elif not self.is_public:
            raise SchemaError(
                f"Attribute '{self.name}' is protected but its labels are not declared.",
                "Write categories: {labels: […]} or categories: {taxonomy: FILE} in the schema.",
            )

    @cached_property
    def gaps(self) -> bool:
        """Whether *missing* is an outcome that is measured and released."""
        return self.missing is Missing.OWN_CATEGORY or self.not_applicable is not None

    @property
    def from_data(self) -> str:
        """What was taken from the data without a reason why it is public, such as "upper bound of age"; else nothing."""
        if self.domain is not None and self.domain.leaks:
            sides = self.domain.leaks
            return f"bounds of {self.name}" if len(sides) > 1 else f"{sides[0]} bound of {self.name}"
        if self.categories is not None and self.categories.leaks:
            every = len(self.categories.leaks) == len(self.categories.labels or ("",))
            return f"{'labels' if every else 'some labels'} of {self.name}"
        return ""

    @property
    def stated(self) -> list[str]:
        """Why what is written here is public, as somebody said."""
        public = self.domain or self.categories
        return public.notes(self.name) if public else []

    @property
    def ranked_by_frequency(self) -> bool:
        return self.categories is not None and self.categories.order == Order.FREQUENCY

    @property
    def order_from_data(self) -> bool:
        """Counted in the data, or the order of a list that came from the data."""
        if self.categories is None:
            return False
        listed = self.type is AttributeType.ORDINAL or self.categories.order is Order.LISTED
        return self.ranked_by_frequency or (listed and bool(self.categories.leaks))


class Schema(Frozen):
    """All attributes, in the order of the release: what the data are, and what about them is public.

    Mostly it is read from a file (`Schema.load`) that began as a draft (`Schema.draft`).

    Parameters
    ----------
    attributes : sequence of Attribute
        The columns. `schema["age"]` is one of them.
    rules : sequence of str, optional
        Edit rules such as "age < 15 -> status = single": see the page Missing values and edit rules.

    Examples
    --------
    >>> import coterie
    >>> age = coterie.Attribute(name="age", type="integer", role="protect", domain={"lower": 0, "upper": 120})
    >>> schema = coterie.Schema(attributes=[age, coterie.Attribute(name="id", role="identifier")])
    >>> schema
    <Schema: age (protect); id (identifier)>
    """

    attributes: tuple[Attribute, ...] = Field(min_length=1)
    parameters: Parameters | None = None
    dialect: Dialect = Dialect()  # of text files
    unit: PrivacyUnit | None = None  # None: every row is a person
    rules: tuple[str, ...] = ()  # what every row satisfies, as public knowledge says (coterie.schema.rules)
    totals: Totals | None = None  # what the weights of synthetic rows add up to
    _folder: Path = PrivateAttr(default=Path())  # taxonomy files are named relative to the schema's own place

    @model_validator(mode="after")
    def _unique(self) -> Self:
        names = [attribute.name for attribute in self.attributes]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"described twice: {', '.join(twice)}")
        if self.unit is not None:
            check_unit(self.unit, {attribute.name: attribute.role for attribute in self.attributes})
        check_rules(self.edit_rules, self.protected)
        if self.weight is not None or self.totals is not None:
            check_weights(self.attributes, self.totals)
        return self

    @cached_property
    def edit_rules(self) -> EditRules:
        return read_rules(self.rules, self.protected, None if self.unit is None else self.unit.column)

    def with_role(self, role: Role) -> tuple[Attribute, ...]:
        return tuple(attribute for attribute in self.attributes if attribute.role is role)

    @cached_property
    def protected(self) -> tuple[Attribute, ...]:
        """What goes through the method: a weight too, unless it is made from public totals."""
        raked = self.raked
        return tuple(a for a in self.attributes if a.is_protected and a is not raked)

    @cached_property
    def searched(self) -> tuple[str, ...]:
        """Protected attributes whose bounds are found in the data, and paid for (`source: dp`)."""
        return tuple(a.name for a in self.protected if a.domain and a.domain.source is Source.DP)

    @cached_property
    def weight(self) -> Attribute | None:
        """The survey weight, if there is one."""
        return next(iter(self.with_role(Role.WEIGHT)), None)

    @cached_property
    def raked(self) -> Attribute | None:
        """The weight, where it is not read but made from public totals."""
        return self.weight if self.totals is not None else None

    def require_ready(self) -> None:
        """Refuse a schema that nothing can be protected with yet."""
        if not self.protected:
            raise SchemaError("No attribute is protected.", "Give at least one attribute `role: protect`.")
        for attribute in self.protected:
            attribute.require_public()

    @property
    def in_file(self) -> Schema:
        """The schema before recoding."""
        return self.model_copy(update={"attributes": tuple(a.in_file for a in self.attributes)})

    @property
    def of_release(self) -> Schema:
        """The same for a table that Coterie wrote: recoded already, in our own dialect."""
        attributes = tuple(attribute.as_released for attribute in self.attributes)
        return self.model_copy(update={"attributes": attributes, "dialect": Dialect()})

    @property
    def folder(self) -> Path:
        return self._folder

    def __getitem__(self, name: str) -> Attribute:
        for attribute in self.attributes:
            if attribute.name == name:
                return attribute
        known = [attribute.name for attribute in self.attributes]
        raise SchemaError(f"The schema has no attribute '{name}'.", nearest(name, known))

    def __repr__(self) -> str:
        told = []
        for role in Role:
            names = [attribute.name for attribute in self.with_role(role)]
            more = f" and {len(names) - 8} more" if len(names) > 8 else ""
            told += [f"{', '.join(names[:8])}{more} ({role.value})"] if names else []
        return f"<Schema: {'; '.join(told)}>"

    __str__ = __repr__

    @classmethod
    def load(cls, source: Schema | str | Path | Mapping[str, Any]) -> Schema:
        """Read a schema.

        Parameters
        ----------
        source : str, Path or dict
            A schema file; its YAML text (with a line break in it); or its content as a dict.

        Returns
        -------
        Schema

        Raises
        ------
        SchemaError
            Names the entry that is wrong, and says how to correct it.

        Examples
        --------
        >>> import coterie
        >>> coterie.Schema.load(
        ...     {
        ...         "attributes": {
        ...             "name": {"role": "identifier"},
        ...             "age": {"type": "integer", "role": "protect", "domain": {"lower": 0, "upper": 120}},
        ...         }
        ...     }
        ... )
        <Schema: age (protect); name (identifier)>
        """
        from coterie.schema.document import as_schema

        return as_schema(source)

    @classmethod
    def draft(
        cls,
        data: Any,
        *,
        bounds_from_data: float | None = None,
        table: str | None = None,
        query: str | None = None,
        codebook: str | None = None,
    ) -> Draft:
        """Draft the schema of a table: types and roles as a guess, public bounds left open.

        The draft holds no value of the data, unless `bounds_from_data` asks for it. Save its text, fill in the
        bounds from public knowledge, and load it.

        Parameters
        ----------
        data : frame, str or Path
            A pandas or polars DataFrame or a pyarrow Table; a file; or the address of a database.
        bounds_from_data : float, optional
            Set the bounds to [0, factor × maximum], as the papers do (they used 1.5). This discloses the maximum, and
            certificates will say so.
        table, query : str, optional
            The table (or sheet) to read, or a query, where `data` is a database (or a workbook).
        codebook : str, optional
            Where the labels in the dictionary of an SPSS, Stata, SAS or R file are published. It becomes their reason.

        Returns
        -------
        Draft
            `text` is commented YAML, `schema` what it says so far, `to_fill` the attributes that lack something.

        Raises
        ------
        DataError
            Where the table cannot be read.

        Examples
        --------
        >>> import coterie
        >>> draft = coterie.Schema.draft(coterie.demo_population())
        >>> draft.to_fill[:2]
        ['age', 'schooling']
        """
        from coterie.schema.draft import make_draft

        return make_draft(data, table, query, bounds_from_data=bounds_from_data, codebook=codebook)

    def to_dict(self) -> dict[str, Any]:
        from coterie.schema.document import schema_document

        return schema_document(self)

    def to_yaml(self) -> str:
        from coterie.schema.document import schema_text

        return schema_text(self)
