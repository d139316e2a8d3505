"""Reading a taxonomy's file: text, and YAML that keeps line numbers and takes every scalar as text."""

from __future__ import annotations

from pathlib import Path

import yaml

from coterie.errors import SchemaError


def read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise SchemaError(
            f"The taxonomy file cannot be read ({error.strerror}).", "Check the path of the taxonomy."
        ) from None
    except UnicodeDecodeError:
        raise SchemaError("The taxonomy file is not UTF-8 text.", "Save it as UTF-8.") from None


def compose_yaml(text: str) -> yaml.Node:
    """The document's node tree. Scalars stay text: a country `No` must not become a truth value."""
    try:
        # An alias can make a small file expand without end; a taxonomy never needs one.
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, yaml.BaseLoader)):
            raise SchemaError("The taxonomy uses YAML aliases (`*name`).", "Write the labels out.")
        node: yaml.Node | None = yaml.compose(text, yaml.BaseLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f" at line {mark.line + 1}" if mark else ""
        reason = getattr(error, "problem", None) or "it cannot be parsed"
        raise SchemaError(f"The file is not valid YAML{place}: {reason}.", "Correct that line.") from None
    except RecursionError:
        raise SchemaError("The file is nested too deeply.", "Leave out levels that say nothing.") from None
    if node is None:
        raise SchemaError("The taxonomy file is empty.", "Write one root label with its categories below.")
    return node


def line_of(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1
