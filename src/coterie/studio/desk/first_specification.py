"""A first specification to change: from the description of the table alone, never from its values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from coterie.errors import CoterieError, ParameterError
from coterie.schema.attributes import Attribute, AttributeType, Role, Schema
from coterie.studio.desk.entries import LISTS, NUMERIC, columns_of, equation_words, expected_text
from coterie.studio.ledgers import last_account
from coterie.studio.project import Project

_MOST_LABELS = 6
_MOST_MEANS = 2
_MOST_CELLS = 200  # labels of a column that a table may be by


def settings(project: Project) -> dict[str, Any]:
    """What every specification has. Under replace-one neighbours the number of records is public by definition; where the
    schema names a unit it is private, and not written here.

    Its people are those of the table's last release, if a ledger counted it: one budget for both.
    """
    name = project.state.name.rsplit(".", 1)[0].lower()
    slug = re.sub(r"[^a-z0-9]+", "-", name).strip("-") or "statistics"
    public = {
        "records": project.state.loaded.rows if project.state.loaded else 0,
        "neighbours": "replace-one",
    }
    if project.schema_path.exists() and project.schema().unit is not None:
        public = {"neighbours": "exchange"}
    return {
        "coterie_statistics": 1,
        "release": f"{slug}-1",
        "population": last_account(project)[1] or slug,
        **public,
        "budget": {"epsilon": "1"},
        "expected_from": "the publisher's expectation",
        "statistics": {},
        "equations": {},
    }


def suggested(schema: Schema) -> tuple[dict[str, Any], dict[str, Any]]:
    """Averages of numbers with bounds, by the first attribute with few labels; and one difference."""
    usable = [a for a in schema.attributes if a.role not in (Role.IDENTIFIER, Role.WEIGHT)]
    by_weight = {"weighted": True} if schema.weight is not None and schema.weight.domain is not None else {}
    numbers = [a for a in usable if a.type in NUMERIC and a.domain is not None][:_MOST_MEANS]
    worded = sorted(usable, key=lambda a: not a.value_labels)  # codes with words are what people ask for
    groups = next(((a.name, _labels(a)) for a in worded if 2 <= len(_labels(a)) <= _MOST_LABELS), None)
    statistics: dict[str, Any] = {}
    equations: dict[str, Any] = {}
    if groups:
        statistics["n"] = {"kind": "count", "by": {groups[0]: list(groups[1])}, **by_weight}
    for attribute in numbers:
        name = f"average_{_word(attribute.name)}"
        statistics[name] = {"kind": "mean", "of": attribute.name, **by_weight}
        if groups:
            statistics[name]["by"] = {groups[0]: list(groups[1])}
            first, second = groups[1][:2]
            equations.setdefault(
                "difference",
                {"ready": "difference", "of": {"a": f"{name}[{first}]", "b": f"{name}[{second}]"}},
            )
    if not groups and len(numbers) == 1:
        statistics[f"spread_{_word(numbers[0].name)}"] = {"kind": "std", "of": numbers[0].name}
    return statistics, equations


def table_entry(schema: Schema, columns: Sequence[str], of: str) -> tuple[str, dict[str, Any]]:
    """A table to publish: people, or the average of a number, by up to three columns, with all its margins."""
    if not 1 <= len(columns) <= 3 or len({*columns}) != len(columns):
        raise ParameterError(
            "A table needs one to three different columns.", "Choose the columns to count by."
        )
    by = {name: list(_labels(schema[name])) for name in columns}
    for name, labels in by.items():
        if not labels:
            raise ParameterError(
                f"'{name}' has no declared labels.", "Choose another column, or declare its labels."
            )
    entry: dict[str, Any] = {"kind": "mean", "of": of, "by": by} if of else {"kind": "count", "by": by}
    if not of and not any(schema[name].gaps for name in columns):
        entry["complete"] = True
    if schema.weight is not None and schema.weight.domain is not None:
        entry["weighted"] = True
    return "_".join([f"average_{_word(of)}" if of else "people", "by", *map(_word, columns)]), entry | {
        "totals": True
    }


def tabled(schema: Schema) -> tuple[list[str], list[str]]:
    """The columns that a table can be by, and the numbers whose average it can show."""
    usable = [a for a in schema.attributes if a.role not in (Role.IDENTIFIER, Role.WEIGHT)]
    return (
        [a.name for a in usable if 2 <= len(_labels(a)) <= _MOST_CELLS],
        [a.name for a in usable if a.type in NUMERIC and a.domain is not None],
    )


def _labels(attribute: Attribute) -> tuple[str, ...]:
    if attribute.type is AttributeType.BOOLEAN:
        return ("true", "false")
    return (attribute.categories.labels if attribute.categories else None) or ()


def _word(name: str) -> str:
    return re.sub(r"\W+", "_", name).strip("_").lower() or "value"


# The specification in words: one line per entry, with what the library has to say about it.


def listed(
    document: Mapping[str, Any],
    view: str,
    fault: CoterieError | None,
    notes: Sequence[str],
    schema: Schema,
) -> list[dict[str, Any]]:
    """`view`: statistic or equation."""
    meanings = {attribute.name: attribute.meanings for attribute in schema.attributes}
    lines = []
    for name, entry in (document.get(LISTS[view]) or {}).items():
        content = entry if isinstance(entry, dict) else {}
        lines.append(
            {
                "name": name,
                "words": words(entry, meanings) if view == "statistic" else equation_words(entry),
                "expected": expected_text(content.get("expected")).replace("\n", "; "),
                "weight": content.get("weight", 1),
                "tolerance": content.get("tolerance", ""),
                "said": said_about(str(name), view.capitalize(), fault, notes),
            }
        )
    return lines


def said_about(name: str, kind: str, fault: CoterieError | None, notes: Sequence[str]) -> list[str]:
    """Sentences that name this entry, to stand beside it."""
    marks = (f"{kind} '{name}'", f"{kind} '{name}[")
    found = [note for note in notes if any(mark in note for mark in marks)]
    if fault is not None and any(mark in fault.problem for mark in marks):
        found.insert(0, f"{fault.problem} {fault.advice}")
    return found


Meanings = Mapping[str, Mapping[str, str]]  # of each column's codes


def words(entry: Mapping[str, Any], meanings: Meanings) -> str:
    """`mean of cost, by smoker (yes, no), where age from 18 below 65`."""
    listed_columns = columns_of(entry)
    text = f"weighted {entry.get('kind')}" if entry.get("weighted") is True else str(entry.get("kind"))
    if entry.get("kind") == "quantile":
        text = f"quantile {entry.get('quantile')}"
    if listed_columns:
        text += f" of {' × '.join(str(column) for column in listed_columns)}"
    if entry.get("that"):
        text += f" with {_conditions(entry['that'], meanings)}"
    if isinstance(entry.get("by"), dict):
        text += ", by " + " and ".join(
            f"{column} ({_short(_said(column, values, meanings))})" for column, values in entry["by"].items()
        )
    if "bins" in entry or "values" in entry:
        text += f" in {_short(entry.get('bins') or entry.get('values'))}"
    if entry.get("where"):
        text += f", where {_conditions(entry['where'], meanings)}"
    return text


def settings_of(document: Mapping[str, Any]) -> dict[str, str]:
    budget = document.get("budget") or {}
    unit = "rho" if "rho" in budget else "delta" if "delta" in budget else "epsilon"
    names = ("release", "population", "records", "neighbours", "floor", "pilot")
    fields = {name: str(document.get(name) or "") for name in names}
    fields["expected_from"] = str(document.get("expected_from") or "the publisher's expectation")
    main = budget.get("rho", budget.get("epsilon", ""))
    return fields | {"unit": unit, "budget": str(main), "delta": str(budget.get("delta", ""))}


def _said(column: str, values: Any, meanings: Meanings) -> list[str]:
    """Values as people read them: a code in the words that the schema has for it."""
    texts = map(str, values if isinstance(values, list) else [values])
    return [meanings.get(column, {}).get(text, text) for text in texts]


def _conditions(content: Mapping[str, Any], meanings: Meanings) -> str:
    parts = []
    for column, condition in content.items():
        if isinstance(condition, dict):
            parts.append(" ".join([str(column), *(f"{end} {value}" for end, value in condition.items())]))
        else:
            parts.append(f"{column} is {' or '.join(_said(column, condition, meanings))}")
    return " and ".join(parts)


def _short(values: Any) -> str:
    texts = [str(value) for value in values]
    return ", ".join(texts[:6]) + (f", … {len(texts) - 6} more" if len(texts) > 6 else "")
