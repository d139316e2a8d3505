"""The forms of one statistic and of one equation ⇄ their entries in the specification. What is wrong, the library says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import yaml

from coterie.errors import ParameterError, SchemaError
from coterie.schema.attributes import Attribute, AttributeType, Schema
from coterie.statistics.specification.equations import READY_MADE
from coterie.studio.forms import Sent

KINDS = {
    "count": "how many records",
    "sum": "the sum of an attribute (of two: the sum of their products)",
    "mean": "the average",
    "trimmed_mean": "the average without the extreme values",
    "variance": "the variance",
    "std": "the standard deviation",
    "covariance": "the covariance of two attributes",
    "correlation": "Pearson's correlation of two attributes",
    "slope": "the slope of the regression of the first attribute on the second",
    "intercept": "the intercept of that regression",
    "median": "the median",
    "quantile": "a quantile, such as 0.9",
    "proportion": "the share of records for which something holds",
    "histogram": "one count per bin or value",
    "count_distinct": "how many different values occur",
}
NUMERIC = (AttributeType.CONTINUOUS, AttributeType.INTEGER)
CONDITIONS = 4  # rows of the form; a condition left empty does not count
GROUPS = 3
_OF_TWO = ("sum", "covariance", "correlation", "slope", "intercept")
_WORDS = ("declared", "private")  # what may stand in the place of a list of values
LISTS = {"statistic": "statistics", "equation": "equations"}  # the part of the specification behind each form
OWN = "formula"  # the choice that stands for a formula of one's own


def entry_of(view: str, form: Sent, schema: Schema) -> tuple[str, Any]:
    """Name and entry, as YAML would hold them. `view`: statistic or equation."""
    return form.text("name"), _statistic(form, schema) if view == "statistic" else _equation(form)


def fields_of(view: str, name: str, entry: Any) -> dict[str, str]:
    """What the form shows for an entry; None: for a new one."""
    if entry is None:
        return {"kind": "count"} if view == "statistic" else {"ready": "ratio"}
    return {"name": name, **(_statistic_fields(entry) if view == "statistic" else _equation_fields(entry))}


def sent_fields(form: Sent) -> dict[str, str]:
    """What was typed, to be shown again beside what is wrong with it."""
    fields = {name: form.text(name) for name in form.names if name != "of"}
    return fields | {f"of-{number}": column for number, column in enumerate(form.several("of"))}


# What is typed into one field, and its value in the specification.


def plain(text: str) -> int | float | str:
    """A number where it is one; otherwise the text, of which the library says what is wrong."""
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text


def expected_of(text: str) -> Any:
    """`600`, `9 to 13`, or one line per group: `yes: 600`."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) == 1 and ":" not in lines[0]:
        return _expected(lines[0])
    groups = {}
    for line in lines:
        label, colon, value = line.rpartition(":")
        if not colon:
            raise ParameterError(
                "An expected value does not say which group it is for.",
                "Write one line per group, such as yes: 600.",
            )
        groups[label.strip()] = _expected(value.strip())
    return groups


def _expected(text: str) -> Any:
    low, to, high = text.partition(" to ")
    return [plain(low.strip()), plain(high.strip())] if to else plain(text)


def expected_text(expected: object) -> str:
    if isinstance(expected, dict):
        return "\n".join(f"{label}: {expected_text(value)}" for label, value in expected.items())
    if isinstance(expected, list):
        return " to ".join(str(end) for end in expected)
    return "" if expected is None else str(expected)


def _nested(text: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        raise ParameterError(
            "This is not valid YAML.", "Write one line per entry, such as size: 600 or mean: 36."
        ) from None


def _nested_text(value: Any) -> str:
    return yaml.safe_dump(value, sort_keys=False).removesuffix("\n...\n").strip()


# By name: how a field is read and written. One that is empty, or holds what is usual, is not written down.
Fields = Mapping[str, tuple[Callable[[str], Any], Callable[[Any], str]]]
_FIELDS: Fields = {
    **dict.fromkeys(("quantile", "trim", "at_least", "at_most", "least_std", "candidates"), (plain, str)),
    **dict.fromkeys(("weight", "tolerance"), (plain, str)),
    **dict.fromkeys(("about", "shape", "totals"), (_nested, _nested_text)),  # as YAML, for experts
    **dict.fromkeys(("summary", "route"), (str, str)),
    "expected": (expected_of, expected_text),
    "weighted": (lambda text: text == "true", lambda value: str(value).lower()),
}
_OF_EQUATIONS: Fields = {
    **dict.fromkeys(("weight", "tolerance", "guard"), (plain, str)),
    "summary": (str, str),
}
_USUAL = {"summary": "mean", "route": "auto"}


def _read(form: Sent, fields: Fields) -> dict[str, Any]:
    typed = {name: form.text(name) for name in fields}
    return {name: fields[name][0](text) for name, text in typed.items() if text not in ("", _USUAL.get(name))}


def _written(entry: Mapping[str, Any], fields: Fields) -> dict[str, str]:
    return {name: write(entry[name]) if name in entry else "" for name, (_, write) in fields.items()}


# A statistic.


def _statistic(form: Sent, schema: Schema) -> dict[str, Any]:
    kind = form.text("kind")
    columns = form.several("of") if kind not in ("count", "proportion") else []
    parts = {
        "of": columns if kind in _OF_TWO and len(columns) > 1 else columns[0] if columns else None,
        **(_bins(form, schema, columns) if kind == "histogram" else {}),
        "where": _conditions(form, "where", schema),
        "that": _conditions(form, "that", schema) if kind == "proportion" else None,
        "by": _groups(form, schema),
    }
    parts["complete"] = form.flag("complete") and bool(parts["by"] or kind == "histogram")
    fields = _read(form, _FIELDS)
    if kind != "quantile":
        fields.pop("quantile", None)
    return {"kind": kind} | {name: part for name, part in parts.items() if part} | fields


def _statistic_fields(entry: Mapping[str, Any]) -> dict[str, str]:
    fields = {"kind": str(entry.get("kind", "count")), "complete": "yes" if entry.get("complete") else ""}
    fields |= {f"of-{number}": str(column) for number, column in enumerate(columns_of(entry))}
    for part in ("where", "that"):
        for number, (column, condition) in enumerate((entry.get(part) or {}).items()):
            fields[f"{part}-column-{number}"] = str(column)
            ends = condition if isinstance(condition, dict) else {"values": _listed(condition)}
            fields |= {f"{part}-{end}-{number}": str(value) for end, value in ends.items()}
    for number, (column, values) in enumerate((entry.get("by") or {}).items()):
        fields[f"by-column-{number}"], fields[f"by-values-{number}"] = str(column), _listed(values)
    for part in ("bins", "values"):
        fields[part] = _listed(entry[part]) if part in entry else ""
    return fields | _written(entry, _FIELDS)


def columns_of(entry: Mapping[str, Any]) -> list[Any]:
    columns = entry.get("of")
    return columns if isinstance(columns, list) else [] if columns is None else [columns]


def _conditions(form: Sent, part: str, schema: Schema) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for number in range(CONDITIONS):
        column = form.text(f"{part}-column-{number}")
        if not column:
            continue
        if column in found:
            raise ParameterError(
                f"Two conditions are about '{column}'.", "Put its values into one condition, separated by ;"
            )
        typed = {end: form.text(f"{part}-{end}-{number}") for end in ("from", "below")}
        ends = {end: plain(text) for end, text in typed.items() if text}
        values = _values(form.text(f"{part}-values-{number}"), schema[column])
        if ends and values:
            raise ParameterError(f"'{column}' has values and a range.", "Give one of the two.")
        found[column] = ends or (values[0] if len(values) == 1 else values)
    return found


def _groups(form: Sent, schema: Schema) -> dict[str, Any]:
    typed = {form.text(f"by-column-{n}"): form.text(f"by-values-{n}") for n in range(GROUPS)}
    return {
        column: values if values in _WORDS else _values(values, schema[column]) or labels_of(schema[column])
        for column, values in typed.items()
        if column
    }


def _bins(form: Sent, schema: Schema, columns: list[str]) -> dict[str, Any]:
    edges = [plain(part.strip()) for part in form.text("bins").split(";") if part.strip()]
    if edges or not columns:
        return {"bins": edges}
    attribute = schema[columns[0]]
    return {"values": _values(form.text("values"), attribute) or labels_of(attribute)}


def labels_of(attribute: Attribute) -> list[str]:
    """The labels that the description declares; without them the user has to list values."""
    if attribute.type is AttributeType.BOOLEAN:
        return ["true", "false"]
    if attribute.categories is None or attribute.categories.labels is None:
        raise SchemaError(
            f"The values of '{attribute.name}' are not declared.",
            "List them here, separated by ; — or for numbers, give the edges of bins.",
        )
    return list(attribute.categories.labels)


def _values(text: str, attribute: Attribute) -> list[Any]:
    parts = [part.strip() for part in text.split(";") if part.strip()]
    return [plain(part) for part in parts] if attribute.type in NUMERIC else list(parts)


def _listed(values: object) -> str:
    return "; ".join(str(value) for value in values) if isinstance(values, list) else str(values)


# An equation.


def _equation(form: Sent) -> dict[str, Any] | str:
    ready = form.text("ready", OWN)
    fields = _read(form, _OF_EQUATIONS)
    if ready == OWN:
        formula = form.text("formula")
        return {"formula": formula, **fields} if fields else formula
    arguments = READY_MADE[ready].arguments if ready in READY_MADE else ()
    return {"ready": ready, "of": {name: form.text(f"{ready}-{name}") for name in arguments}, **fields}


def _equation_fields(entry: Mapping[str, Any] | str) -> dict[str, str]:
    content = {"formula": entry} if isinstance(entry, str) else entry
    ready = str(content.get("ready", OWN))
    arguments: Any = content.get("of") or {}
    if isinstance(arguments, list) and ready in READY_MADE:
        arguments = dict(zip(READY_MADE[ready].arguments, arguments, strict=False))
    fields = {"ready": ready, "formula": str(content.get("formula", ""))}
    fields |= {f"{ready}-{argument}": str(statistic) for argument, statistic in arguments.items()}
    return fields | _written(content, _OF_EQUATIONS)


def equation_words(entry: Mapping[str, Any] | str) -> str:
    """One line for the list of equations."""
    if isinstance(entry, str):
        return entry
    if "formula" in entry:
        return str(entry["formula"])
    arguments = entry.get("of") or {}
    listed = arguments.values() if isinstance(arguments, dict) else arguments
    return f"{str(entry.get('ready')).replace('_', ' ')} of {', '.join(str(name) for name in listed)}"
