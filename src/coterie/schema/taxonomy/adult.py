"""Taxonomies for two attributes of the UCI Adult data set: our own trees, and our mappings to WordNet."""

from __future__ import annotations

from importlib.resources import as_file, files
from importlib.resources.abc import Traversable
from pathlib import Path

from coterie.errors import ParameterError, nearest
from coterie.schema.taxonomy.files import read_yaml
from coterie.schema.taxonomy.tree import Taxonomy
from coterie.schema.taxonomy.wordnet import read_wordnet

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
