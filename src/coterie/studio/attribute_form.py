"""An attribute as the form of the page Describe has it; bounds from the data only where a person asks for them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import pyarrow as pa
import yaml

from coterie.errors import DataError, SchemaError
from coterie.schema.attributes import (
    Attribute,
    AttributeType,
    Categories,
    Domain,
    Missing,
    Order,
    Outside,
    Role,
    Source,
)
from coterie.schema.document import parse_yaml, schema_from, shown_bound
from coterie.schema.domain import SIDES
from coterie.schema.draft import drafted
from coterie.schema.exact import as_text
from coterie.schema.provenance import LABELS
from coterie.studio.forms import Sent

# One attribute as the page shows it: every entry a text, to and from the schema's own values.
#
# What came from the data is no entry of the form: the project remembers it (`coterie.studio.project`). A person can only
# say why it is public all the same (`because`).

_RANGED = tuple(kind for kind in AttributeType if kind.ranged)
_LABELLED = (AttributeType.CATEGORICAL, AttributeType.ORDINAL)


@dataclass(slots=True)
class AttributeForm:
    name: str
    role: str = Role.PROTECT
    type: str = AttributeType.CONTINUOUS
    lower: str = ""
    upper: str = ""
    search: str = ""  # which bounds are found privately: nothing, both, lower or upper
    share: str = ""
    labels: str = ""  # one per line
    taxonomy: str = ""
    order: str = Order.MARGINALITY
    most: str = ""
    because: str = ""  # why it is public: one sentence, or lines "upper: …"
    taken: tuple[
        str, ...
    ] = ()  # what came from the data: lower, upper, labels; known to the project, not sent
    unit: str = ""
    decimals: str = ""
    weight: str = ""
    missing: str = Missing.ERROR
    marks: str = ""  # one per line
    impute: str = ""
    not_applicable: str = ""  # a condition, such as age < 15
    outside: str = Outside.ERROR
    label: str = ""
    words: str = ""  # of codes, one per line: 1 = male
    format: str = ""
    recode: str = ""  # as in the schema file: {top: 85}
    leaks: str = ""  # "upper bound", "labels": from the data, and nobody said why it is public

    @property
    def protected(self) -> bool:
        return self.role in (Role.PROTECT, Role.WEIGHT)

    @property
    def ranged(self) -> bool:
        return self.type in _RANGED

    @property
    def labelled(self) -> bool:
        return self.type in _LABELLED

    @property
    def public(self) -> str:
        """What the page calls public, as one text."""
        if self.ranged:
            return f"{self.lower}\n{self.upper}" if self.lower or self.upper else ""
        return self.labels or self.taxonomy if self.labelled else ""

    @property
    def from_data(self) -> str:
        """What is from the data and not said to be public, in words; else nothing."""
        return self.leaks if self.protected else ""

    @property
    def seen(self) -> bool:
        """Whether what this type needs was once filled from the data: what is typed now counts as from it too."""
        parts = SIDES if self.ranged else (LABELS,) if self.labelled else ()
        return self.protected and not {*parts}.isdisjoint(self.taken)

    @property
    def half(self) -> bool:
        """Whether only one of two bounds is known."""
        return self.ranged and bool(self.lower) != bool(self.upper)

    @property
    def open(self) -> str:
        """What a release still needs to know, or nothing."""
        if not self.protected or self.public or not (self.ranged or self.labelled):
            return ""
        return "bounds" if self.ranged else "labels"


def row_of(attribute: Attribute) -> AttributeForm:
    recode, attribute = attribute.recode, attribute.in_file
    row = AttributeForm(attribute.name, attribute.role.value, attribute.type.value)
    domain, categories = attribute.domain, attribute.categories
    if domain is not None:
        row.lower, row.upper = (
            shown_bound(bound, attribute.type).removesuffix("+00:00").removesuffix(".0")
            for bound in (domain.lower, domain.upper)
        )
        if domain.source is Source.DP:
            row.search = domain.search.value if domain.search else "both"
            row.share = as_text(domain.share) if domain.share is not None else ""
    if categories is not None:
        row.labels, row.taxonomy = "\n".join(categories.labels or ()), categories.taxonomy or ""
        row.order = categories.order.value
        row.most = "" if categories.most == 1000 else str(categories.most)
    public = domain or categories
    if public is not None:
        row.because = written_reasons(public)
    row.unit = attribute.unit or ""
    row.decimals = "" if attribute.decimals is None else str(attribute.decimals)
    row.weight = "" if attribute.weight == 1 else as_text(attribute.weight)
    row.missing, row.outside = attribute.missing.value, attribute.outside.value
    row.marks = "\n".join(attribute.missing_marks)
    row.label, row.format = attribute.label or "", attribute.format or ""
    row.words = "\n".join(f"{code} = {words}" for code, words in attribute.value_labels or ())
    row.not_applicable = attribute.not_applicable or ""
    if recode is not None:
        written = recode.written(attribute.type)
        row.recode = yaml.safe_dump(
            written, default_flow_style=True, allow_unicode=True, width=10_000
        ).strip()
    row.impute = "" if attribute.impute is None else _impute(attribute)
    return row


_KNOWN = ("name", "taken", "leaks")  # which no form can change


def sent_row(form: Sent, place: int, name: str) -> AttributeForm:
    """The row as it was typed; what was not sent keeps its default."""
    row = AttributeForm(name)
    for field in fields(AttributeForm):
        if field.name in _KNOWN:
            continue
        text = form.text(f"a{place}.{field.name}", getattr(row, field.name))
        if field.name in ("labels", "marks", "because", "words"):
            text = "\n".join(line.strip() for line in text.splitlines() if line.strip())
        setattr(row, field.name, text)
    return row


def attribute_of(row: AttributeForm) -> Attribute:
    """The schema's attribute, or a SchemaError that names it and says what is wrong."""
    content: dict[str, Any] = {"type": row.type, "role": row.role, "missing": row.missing}
    if row.ranged and row.public and (row.protected or (row.lower and row.upper)):
        if row.half:
            side = "lower" if not row.lower else "upper"
            raise SchemaError(
                f"Attribute '{row.name}' has only one bound.", f"Write the {side} one too, or none yet."
            )
        content["domain"] = _domain(row)
    if row.labelled and row.public:
        content["categories"] = _categories(row)
    if row.ranged:
        content["outside"] = row.outside
    content |= {name: text for name in ("unit", "weight", "label", "format") if (text := getattr(row, name))}
    if row.decimals and row.type == AttributeType.CONTINUOUS:
        if not row.decimals.isdigit() or not row.decimals.isascii():
            raise SchemaError(f"Attribute '{row.name}': decimals is not a whole number.", "Write 0 to 15.")
        content["decimals"] = int(row.decimals)
    if row.marks:
        content["missing_marks"] = row.marks.split("\n")
    if row.impute and row.missing == Missing.IMPUTE:
        content["impute"] = row.impute
    if row.words and row.type != AttributeType.BOOLEAN:
        content["value_labels"] = _words(row)
    if row.recode:
        content["recode"] = parse_yaml(f"recode: {row.recode}", f"Recode of '{row.name}'", SchemaError)[
            "recode"
        ]
    found = schema_from({"attributes": {row.name: content}}).attributes[0]
    # It names other attributes: it is read with all of them.
    return found.model_copy(update={"not_applicable": row.not_applicable}) if row.not_applicable else found


def _words(row: AttributeForm) -> dict[str, str]:
    found = {}
    for line in row.words.split("\n"):
        code, equals, words = (part.strip() for part in line.partition("="))
        if not equals or not words or code in found:
            raise SchemaError(
                f"Attribute '{row.name}': codes in words are not right.", "Write each code once, as 1 = male."
            )
        found[code] = words
    return found


def described(rows: list[AttributeForm]) -> tuple[list[Attribute], dict[str, SchemaError]]:
    """All attributes that are right, and what is wrong with the others."""
    attributes, wrong = [], {}
    for row in rows:
        try:
            attributes.append(attribute_of(row))
        except SchemaError as error:
            wrong[row.name] = error
    return attributes, wrong


def _domain(row: AttributeForm) -> Mapping[str, Any]:
    domain: dict[str, Any] = {"lower": row.lower, "upper": row.upper}
    if row.search:
        domain |= {"source": Source.DP, "search": row.search} | ({"share": row.share} if row.share else {})
    return domain | ({"public_because": _reasons(row, SIDES)} if row.because else {})


def _categories(row: AttributeForm) -> Mapping[str, Any]:
    categories: dict[str, Any] = {"order": row.order} if row.type == AttributeType.CATEGORICAL else {}
    if row.labels:
        categories["labels"] = row.labels.split("\n")
    if row.taxonomy:
        categories["taxonomy"] = row.taxonomy
    if row.most:
        categories["most"] = row.most
    if row.because:
        categories["public_because"] = _reasons(row, tuple(row.labels.split("\n")))
    return categories


def written_reasons(public: Domain | Categories) -> str:
    """One sentence, or a line for each part that has its own."""
    because = public.public_because
    return (
        "\n".join(f"{part}: {text}" for part, text in because)
        if isinstance(because, tuple)
        else because or ""
    )


def _reasons(row: AttributeForm, parts: tuple[str, ...]) -> str | dict[str, str]:
    """Lines that all begin with a part (`upper: …`) are reasons for these parts alone."""
    found = {}
    for line in row.because.split("\n"):
        named = [part for part in parts if line.startswith(f"{part}: ")]
        if not named:
            return row.because
        part = max(named, key=len)
        found[part] = line.removeprefix(f"{part}: ")
    return found


def _impute(attribute: Attribute) -> str:
    moments = (AttributeType.DATE, AttributeType.TIMESTAMP)
    if attribute.type in moments and isinstance(attribute.impute, int | float):
        return shown_bound(attribute.impute, attribute.type).removesuffix("+00:00")
    return str(attribute.impute)


FACTOR = 1.5  # as the papers have it: bounds from 0 to so many times the largest value


def suggest(row: AttributeForm, column: pa.ChunkedArray) -> tuple[str, ...]:
    """Fill the row's bounds or labels as `coterie schema draft --bounds-from-data 1.5` does; which ones were filled.

    A single bound that a person wrote stays. Reasons go: they were given for other values.
    """
    if row.type in (AttributeType.DATE, AttributeType.TIMESTAMP):
        raise DataError(
            f"'{row.name}' is a {row.type}: no bounds are taken from the data.",
            "Write bounds that anybody may know, such as 1900-01-01 and 2030-12-31.",
        )
    draft = drafted(
        pa.table({row.name: column}),
        bounds_from_data=FACTOR,
        as_type=AttributeType(row.type),
        as_weight=row.role == Role.WEIGHT and row.ranged,
    )
    (attribute,) = draft.schema.attributes
    found = row_of(attribute)
    if row.ranged:
        if attribute.domain is None:
            raise DataError(
                f"The values of '{row.name}' give no bounds: they are not numbers, or too large, or all zero.",
                "Write its public bounds, or choose another type.",
            )
        lower, upper = attribute.domain.lower, attribute.domain.upper
        if row.type == AttributeType.INTEGER:
            found.lower, found.upper = str(math.floor(lower)), str(math.ceil(upper))
        sides = tuple(side for side in SIDES if not (row.half and getattr(row, side)))
        for side in sides:
            setattr(row, side, getattr(found, side))
        row.search = row.share = row.because = ""
        return sides
    if not found.labels:
        raise SchemaError(
            f"'{row.name}' has too many different texts, or too few, to be taken for labels.",
            "Write the labels that are possible, or make it an identifier.",
        )
    row.labels, row.taxonomy, row.because = found.labels, "", ""
    return (LABELS,)
