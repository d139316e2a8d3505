"""What a schema says of its columns, as far as a promise depends on it. Whoever has the schema knows all of this."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from coterie.schema.attributes import Attribute, Role, Schema
from coterie.schema.codebook import marks_inside
from coterie.schema.document import shown_bound
from coterie.schema.domain import AttributeType, Source
from coterie.schema.survey_words import is_household
from coterie.schema.unit import PrivacyUnit

_SHARED_BY = 10  # rows, on average, below which equal values may mark a household


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredFacts:
    protected: tuple[str, ...]
    kept: tuple[str, ...] = ()
    recoded: tuple[str, ...] = ()  # which and how: "age: values above 85 as 85"
    bounds_from_data: tuple[str, ...] = ()  # which, in words: "upper bound of age", "labels of ward"
    bounds_paid: tuple[str, ...] = ()  # found by a DP quantile, from the attribute's own ε
    order_from_data: tuple[str, ...] = ()
    parameters_from_data: bool = False  # method, ε and k: chosen by comparing results on these data
    parameters_public_because: str = ""
    marked: tuple[str, ...] = ()  # "99 in age": marks of missing values that lie in the domain
    households: tuple[str, ...] = ()  # identifiers named like those of a unit, where the schema has none
    linking: tuple[str, ...] = ()  # kept columns whose values may tell which rows belong to one household
    gaps: tuple[str, ...] = ()  # protected attributes of which missing is an outcome
    rules: tuple[str, ...] = ()  # edit rules and what is not applicable
    labelled: tuple[str, ...] = ()  # protected attributes whose values are labels without a number
    unit: PrivacyUnit | None = None  # whom the promise is made to, where that is not one row
    weight: str = ""  # the column of survey weights, if there is one
    totals: bool = False  # whether it is not read but made from public totals


def declared(schema: Schema, records: int) -> DeclaredFacts:
    """`records`: how many rows share the values of a kept column."""
    protected, parameters, unit = schema.protected, schema.parameters, schema.unit
    dropped = schema.with_role(Role.IDENTIFIER)
    return DeclaredFacts(
        protected=tuple(a.name for a in protected),
        kept=tuple(a.name for a in schema.with_role(Role.KEEP)),
        recoded=tuple(f"{a.name}: {words}" for a in protected if (words := a.recoded_in_words)),
        bounds_from_data=tuple(a.from_data for a in protected if a.from_data),
        bounds_paid=schema.searched,
        order_from_data=tuple(a.name for a in protected if a.order_from_data),
        parameters_from_data=parameters is not None and parameters.leaks,
        parameters_public_because="; ".join(parameters.notes("method, ε and k")) if parameters else "",
        marked=tuple(found for a in protected if (found := _marked_inside(a.in_file))),
        households=() if unit is not None else tuple(a.name for a in dropped if is_household(a.name)),
        linking=linking_columns(schema, records),
        gaps=tuple(a.name for a in protected if a.gaps),
        rules=schema.edit_rules.texts,
        labelled=tuple(a.name for a in protected if a.type.labelled),
        unit=unit,
        weight=schema.weight.name if schema.weight is not None else "",
        totals=schema.totals is not None,
    )


def declared_of(attribute: Attribute, tree: str | None) -> dict[str, Any]:
    """What a certificate repeats of a protected attribute. What would give away the data is left out.

    `tree`: the digest of its tree of labels.
    """
    domain, labels = attribute.domain, attribute.categories
    found: dict[str, Any] = {
        "missing": attribute.missing,
        "missing_marks": attribute.missing_marks,
        "imputed": None if attribute.impute is None else str(attribute.impute),
        "outside": attribute.outside if attribute.in_file.type.ranged else None,
        "recoded": attribute.recoded_in_words,
    }
    if domain is not None:
        leaks = domain.leaks
        found["domain"] = {
            "lower": None if "lower" in leaks else shown_bound(domain.lower, attribute.type),
            "upper": None if "upper" in leaks else shown_bound(domain.upper, attribute.type),
            "source": domain.source,
            "from_data": domain.from_data,
            "public_because": domain.reasons,
        }
    if labels is not None:
        public = not labels.leaks
        found["categories"] = {
            "taxonomy": labels.taxonomy,
            "labels": labels.labels if public else None,
            "sha256": tree if public else None,
            "order": labels.order,
            "source": labels.source if public else Source.DATA,
            "from_data": labels.from_data if public else None,
            "public_because": labels.reasons,
        }
    return found


def _marked_inside(attribute: Attribute) -> str:
    """Which missing marks lie in the domain, such as "99 in age"; else nothing."""
    if attribute.domain is None:
        return ""
    found = marks_inside(attribute.missing_marks, attribute.domain, attribute.type)
    return f"{', '.join(found)} in {attribute.name}" if found else ""


def linking_columns(schema: Schema, records: int) -> tuple[str, ...]:
    """Kept columns that may tell which rows belong to one household or person: alone, or all of them together.

    Only declarations and the number of records count: whether there are so many possible values that few rows share one.
    """
    possible = {a.name: _possible_values(a) for a in schema.with_role(Role.KEEP)}
    most = records / _SHARED_BY
    alone = tuple(name for name, values in possible.items() if values > most)
    return alone or (tuple(possible) if math.prod(possible.values()) > most else ())


def _possible_values(attribute: Attribute) -> float:
    labels = attribute.categories.labels if attribute.categories is not None else None
    if attribute.type is AttributeType.BOOLEAN or labels is not None:
        return len(labels or ("false", "true")) + 1  # a gap is one more
    if attribute.type in (AttributeType.INTEGER, AttributeType.DATE) and attribute.domain is not None:
        return attribute.domain.upper - attribute.domain.lower + 2
    return math.inf
