"""The specification in words: one line an entry, with what the library has to say about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from coterie.errors import CoterieError
from coterie.studio.desk.equation import words as equation_words
from coterie.studio.desk.statistic import expected_text


def listed_statistics(
    document: Mapping[str, Any], fault: CoterieError | None, notes: Sequence[str]
) -> list[dict[str, Any]]:
    lines = []
    for name, entry in (document.get("statistics") or {}).items():
        lines.append(
            {
                "name": name,
                "words": words(entry),
                "expected": expected_text(entry.get("expected")).replace("\n", "; "),
                "weight": entry.get("weight", 1),
                "tolerance": entry.get("tolerance", ""),
                "said": said_about(str(name), "Statistic", fault, notes),
            }
        )
    return lines


def listed_equations(
    document: Mapping[str, Any], fault: CoterieError | None, notes: Sequence[str]
) -> list[dict[str, Any]]:
    lines = []
    for name, entry in (document.get("equations") or {}).items():
        content = entry if isinstance(entry, dict) else {}
        lines.append(
            {
                "name": name,
                "words": equation_words(entry),
                "weight": content.get("weight", 1),
                "tolerance": content.get("tolerance", ""),
                "said": said_about(str(name), "Equation", fault, notes),
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


def words(entry: Mapping[str, Any]) -> str:
    """`mean of cost, by smoker (yes, no), where age from 18 below 65`."""
    columns = entry.get("of")
    listed_columns = columns if isinstance(columns, list) else [] if columns is None else [columns]
    text = str(entry.get("kind"))
    if entry.get("kind") == "quantile":
        text = f"quantile {entry.get('quantile')}"
    if listed_columns:
        text += f" of {' × '.join(str(column) for column in listed_columns)}"
    if entry.get("that"):
        text += f" with {_conditions(entry['that'])}"
    if isinstance(entry.get("by"), dict):
        text += ", by " + " and ".join(
            f"{column} ({_short(values)})" for column, values in entry["by"].items()
        )
    if "bins" in entry or "values" in entry:
        text += f" in {_short(entry.get('bins') or entry.get('values'))}"
    if entry.get("where"):
        text += f", where {_conditions(entry['where'])}"
    return text


def settings_of(document: Mapping[str, Any]) -> dict[str, str]:
    budget = document.get("budget") or {}
    unit = "rho" if "rho" in budget else "delta" if "delta" in budget else "epsilon"
    fields = {
        name: str(document.get(name) or "") for name in ("release", "population", "records", "neighbours")
    }
    fields |= {name: str(document.get(name) or "") for name in ("floor", "pilot")}
    fields["expected_from"] = str(document.get("expected_from") or "the publisher's expectation")
    main = budget.get("rho", budget.get("epsilon", ""))
    return fields | {"unit": unit, "budget": str(main), "delta": str(budget.get("delta", ""))}


def _conditions(content: Mapping[str, Any]) -> str:
    parts = []
    for column, condition in content.items():
        if isinstance(condition, dict):
            parts.append(" ".join([str(column), *(f"{end} {value}" for end, value in condition.items())]))
        elif isinstance(condition, list):
            parts.append(f"{column} is {' or '.join(str(value) for value in condition)}")
        else:
            parts.append(f"{column} is {condition}")
    return " and ".join(parts)


def _short(values: Any) -> str:
    texts = [str(value) for value in values]
    return ", ".join(texts[:6]) + (f", … {len(texts) - 6} more" if len(texts) > 6 else "")
