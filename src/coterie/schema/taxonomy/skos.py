"""Taxonomies in RDF: SKOS `broader`/`narrower`, and RDFS/OWL `subClassOf` (needs the taxonomy extra)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from coterie.errors import MissingExtra, SchemaError
from coterie.schema.taxonomy.files import read_text
from coterie.schema.taxonomy.tree import Edge, Taxonomy

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
