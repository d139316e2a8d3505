"""A study as an administrator writes it (YAML), made into the document that owners see."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from coterie.errors import ParameterError, nearest, reading
from coterie.federation.documents.signed import validated
from coterie.federation.documents.study import Join, Study, StudyAttribute
from coterie.federation.documents.wire import moment, now, stamp
from coterie.federation.errors import FederationError
from coterie.federation.storage.parties import Owner
from coterie.methods import get_method
from coterie.schema.attributes import Attribute, Missing, Role, Schema
from coterie.schema.document import parse_yaml, shown_bound
from coterie.schema.exact import as_text, parse_epsilon

_ENTRIES = {
    "title", "fragmentation", "method", "epsilon", "k", "attributes", "owners", "identifier", "join", "lead",
    "minimum", "deadline", "at_deadline", "seed",
}  # fmt: skip
Find = Callable[[str], Owner | None]


def read_study(path: Path, aggregator: str, find: Find) -> Study:
    with reading(str(path), FederationError):
        text = path.read_text(encoding="utf-8")
    content = parse_yaml(text, str(path), FederationError)
    if not isinstance(content, dict):
        raise FederationError(f"{path} describes no study.", "See docs/how-to/federate.md for an example.")
    return study_from(content, aggregator, find)


def study_from(content: Mapping[str, Any], aggregator: str, find: Find) -> Study:
    for entry in content:
        if entry not in _ENTRIES:
            raise FederationError(f"The study has an unknown entry '{entry}'.", nearest(str(entry), _ENTRIES))
    for entry in ("title", "fragmentation", "method", "epsilon", "k", "attributes", "owners", "deadline"):
        if entry not in content:
            raise FederationError(f"The study has no entry '{entry}'.", "See docs/how-to/federate.md.")
    recipe = get_method(str(content["method"]))
    join = Join.SIDE_BY_SIDE if recipe.synthetic else Join.GROUP_KEY  # unless the study says another
    schema = Schema.load({"attributes": content["attributes"]})
    roster = _roster(content["owners"], find)
    document = {
        "minimum": len(roster),
        "join": join if content["fragmentation"] == "vertical" else None,
        **{name: value for name, value in content.items() if name != "owners"},
        "aggregator": aggregator,
        "created": stamp(now()),
        "epsilon": as_text(parse_epsilon(content["epsilon"])),
        "attributes": [_attribute(attribute).content() for attribute in schema.attributes],
        "roster": roster,
        "deadline": _deadline(content["deadline"]),
    }
    try:
        return validated(Study, document)
    except FederationError as error:
        # The reader of this message wrote the file: there is no sender to ask.
        raise FederationError(error.problem, "Correct that entry; see docs/how-to/federate.md.") from None


def _attribute(attribute: Attribute) -> StudyAttribute:
    if (
        attribute.role is not Role.PROTECT
        or attribute.missing is not Missing.ERROR
        or attribute.missing_marks
    ):
        raise FederationError(
            f"Attribute '{attribute.name}': a study has protected attributes without missing values only.",
            "Write `role: protect`, and leave out `missing`; owners drop or fill such rows first.",
        )
    if attribute.from_data:
        raise FederationError(
            f"The domain of '{attribute.name}' was taken from data.",
            "Declare public bounds: all owners will see them.",
        )
    if attribute.is_recoded:
        raise FederationError(
            f"Attribute '{attribute.name}' is recoded, which studies do not carry.",
            "Leave out `recode`; owners recode their tables first, and declare what comes out.",
        )
    declared, kind = attribute.categories, attribute.type
    if declared is not None and declared.labels is None:
        raise FederationError(
            f"Attribute '{attribute.name}' names a taxonomy file.",
            "List its labels: owners take no file names.",
        )
    domain = attribute.domain if kind.ranged is False else attribute.bounds()
    return StudyAttribute(
        **{name: getattr(attribute, name) for name in ("name", "type", "decimals", "unit", "outside")},
        lower=shown_bound(domain.lower, kind) if domain else None,
        upper=shown_bound(domain.upper, kind) if domain else None,
        labels=declared.labels if declared else None,
        order=declared.order if declared else None,
        weight=as_text(attribute.weight),
    )


def _roster(owners: object, find: Find) -> list[dict[str, Any]]:
    """A list of names; or, for a vertical study, name → attributes (or → {attributes, weight})."""
    if isinstance(owners, list):
        repeated = next((name for name in owners if owners.count(name) > 1), None)
        if repeated is not None:
            raise FederationError(f"Owner '{repeated}' is named twice.", "Name each owner once.")
        owners = dict.fromkeys(map(str, owners))
    if not isinstance(owners, Mapping):
        raise FederationError("The owners are neither a list nor a mapping.", "See docs/how-to/federate.md.")
    roster = []
    for name, holds in owners.items():
        owner = find(str(name))
        if owner is None or owner.left is not None:
            raise FederationError(
                f"No owner '{name}' has joined.",
                "Invite it (`coterie aggregator invite`), and wait until it has joined.",
            )
        entry: dict[str, Any] = {"owner": owner.name, "key": owner.key, "sealing_key": owner.sealing_key}
        if isinstance(holds, Mapping):
            entry |= {
                "attributes": holds.get("attributes"),
                "weight": as_text(parse_epsilon(holds.get("weight", 1))),
            }
        elif holds is not None:
            entry["attributes"] = holds
        roster.append(entry)
    return roster


def _deadline(value: object) -> str:
    """An exact time with its zone, or '90 minutes', '48 hours', '14 days' from now."""
    text = str(value).strip()
    number, _, unit = text.partition(" ")
    units = {"minute": 60, "hour": 3600, "day": 86400, "second": 1}
    if number.isdecimal() and unit.rstrip("s") in units:
        return stamp(now() + timedelta(seconds=int(number) * units[unit.rstrip("s")]))
    try:
        due = moment(text)
    except ValueError:
        raise ParameterError(
            "The deadline is no time with a zone.", "Write 2026-12-01T12:00:00Z, or for example '48 hours'."
        ) from None
    if due < now():
        raise ParameterError("The deadline is in the past.", "Choose a later one.")
    return stamp(due)
