"""What came from the data stays marked, whatever is typed over it afterwards.

Someone who has seen "0 to 89" and writes 90 knows no more about public bounds than before. Only a stated reason
(`public_because`) makes them public. What is remembered are names of attributes and of their parts, no value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from coterie.schema.attributes import Attribute, Categories, Domain, Parameters, Schema, Source
from coterie.schema.domain import SIDES

LABELS = "labels"
Taken = dict[str, tuple[str, ...]]  # by attribute: lower, upper, labels


def remembered(taken: Mapping[str, tuple[str, ...]], *schemas: Schema) -> Taken:
    """What was known to come from the data, and what these descriptions say of themselves."""
    found = {name: set(parts) for name, parts in taken.items()}
    for schema in schemas:
        for attribute in schema.in_file.attributes:
            parts = set(attribute.domain.taken) if attribute.domain else set()
            if attribute.categories is not None and attribute.categories.taken:
                parts.add(LABELS)
            if parts:
                found.setdefault(attribute.name, set()).update(parts)
    return {name: tuple(sorted(parts)) for name, parts in found.items()}


def marked(schema: Schema, before: Schema | None, taken: Mapping[str, tuple[str, ...]]) -> Schema:
    """The description with every mark that it must have. Labels that were declared `before` stay declared."""
    known = {attribute.name: attribute for attribute in before.attributes} if before else {}
    attributes = tuple(
        _marked(attribute, known.get(attribute.name), taken[attribute.name])
        if attribute.name in taken
        else attribute
        for attribute in schema.attributes
    )
    parameters = _choice(schema.parameters, before.parameters if before else None)
    same = all(new is old for new, old in zip(attributes, schema.attributes, strict=True))
    if same and parameters == schema.parameters:
        return schema
    return schema.model_copy(update={"attributes": attributes, "parameters": parameters})


def _choice(now: Parameters | None, before: Parameters | None) -> Parameters | None:
    """Method, ε and k that came from a comparison. A page that does not speak of them leaves them as they were."""
    if now is None or before is None or before.source is not Source.DATA:
        return now or before
    return now.model_copy(update={"source": Source.DATA})


def _marked(attribute: Attribute, before: Attribute | None, taken: tuple[str, ...]) -> Attribute:
    update: dict[str, Any] = {}
    now, before = attribute.in_file, before and before.in_file
    if now.domain is not None:
        update["domain"] = _bounds(now.domain, taken)
    if now.categories is not None and LABELS in taken:
        update["categories"] = _labels(now.categories, before.categories if before else None)
    same = all(getattr(now, entry) == value for entry, value in update.items())
    return attribute if same else attribute.amended(**update)


def _bounds(domain: Domain, taken: tuple[str, ...]) -> Domain:
    sides = tuple(side for side in SIDES if side in taken or side in domain.taken)
    if sides == domain.taken:
        return domain
    if len(sides) == 2 and domain.source is not Source.DP:
        return domain.model_copy(update={"source": Source.DATA, "from_data": None})
    return domain.model_copy(update={"from_data": sides})


def _labels(categories: Categories, before: Categories | None) -> Categories:
    declared = set(before.labels or ()) - set(before.taken) if before else set()
    labels = categories.labels or ()
    found = tuple(label for label in labels if label in categories.taken or label not in declared)
    if len(found) == len(labels):  # all, or a taxonomy in their place
        return categories.model_copy(update={"source": Source.DATA, "from_data": None})
    return categories.model_copy(update={"source": Source.DECLARED, "from_data": found or None})
