"""YAML as people write it: a name used twice is refused, labels stay as they stand, faults are told with their line."""

from __future__ import annotations

from typing import Any

import yaml

from coterie.errors import CoterieError

_AS_WRITTEN = ("labels", "categories", "missing_marks")


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
        else:
            mapping[key] = loader.construct_object(value_node, deep=True)
    return mapping


_StrictLoader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _no_duplicates)
