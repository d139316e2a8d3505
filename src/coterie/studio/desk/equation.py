"""The form of one equation ⇄ its entry in the specification."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from coterie.statistics.specification.equations import READY_MADE
from coterie.studio.desk.statistic import plain
from coterie.studio.forms import Sent

OWN = "formula"  # the choice that stands for a formula of one's own
_PLAIN = ("weight", "tolerance", "guard")


def entry_of(form: Sent) -> tuple[str, dict[str, Any] | str]:
    ready = form.text("ready", OWN)
    entry: dict[str, Any]
    if ready == OWN:
        entry = {"formula": form.text("formula")}
    else:
        arguments = READY_MADE[ready].arguments if ready in READY_MADE else ()
        entry = {"ready": ready, "of": {name: form.text(f"{ready}-{name}") for name in arguments}}
    for name in _PLAIN:
        if form.text(name):
            entry[name] = plain(form.text(name))
    if form.text("summary") not in ("", "mean"):
        entry["summary"] = form.text("summary")
    return form.text("name"), entry["formula"] if set(entry) == {"formula"} else entry


def fields_of(name: str, entry: Mapping[str, Any] | str) -> dict[str, str]:
    content = {"formula": entry} if isinstance(entry, str) else entry
    ready = str(content.get("ready", OWN))
    fields = {"name": name, "ready": ready, "formula": str(content.get("formula", ""))}
    arguments: Any = content.get("of") or {}
    if isinstance(arguments, list) and ready in READY_MADE:
        arguments = dict(zip(READY_MADE[ready].arguments, arguments, strict=False))
    for argument, statistic in arguments.items():
        fields[f"{ready}-{argument}"] = str(statistic)
    for part in (*_PLAIN, "summary"):
        fields[part] = str(content.get(part, ""))
    return fields


def words(entry: Mapping[str, Any] | str) -> str:
    """One line for the list of equations."""
    if isinstance(entry, str):
        return entry
    if "formula" in entry:
        return str(entry["formula"])
    arguments = entry.get("of") or {}
    listed = arguments.values() if isinstance(arguments, dict) else arguments
    return f"{str(entry.get('ready')).replace('_', ' ')} of {', '.join(str(name) for name in listed)}"
