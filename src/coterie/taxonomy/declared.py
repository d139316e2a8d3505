"""The tree of the labels that a schema declares: a flat list, a file, or one that comes with Coterie."""

from __future__ import annotations

from pathlib import Path

from coterie.schema import Categories
from coterie.taxonomy.adult import adult
from coterie.taxonomy.load import load_taxonomy
from coterie.taxonomy.tree import Taxonomy


def declared_taxonomy(categories: Categories, folder: Path) -> Taxonomy:
    """`folder` is the schema's own: files are named relative to it."""
    if categories.labels is not None:
        return Taxonomy.flat(categories.labels)
    assert categories.taxonomy is not None
    if categories.taxonomy.startswith("adult:"):
        return adult(categories.taxonomy.removeprefix("adult:"))
    return load_taxonomy(folder / categories.taxonomy)
