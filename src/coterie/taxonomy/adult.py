"""The two taxonomies of our own making for the UCI Adult data set."""

from __future__ import annotations

from importlib.resources import as_file, files

from coterie.errors import ParameterError, nearest
from coterie.taxonomy.nested import read_yaml
from coterie.taxonomy.tree import Taxonomy

ADULT_ATTRIBUTES = ("native-country", "occupation")


def adult(attribute: str) -> Taxonomy:
    """The taxonomy of `occupation` (14 leaves) or `native-country` (41 leaves, by world region)."""
    if attribute not in ADULT_ATTRIBUTES:
        raise ParameterError(
            f"Coterie ships no taxonomy of Adult's '{attribute}'.", nearest(attribute, ADULT_ATTRIBUTES)
        )
    with as_file(files("coterie.taxonomy") / "data" / f"adult-{attribute}.yaml") as path:
        return read_yaml(path)
