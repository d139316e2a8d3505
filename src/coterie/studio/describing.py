"""One attribute as the page shows it: every entry a text, to and from the schema's own values.

What was taken from the data is remembered as text (`taken`): as long as the same text stands in the fields, the schema
says `source: data`, and a person who writes something else, or says that it is public anyway, makes it `declared`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from coterie.budget import as_text
from coterie.errors import SchemaError
from coterie.schema import Attribute, AttributeType, Missing, Order, Outside, Role, Source
from coterie.schema_file import schema_from, shown_bound
from coterie.studio.forms import Sent

_RANGED = tuple(kind for kind in AttributeType if kind.ranged)
_LABELLED = (AttributeType.CATEGORICAL, AttributeType.ORDINAL)


@dataclass(slots=True)
class Row:
    name: str
    role: str = Role.PROTECT
    type: str = AttributeType.CONTINUOUS
    lower: str = ""
    upper: str = ""
    search: str = ""  # which bounds are found privately: nothing, both, lower or upper
    share: str = ""
    labels: str = ""  # one a line
    taxonomy: str = ""
    order: str = Order.MARGINALITY
    most: str = ""
    taken: str = ""  # what was taken from the data, as it was
    accepted: str = ""  # it is public all the same
    unit: str = ""
    decimals: str = ""
    weight: str = ""
    missing: str = Missing.ERROR
    marks: str = ""  # one a line
    impute: str = ""
    outside: str = Outside.ERROR

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
    def from_data(self) -> bool:
        return bool(self.taken) and self.taken == self.public and not self.accepted

    @property
    def open(self) -> str:
        """What a release still needs to know, or nothing."""
        if self.role != Role.PROTECT or self.public or not (self.ranged or self.labelled):
            return ""
        return "bounds" if self.ranged else "labels"


def row_of(attribute: Attribute) -> Row:
    row = Row(attribute.name, attribute.role.value, attribute.type.value)
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
    if attribute.domain_from_data:
        row.taken = row.public
    row.unit = attribute.unit or ""
    row.decimals = "" if attribute.decimals is None else str(attribute.decimals)
    row.weight = "" if attribute.weight == 1 else as_text(attribute.weight)
    row.missing, row.outside = attribute.missing.value, attribute.outside.value
    row.marks = "\n".join(attribute.missing_marks)
    row.impute = "" if attribute.impute is None else _impute(attribute)
    return row


def sent_row(form: Sent, place: int, name: str) -> Row:
    """The row as it was typed; what was not sent keeps its default."""
    row = Row(name)
    for field in fields(Row)[1:]:
        text = form.text(f"a{place}.{field.name}", getattr(row, field.name))
        if field.name in ("labels", "marks", "taken"):
            text = "\n".join(line.strip() for line in text.splitlines() if line.strip())
        setattr(row, field.name, text)
    return row


def attribute_of(row: Row) -> Attribute:
    """The schema's attribute, or a SchemaError that names it and says what is wrong."""
    content: dict[str, Any] = {"type": row.type, "role": row.role, "missing": row.missing}
    if row.ranged and row.public and (row.role == Role.PROTECT or (row.lower and row.upper)):
        if not (row.lower and row.upper):
            side = "lower" if not row.lower else "upper"
            raise SchemaError(
                f"Attribute '{row.name}' has only one bound.", f"Write the {side} one too, or none yet."
            )
        content["domain"] = _domain(row)
    if row.labelled and row.public:
        content["categories"] = _categories(row)
    if row.ranged:
        content["outside"] = row.outside
    for entry, text in (("unit", row.unit), ("weight", row.weight)):
        if text:
            content[entry] = text
    if row.decimals and row.type == AttributeType.CONTINUOUS:
        if not row.decimals.isdigit() or not row.decimals.isascii():
            raise SchemaError(f"Attribute '{row.name}': decimals is not a whole number.", "Write 0 to 15.")
        content["decimals"] = int(row.decimals)
    if row.marks:
        content["missing_marks"] = row.marks.split("\n")
    if row.impute and row.missing == Missing.IMPUTE:
        content["impute"] = row.impute
    return schema_from({"attributes": {row.name: content}}).attributes[0]


def described(rows: list[Row]) -> tuple[list[Attribute], dict[str, SchemaError]]:
    """All attributes that are right, and what is wrong with the others."""
    attributes, wrong = [], {}
    for row in rows:
        try:
            attributes.append(attribute_of(row))
        except SchemaError as error:
            wrong[row.name] = error
    return attributes, wrong


def _domain(row: Row) -> Mapping[str, str]:
    domain = {"lower": row.lower, "upper": row.upper}
    if row.search:
        domain |= {"source": Source.DP, "search": row.search} | ({"share": row.share} if row.share else {})
    elif row.from_data:
        domain["source"] = Source.DATA
    return domain


def _categories(row: Row) -> Mapping[str, Any]:
    categories: dict[str, Any] = {"order": row.order} if row.type == AttributeType.CATEGORICAL else {}
    if row.labels:
        categories["labels"] = row.labels.split("\n")
    if row.taxonomy:
        categories["taxonomy"] = row.taxonomy
    if row.most:
        categories["most"] = row.most
    if row.from_data:
        categories["source"] = Source.DATA
    return categories


def _impute(attribute: Attribute) -> str:
    moments = (AttributeType.DATE, AttributeType.TIMESTAMP)
    if attribute.type in moments and isinstance(attribute.impute, int | float):
        return shown_bound(attribute.impute, attribute.type).removesuffix("+00:00")
    return str(attribute.impute)
