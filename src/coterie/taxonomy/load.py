"""One door for all taxonomy files: the reader is chosen by the file's ending, or named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from coterie.errors import ParameterError, SchemaError, nearest
from coterie.taxonomy.hierarchy_csv import read_hierarchy_csv
from coterie.taxonomy.nested import read_json, read_yaml
from coterie.taxonomy.skos import RDF_SYNTAX, read_skos
from coterie.taxonomy.tree import Taxonomy
from coterie.taxonomy.wordnet import read_wordnet

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
