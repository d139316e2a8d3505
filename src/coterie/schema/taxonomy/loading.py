"""One door for all taxonomies: a file's ending chooses the reader; a schema's labels are a flat tree."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import as_file, files
from importlib.resources.abc import Traversable
from pathlib import Path

from coterie.errors import ParameterError, SchemaError, nearest
from coterie.schema.attributes import Categories
from coterie.schema.taxonomy.files import RDF_SYNTAX, read_hierarchy_csv, read_json, read_skos, read_yaml
from coterie.schema.taxonomy.tree import Taxonomy
from coterie.schema.taxonomy.wordnet import read_wordnet

# One door for all taxonomy files: the reader is chosen by the file's ending, or named.

READERS: dict[str, Callable[[Path], Taxonomy]] = {
    "csv": read_hierarchy_csv,
    "json": read_json,
    "skos": read_skos,
    "wordnet": read_wordnet,
    "yaml": read_yaml,
}
# The longer ending comes first: a mapping to WordNet is a YAML file as well.
_ENDINGS = {
    ".wordnet.yaml": "wordnet",
    ".wordnet.yml": "wordnet",
    ".csv": "csv",
    ".json": "json",
    ".yaml": "yaml",
    ".yml": "yaml",
    **dict.fromkeys(RDF_SYNTAX, "skos"),
}


def load_taxonomy(path: str | Path, format: str | None = None) -> Taxonomy:
    """Read a taxonomy; `format` is csv, json, yaml, skos or wordnet where the ending does not say it."""
    path = Path(path)
    if format is None:
        format = next((name for end, name in _ENDINGS.items() if path.name.lower().endswith(end)), None)
        if format is None:
            raise SchemaError(
                "The ending of the taxonomy file says nothing about its format.",
                f"Known endings: {', '.join(_ENDINGS)}; or name the format: {', '.join(READERS)}.",
            )
    if format not in READERS:
        raise ParameterError(f"There is no taxonomy format '{format}'.", nearest(format, READERS))
    return READERS[format](path)


# The tree of the labels that a schema declares: a flat list, a file, or one that comes with Coterie.


def declared_taxonomy(categories: Categories, folder: Path) -> Taxonomy:
    """`folder` is the schema's own: files are named relative to it."""
    if categories.labels is not None:
        return Taxonomy.flat(categories.labels)
    assert categories.taxonomy is not None
    if categories.taxonomy.startswith("adult:"):
        return adult(categories.taxonomy.removeprefix("adult:"))
    return load_taxonomy(folder / categories.taxonomy)


# Taxonomies for two attributes of the UCI Adult data set: our own trees, and our mappings to WordNet.

ADULT_ATTRIBUTES = ("native-country", "occupation")


def adult(attribute: str) -> Taxonomy:
    """Our tree of `occupation` (14 leaves) or `native-country` (41 leaves, by world region)."""
    with as_file(_shipped(attribute, "yaml")) as path:
        return read_yaml(path)


def adult_wordnet(attribute: str, folder: Path | None = None) -> Taxonomy:
    """The hypernym tree of the same labels in the WordNet of this machine, as Sánchez et al. 2016, §4.1 has it."""
    with as_file(_shipped(attribute, "wordnet.yaml")) as path:
        return read_wordnet(path, folder)


def _shipped(attribute: str, ending: str) -> Traversable:
    if attribute not in ADULT_ATTRIBUTES:
        raise ParameterError(
            f"Coterie ships no taxonomy of Adult's '{attribute}'.", nearest(attribute, ADULT_ATTRIBUTES)
        )
    return files("coterie.schema.taxonomy") / "data" / f"adult-{attribute}.{ending}"
