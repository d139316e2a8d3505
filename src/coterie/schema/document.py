"""Schemas as YAML: read strictly, with sentences for every fault, and written back."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from coterie.errors import CoterieError, SchemaError, nearest, reading
from coterie.schema.attributes import Attribute, AttributeType, Schema, Source
from coterie.schema.domain import as_date, as_timestamp
from coterie.schema.exact import as_text

# YAML as people write it: a name used twice is refused, labels stay as they stand, faults are told with their line.

_AS_WRITTEN = ("labels", "categories", "missing_marks")
_CODES = ("value_labels", "labels")  # mappings of codes or labels; the second stands in `recode`
_TOTALS = "totals"


def parse_yaml(text: str, what: str, fault: type[CoterieError]) -> Any:
    """The content of a document; `what` ("The schema") and `fault` tell whose it is."""
    try:
        return yaml.load(text, _StrictLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f" at line {mark.line + 1}" if mark else ""
        reason = getattr(error, "problem", None) or "it cannot be parsed"
        raise fault(f"{what} is not valid YAML{place}: {reason}.", "Correct that line.") from None


class _StrictLoader(yaml.SafeLoader):
    """Safe loading that refuses a name used twice instead of keeping the last."""


def _no_duplicates(loader: yaml.SafeLoader, node: yaml.MappingNode) -> dict[Any, Any]:
    mapping: dict[Any, Any] = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, str | int | float | bool):
            raise yaml.constructor.ConstructorError(None, None, "a name must be text", key_node.start_mark)
        if key in mapping:
            raise yaml.constructor.ConstructorError(None, None, f"'{key}' appears twice", key_node.start_mark)
        if key in _AS_WRITTEN and isinstance(value_node, yaml.SequenceNode):
            # Labels are text as they stand: yes, 010 and 1:30 are not true, 8 and 90.
            mapping[key] = [
                entry.value
                if isinstance(entry, yaml.ScalarNode)
                else loader.construct_object(entry, deep=True)
                for entry in value_node.value
            ]
        elif key in _CODES and isinstance(value_node, yaml.MappingNode):
            mapping[key] = _codes(value_node, f"{key} gives each code one text")
        elif key == _TOTALS and _nested(value_node):
            one = f"{_TOTALS} gives each label one number"
            mapping[key] = {name.value: _codes(counts, one) for name, counts in value_node.value}
        else:
            mapping[key] = loader.construct_object(value_node, deep=True)
    return mapping


def _nested(node: yaml.Node) -> bool:
    return isinstance(node, yaml.MappingNode) and all(isinstance(v, yaml.MappingNode) for _, v in node.value)


def _codes(node: yaml.MappingNode, what: str) -> dict[str, str]:
    """Codes and their labels, both as they stand: 01 keeps its zero, and no is no truth value."""
    found: dict[str, str] = {}
    for code, words in node.value:
        if not isinstance(code, yaml.ScalarNode) or not isinstance(words, yaml.ScalarNode):
            raise yaml.constructor.ConstructorError(None, None, what, node.start_mark)
        if code.value in found:
            raise yaml.constructor.ConstructorError(
                None, None, f"'{code.value}' appears twice", code.start_mark
            )
        found[code.value] = words.value
    return found


_StrictLoader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _no_duplicates)


SCHEMA_VERSION = 1
_OPTIONAL = ("dialect", "unit", "totals", "parameters")
_TOP = ("coterie_schema", "dialect", "unit", "totals", "attributes", "rules", "parameters")


def read_schema(source: str | Path, folder: Path = Path()) -> Schema:
    """A schema file, or YAML text (then `folder` is where its taxonomies are looked for)."""
    if isinstance(source, Path) or "\n" not in source:
        with reading(f"The schema file {source}", SchemaError):
            text = Path(source).read_text(encoding="utf-8")
        folder = Path(source).resolve().parent
    else:
        text = source
    document = parse_yaml(text, "The schema", SchemaError)
    if isinstance(document, dict) and isinstance(document.get(_TOTALS), str):
        document[_TOTALS] = _totals_file(folder / document[_TOTALS])
    schema = schema_from(document)
    schema._folder = folder
    return schema


def _totals_file(path: Path) -> Any:
    """Totals from a file of their own, named relative to the schema: what would stand behind `totals:`, or with it."""
    try:
        text = path.read_text(encoding="utf-8").removeprefix("---\n")
    except (OSError, UnicodeDecodeError):
        raise SchemaError(
            f"The file of totals, {path.name}, cannot be read.",
            "Write `totals:` as a number, as numbers by attribute and label, or as a YAML file of those.",
        ) from None
    found = parse_yaml(text, "The file of totals", SchemaError)
    if not isinstance(found, dict) or _TOTALS not in found:  # under its name, labels are read as they stand
        indented = "".join(f"  {line}\n" for line in text.splitlines())
        found = parse_yaml(f"{_TOTALS}:\n{indented}", "The file of totals", SchemaError)
    return found[_TOTALS]


def as_schema(source: Schema | str | Path | Mapping[str, Any]) -> Schema:
    """A schema as such, or read from a path, YAML text or a mapping."""
    if isinstance(source, Schema):
        return source
    return read_schema(source) if isinstance(source, str | Path) else schema_from(source)


def schema_from(document: object) -> Schema:
    """The YAML document's content as a schema; every fault is a SchemaError that names the place."""
    if isinstance(getattr(document, "schema", None), Schema):
        raise SchemaError(
            "This is a draft, not yet a schema.",
            "Save its `text`, fill in what is open (`to_fill`), and load the file; or use its `schema`.",
        )
    if not isinstance(document, Mapping) or not isinstance(document.get("attributes"), Mapping):
        raise SchemaError(
            "This is not a Coterie schema.",
            "It needs a mapping `attributes:`; `coterie schema draft DATA --output FILE` writes one.",
        )
    unknown = set(document) - set(_TOP)
    if unknown:
        raise SchemaError(
            f"The schema has an unknown entry '{sorted(map(str, unknown))[0]}'.",
            f"Only {', '.join(f'`{entry}`' for entry in _TOP[:-1])} and `{_TOP[-1]}` stand at the top.",
        )
    version = document.get("coterie_schema", SCHEMA_VERSION)
    if version != SCHEMA_VERSION:
        raise SchemaError(
            f"The schema says version {version}; this Coterie reads version {SCHEMA_VERSION}.",
            "Install the Coterie that wrote it, or draft it anew.",
        )
    attributes = [_attribute(str(name), content) for name, content in document["attributes"].items()]
    try:
        return Schema.model_validate(
            {
                "attributes": tuple(attributes),
                "rules": _rules(document.get("rules")),
                **{name: document[name] for name in _OPTIONAL if document.get(name) is not None},
            }
        )
    except ValidationError as error:
        raise SchemaError(f"The schema is wrong: {_first_fault(error)}.", "Correct that line.") from None


def _rules(content: object) -> tuple[str, ...]:
    if content is None:
        return ()
    if not isinstance(content, list) or not all(isinstance(rule, str) for rule in content):
        raise SchemaError(
            "The rules are not a list of texts.",
            "Write one per line, such as `- age < 15 -> status = single`; one with a colon in quotes.",
        )
    return tuple(rule.strip() for rule in content)


def schema_document(schema: Schema) -> dict[str, Any]:
    unit, totals, parameters = schema.unit, schema.totals, schema.parameters
    document = {
        "coterie_schema": SCHEMA_VERSION,
        "dialect": schema.dialect.model_dump(exclude_defaults=True),
        "unit": unit and unit.model_dump(mode="json", exclude_defaults=True),
        _TOTALS: totals and totals.document(),
        "attributes": {attribute.name: _plain(attribute) for attribute in schema.attributes},
        "rules": list(schema.rules),
        # At the end: the studio's results do not depend on it.
        "parameters": parameters and parameters.model_dump(mode="json", exclude_none=True),
    }
    return {entry: content for entry, content in document.items() if content}


def schema_text(schema: Schema) -> str:
    return yaml.safe_dump(schema_document(schema), sort_keys=False, allow_unicode=True)


def shown_bound(value: float, kind: AttributeType) -> str:
    """A bound as people write it: exact text, dates as dates."""
    if kind is AttributeType.DATE:
        return as_date(value)
    if kind is AttributeType.TIMESTAMP:
        return as_timestamp(value)
    return str(int(value)) if kind is AttributeType.INTEGER else repr(value)


def _attribute(name: str, content: object) -> Attribute:
    if not isinstance(content, Mapping):
        raise SchemaError(
            f"Attribute '{name}' has no description.",
            "Give it at least `role: protect`, `keep`, `identifier` or `weight`.",
        )
    for entry in content:
        if entry not in Attribute.model_fields or entry == "name":
            raise SchemaError(
                f"Attribute '{name}' has an unknown entry '{entry}'.",
                nearest(str(entry), [field for field in Attribute.model_fields if field != "name"]),
            )
    if "role" not in content:
        raise SchemaError(
            f"Attribute '{name}' has no role.",
            "Write `role: protect` (goes through the method), `identifier` (dropped), `keep` (untouched) or `weight`.",
        )
    if content.get("missing") == "drop row":
        raise SchemaError(
            f"Attribute '{name}': `missing: drop row` is no policy any more: who has gaps would have to be public.",
            "Write `missing: own category`, which counts missing as an outcome and releases it, or `impute`, which puts a "
            "public value in its place.",
        )
    domain, categories = content.get("domain"), content.get("categories")
    if isinstance(domain, Mapping) and domain.get("lower") is None and domain.get("upper") is None:
        content = {**content, "domain": None}  # a draft whose bounds are still open
    if domain is not None and (not isinstance(domain, Mapping) or "labels" in domain):
        raise SchemaError(
            f"Attribute '{name}': domain does not say `lower` and `upper`.",
            "Write domain: {lower: 0, upper: 100} for numbers and dates. Labels stand in categories: {labels: [a, b]}.",
        )
    if categories is not None and not isinstance(categories, Mapping | list):
        raise SchemaError(
            f"Attribute '{name}': categories is not a mapping.", "Write categories: {labels: [a, b]}."
        )
    if isinstance(categories, list):
        content = {**content, "categories": {"labels": categories}}
    try:
        return Attribute(name=name, **content)
    except ValidationError as error:
        raise SchemaError(f"Attribute '{name}': {_first_fault(error)}.", _advice(error)) from None


def _first_fault(error: ValidationError) -> str:
    fault = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in fault["loc"])
    message = fault["msg"].removeprefix("Value error, ").rstrip(".")
    if fault["type"] in _PLAIN_WORDS:
        message = _PLAIN_WORDS[fault["type"]]
    return f"{place}: {message}" if place else message


def _advice(error: ValidationError) -> str:
    fault = error.errors(include_url=False)[0]
    if fault["type"] == "enum":
        known = re.findall(r"'([^']*)'", str(fault.get("ctx", {}).get("expected", "")))
        meant = _OTHER_WORDS.get(str(fault["input"]).lower())
        return f"Write `{meant}`." if meant in known else nearest(str(fault["input"]), known)
    return "Correct its entry."


# What types are called elsewhere.
_OTHER_WORDS = {
    **dict.fromkeys(("number", "numeric", "float", "real", "double", "decimal"), "continuous"),
    **dict.fromkeys(("category", "nominal", "factor", "string", "str", "text", "enum"), "categorical"),
    **dict.fromkeys(("int", "whole", "count"), "integer"),
    **dict.fromkeys(("bool", "logical", "binary", "flag"), "boolean"),
    **dict.fromkeys(("ordered", "scale", "likert"), "ordinal"),
    **dict.fromkeys(("datetime", "time"), "timestamp"),
}

# What pydantic says in its own terms, in ours.
_PLAIN_WORDS = {
    "enum": "there is no such choice",
    "missing": "this entry is missing",
    "extra_forbidden": "there is no such entry",
    "tuple_type": "this must be a list, such as [a, b]",
    "too_short": "describe at least one attribute",
    "string_type": "this must be text",
    "int_type": "this must be a whole number",
    "int_parsing": "this must be a whole number",
    "model_type": "this must be a mapping",
}


def _plain(attribute: Attribute) -> dict[str, Any]:
    recode, attribute = attribute.recode, attribute.in_file
    content = attribute.model_dump(mode="json", exclude={"name", "weight"}, exclude_none=True)
    if recode is not None:
        content["recode"] = recode.written(attribute.type)
    if attribute.domain is not None and attribute.type in (AttributeType.DATE, AttributeType.TIMESTAMP):
        for side in ("lower", "upper"):
            content["domain"][side] = shown_bound(content["domain"][side], attribute.type)
    for public in (content[entry] for entry in ("domain", "categories") if entry in content):
        if "from_data" in public and public["source"] == Source.DECLARED:
            del public["source"]  # it would say of all what from_data denies for some
        if "public_because" in public:  # after what it speaks of
            public["public_because"] = public.pop("public_because")
    if attribute.weight != 1:
        content["weight"] = as_text(attribute.weight)
    return content
