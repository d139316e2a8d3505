"""SKOS and OWL trees through rdflib."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from coterie.errors import MissingExtra, SchemaError
from coterie.schema.taxonomy.loading import load_taxonomy

PREFIXES = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix : <http://example.org/places#> .
"""
SKOS = """
:world a skos:Concept ; skos:prefLabel "Monde"@fr, "World"@en ; skos:narrower :europe .
:europe a skos:Concept ; skos:prefLabel "Europe"@en ; skos:broader :world .
:france a skos:Concept ; skos:prefLabel "France" ; skos:broader :europe .
:asia a skos:Concept ; skos:broader :world .
"""
OWL = """<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:owl="http://www.w3.org/2002/07/owl#"
         xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#" xml:base="http://example.org/animals">
  <owl:Class rdf:ID="Animal"/>
  <owl:Class rdf:ID="Dog"><rdfs:subClassOf rdf:resource="#Animal"/>
    <rdfs:subClassOf><owl:Restriction/></rdfs:subClassOf></owl:Class>
  <owl:Class rdf:ID="Cat"><rdfs:label>House cat</rdfs:label>
    <rdfs:subClassOf rdf:resource="#Animal"/></owl:Class>
</rdf:RDF>
"""


def write(folder: Path, text: str, ending: str = "ttl") -> Path:
    path = folder / f"tree.{ending}"
    path.write_text(PREFIXES + text if ending == "ttl" else text, encoding="utf-8")
    return path


@pytest.fixture(autouse=True)
def _needs_rdflib(request: pytest.FixtureRequest) -> None:
    if "without" not in request.node.name:
        pytest.importorskip("rdflib", reason="the taxonomy extra (rdflib) is not installed")


def test_skos_broader_and_narrower(tmp_path: Path) -> None:
    tree = load_taxonomy(write(tmp_path, SKOS))
    assert tree.nodes == ("World", "Europe", "France", "asia")
    assert tree.categories == ("France", "asia")


def test_owl_subclasses_without_restrictions(tmp_path: Path) -> None:
    tree = load_taxonomy(write(tmp_path, OWL, "owl"))
    assert tree.nodes == ("Animal", "Dog", "House cat")


def test_a_scheme_is_the_root_of_several_top_concepts(tmp_path: Path) -> None:
    text = (
        ':s a skos:ConceptScheme ; rdfs:label "All" ; skos:hasTopConcept :a .\n'
        ":b skos:topConceptOf :s . :a a skos:Concept . :b a skos:Concept . :c skos:broader :b ."
    )
    tree = load_taxonomy(write(tmp_path, text))
    assert tree.nodes == ("All", "a", "b", "c")
    one_top = ":s skos:hasTopConcept :a . :b skos:broader :a . :c skos:broader :a ."
    assert load_taxonomy(write(tmp_path, one_top)).nodes == ("a", "b", "c")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        (":a skos:broader :r . :b skos:broader :s .", "2 roots"),
        (":a skos:broader :b . :b skos:broader :a .", "cycle"),
        (":a skos:broader :r, :s . :r skos:broader :s .", "'a' has 2 broader"),
        (
            ':a skos:prefLabel "x" ; skos:broader :r . :b skos:prefLabel "x" ; skos:broader :r .',
            "share the label 'x'",
        ),
        (":a skos:broader", "not valid RDF"),
    ],
)
def test_malformed_graphs_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        load_taxonomy(write(tmp_path, text))


def test_malformed_xml_is_refused_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="not valid RDF near line 2"):
        load_taxonomy(write(tmp_path, "<?xml version='1.0'?>\n<a><b></a>", "rdf"))


def test_without_rdflib_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rdflib", None)
    with pytest.raises(MissingExtra, match=r"coterie\[taxonomy\]"):
        load_taxonomy(write(tmp_path, SKOS))
