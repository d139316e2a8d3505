"""Nested YAML and JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from random_trees import taxonomies

from coterie.errors import SchemaError
from coterie.schema.taxonomy.loading import load_taxonomy
from coterie.schema.taxonomy.tree import Taxonomy

YAML = """
World:
  Europe: [France, "No", 1990]
  Asia:
    East:
      - China
      - Islands: [Japan]
    Iran:
"""
JSON = """{"World": {"Europe": ["France", "No", 1990],
\t"Asia": {"East": ["China", {"Islands": ["Japan"]}], "Iran": null}}}"""


def load(folder: Path, text: str, ending: str) -> Taxonomy:
    path = folder / f"tree.{ending}"
    path.write_text(text, encoding="utf-8")
    return load_taxonomy(path)


def test_yaml_and_json_spell_the_same_tree(tmp_path: Path) -> None:
    tree = load(tmp_path, YAML, "yaml")
    assert tree == load(tmp_path, JSON, "json")
    assert set(tree.categories) == {"France", "No", "1990", "China", "Japan", "Iran"}
    assert tree.ancestors("Japan") == ("Japan", "Islands", "East", "Asia", "World")


def test_an_unquoted_no_stays_a_label(tmp_path: Path) -> None:
    assert set(load(tmp_path, "r: [No, yes, null]\n", "yml").categories) == {"No", "yes", "null"}


@given(tree=taxonomies())
def test_any_tree_can_be_nested(tmp_path_factory: pytest.TempPathFactory, tree: Taxonomy) -> None:
    folder, edges = tmp_path_factory.mktemp("trees"), tree.edges()

    def below(label: str | None) -> dict[str, Any]:
        return {edge.child: below(edge.child) for edge in edges if edge.parent == label}

    for text, ending in ((json.dumps(below(None)), "json"), (yaml.safe_dump(below(None)), "yaml")):
        assert load(folder, text, ending) == Taxonomy.build(edges)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        ("# only a comment\n", "empty"),
        ("r: [a, b", "not valid YAML at line 1"),
        ("r:\n\t- a\n", "not valid YAML at line 2"),
        ("r: [a]\ns: [b]\n", "2 roots"),
        ("r:\n  - a\n  - a\n", r"'a' appears twice \(line 3\)"),
        ("r:\n  x: [a]\n  y: [a]\n", r"'a' appears twice \(line 3\): below 'x' and below 'y'"),
        ("r:\n  x: [a]\n  x: [b]\n", r"'x' appears twice \(line 3\)"),
        ("r:\n  x: [r]\n", r"'r' appears twice \(line 2\)"),
        ("r:\n  x: a\n", r"single label.*\(line 2\)"),
        ("r:\n  - [a, b]\n", r"neither a label nor a mapping \(line 2\)"),
        ("r:\n  ? [a]\n  : b\n", r"not text \(line 2\)"),
        ("r: &x [a]\ns: *x\n", "aliases"),
        ("just text\n", "single label"),
        ("a: [b]\n---\nc: [d]\n", "not valid YAML"),
        ("r: " + "[" * 1000, "nested too deeply|not valid YAML"),
    ],
)
def test_malformed_yaml_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        load(tmp_path, text, "yaml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not valid JSON at line 1"),
        ('{"r": [\n"a",\n]}', "not valid JSON at line"),
        ('{"r": ["a", "a"]}', "'a' appears twice"),
        ('{"r": {"x": ["a"], "x": ["b"]}}', "'x' appears twice"),
        ('{"r": ["a"], "s": ["b"]}', "2 roots"),
        ('{"r": true}', "single label or value"),
        ('{"r": [true]}', "neither a label nor a mapping"),
        ('{"r": [["a"]]}', "neither a label nor a mapping"),
        ("[]", "empty"),
        ("{}", "empty"),
        ('{"r":' * 100_000, "nested too deeply|not valid JSON"),
    ],
)
def test_malformed_json_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        load(tmp_path, text, "json")
