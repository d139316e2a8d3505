"""Taxonomies as files: hierarchy CSV (one row per category), nested YAML or JSON, and RDF (SKOS, OWL)."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from coterie.errors import MissingExtra, SchemaError, reading
from coterie.schema.taxonomy.tree import Edge, Taxonomy

# Reading a taxonomy's file: text, and YAML that keeps line numbers and takes every scalar as text.


def read_text(path: Path) -> str:
    with reading("The taxonomy file", SchemaError, "Check the path of the taxonomy."):
        return path.read_text(encoding="utf-8-sig")


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


# The hierarchy CSV that ARX users have: one row per category, its levels by `;` from leaf to root.


def read_hierarchy_csv(path: Path) -> Taxonomy:
    """The first column holds the categories; the last one the root, usually `*`.

    ARX fills short branches by repeating a label on neighbouring levels (`Guam;Oceania;Oceania;*`). Such
    repetitions are one node here, since a repeated level would say that a label is its own ancestor.
    """
    first_seen: dict[str, int] = {}
    above: dict[str, str | None] = {}
    edges: list[Edge] = []
    width = 0
    rows = csv.reader(io.StringIO(read_text(path), newline=""), delimiter=";", strict=True)
    try:
        for row in rows:
            line = rows.line_num
            if not row:
                continue
            width = width or len(row)
            if len(row) < 2:
                raise SchemaError(
                    f"Line {line} has no level above the category.",
                    "Separate levels by `;` and end each row with the root, e.g. `France;Europe;*`.",
                )
            if len(row) != width:
                raise SchemaError(
                    f"Line {line} has {len(row)} levels; the rows before it have {width}.",
                    "Fill a short branch by repeating a label.",
                )
            if row[0] in first_seen:
                raise SchemaError(
                    f"Category '{row[0]}' has two rows, at lines {first_seen[row[0]]} and {line}.",
                    "Keep one of them.",
                )
            first_seen[row[0]] = line
            levels = [label for place, label in enumerate(row) if place == 0 or label != row[place - 1]]
            for child, parent in zip(levels, [*levels[1:], None], strict=True):
                # An inner label recurs in the row of each of its leaves: only a new claim is an edge.
                if child not in above or above[child] != parent:
                    above[child] = parent
                    edges.append(Edge(child, parent, line))
    except csv.Error as error:
        raise SchemaError(f"Line {rows.line_num} is not valid CSV: {error}.", "Correct that line.") from None
    return Taxonomy.build(edges, first_seen)


# Taxonomies as nested YAML or JSON: one root label, below it mappings (more levels) or lists (leaves).
#
#     World:
#       Europe: [France, Italy]
#       Asia:
#         East Asia: [China, Japan]

_NOTHING = ("", "~", "null")
_SHAPE = "Below a label stands a list of labels, a mapping with more levels, or nothing."


class _Label(str):
    """A scalar of YAML, and whether it stands for nothing where a list is expected."""

    line: int
    nothing: bool


class _List(list[Any]):
    line: int


class _Pairs(_List):
    """A mapping with its keys in order, repeated ones included."""


def read_yaml(path: Path) -> Taxonomy:
    return Taxonomy.build(_edges(_content(compose_yaml(read_text(path))), None))


def read_json(path: Path) -> Taxonomy:
    try:
        # Numbers keep the spelling of the file: a label is text.
        content = json.loads(read_text(path), object_pairs_hook=_Pairs, parse_int=str, parse_float=str)
        return Taxonomy.build(_edges(content, None))
    except json.JSONDecodeError as error:
        raise SchemaError(
            f"The file is not valid JSON at line {error.lineno}: {error.msg}.", "Correct that line."
        ) from None
    except RecursionError:
        raise SchemaError("The file is nested too deeply.", "Leave out levels that say nothing.") from None


def _content(node: yaml.Node) -> Any:
    """The content as the JSON reader gives it, with the lines."""
    found: Any
    if isinstance(node, yaml.MappingNode):
        found = _Pairs((_content(key), _content(value)) for key, value in node.value)
    elif isinstance(node, yaml.SequenceNode):
        found = _List(_content(element) for element in node.value)
    else:
        found = _Label(node.value)
        found.nothing = getattr(node, "style", None) is None and node.value in _NOTHING
    found.line = line_of(node)
    return found


def _edges(content: Any, above: str | None) -> Iterator[Edge]:
    for label, below in _entries(content):
        if not isinstance(label, str):
            raise SchemaError(f"A label is not text{_at(label)}.", _SHAPE)
        yield Edge(str(label), above, getattr(label, "line", 0))
        yield from _edges(below, str(label))


def _entries(content: Any) -> list[tuple[Any, Any]]:
    """Labels, and what stands below each."""
    if content is None or getattr(content, "nothing", False):
        return []
    if isinstance(content, _Pairs):
        return content
    if not isinstance(content, list):
        raise SchemaError(f"A single label or value stands where a list is needed{_at(content)}.", _SHAPE)
    found: list[tuple[Any, Any]] = []
    for entry in content:
        if not isinstance(entry, str | _Pairs):
            raise SchemaError(
                f"A list holds something that is neither a label nor a mapping{_at(entry)}.", _SHAPE
            )
        found += [(entry, None)] if isinstance(entry, str) else entry
    return found


def _at(content: Any) -> str:
    line = getattr(content, "line", 0)
    return f" (line {line})" if line else ""


# Taxonomies in RDF: SKOS `broader`/`narrower`, and RDFS/OWL `subClassOf` (needs the taxonomy extra).

# Endings whose parsers read the file alone. (JSON-LD may fetch its context from the network.)
RDF_SYNTAX = {".ttl": "turtle", ".nt": "nt", ".rdf": "xml", ".owl": "xml", ".xml": "xml"}


def read_skos(path: Path) -> Taxonomy:
    """One tree of all concepts; its leaves are the categories.

    Labels are `skos:prefLabel` or `rdfs:label` (without language first, then English, then by language), else
    the last part of the IRI. Where a concept scheme has several top concepts, the scheme is their root.
    """
    graph = _graph(path)
    above = _links(graph)
    names: dict[str, Any] = {}
    for concept in above:
        name = _label(graph, concept)
        if names.setdefault(name, concept) != concept:
            raise SchemaError(f"Two concepts share the label '{name}'.", "Give each its own preferred label.")
    edges = []
    for concept, parents in sorted(above.items()):
        if len(parents) > 1:
            raise SchemaError(
                f"Concept '{_label(graph, concept)}' has {len(parents)} broader concepts.",
                "Coterie needs a tree: keep one of them.",
            )
        edges.append(Edge(_label(graph, concept), _label(graph, min(parents)) if parents else None))
    return Taxonomy.build(edges)


def _graph(path: Path) -> Any:
    try:
        from rdflib import Graph
    except ImportError:
        raise MissingExtra.named("taxonomy", "Reading SKOS and OWL") from None
    text = read_text(path)
    try:
        return Graph().parse(data=text, format=RDF_SYNTAX.get(path.suffix.lower(), "turtle"))
    except Exception as error:  # each of rdflib's parsers raises errors of its own making
        line = getattr(error, "lines", None)
        if hasattr(error, "getLineNumber"):
            line = error.getLineNumber()
        place = f" near line {line}" if isinstance(line, int) else ""
        raise SchemaError(
            f"The file is not valid RDF{place} ({type(error).__name__}).",
            f"Endings say the syntax: {', '.join(RDF_SYNTAX)}.",
        ) from None


def _links(graph: Any) -> dict[Any, set[Any]]:
    """Each named concept with the concepts directly above it."""
    from rdflib import OWL, RDF, RDFS, SKOS, URIRef

    above: dict[Any, set[Any]] = {}
    for kind in (SKOS.Concept, OWL.Class, RDFS.Class):
        for concept in graph.subjects(RDF.type, kind):
            if isinstance(concept, URIRef):
                above.setdefault(concept, set())
    pairs = [*graph.subject_objects(SKOS.broader), *graph.subject_objects(RDFS.subClassOf)]
    pairs += [(narrow, broad) for broad, narrow in graph.subject_objects(SKOS.narrower)]
    for narrow, broad in pairs:
        # Blank nodes are OWL restrictions, not concepts.
        if isinstance(narrow, URIRef) and isinstance(broad, URIRef):
            above.setdefault(narrow, set()).add(broad)
            above.setdefault(broad, set())
    tops = {(top, scheme) for scheme, top in graph.subject_objects(SKOS.hasTopConcept)}
    tops |= set(graph.subject_objects(SKOS.topConceptOf))
    for scheme in sorted({scheme for _, scheme in tops}):
        roots = [top for top, of in tops if of == scheme and not above.get(top)]
        if len(roots) > 1:
            above[scheme] = set()
            for top in roots:
                above[top] = {scheme}
    return above


def _label(graph: Any, concept: Any) -> str:
    from rdflib import RDFS, SKOS

    for predicate in (SKOS.prefLabel, RDFS.label):
        ranked = sorted(
            (literal.language is not None, literal.language != "en", literal.language or "", str(literal))
            for literal in graph.objects(concept, predicate)
            if hasattr(literal, "language")
        )
        if ranked:
            return ranked[0][-1]
    return str(concept).rstrip("/#").replace("#", "/").rsplit("/", 1)[-1]
