"""The one door: endings and names of formats."""

from __future__ import annotations

from pathlib import Path

import pytest

from coterie.errors import ParameterError, SchemaError
from coterie.schema.taxonomy.loading import load_taxonomy


def test_a_named_format_goes_before_the_ending(tmp_path: Path) -> None:
    path = tmp_path / "hierarchy.txt"
    path.write_text("a;*\nb;*\n")
    assert load_taxonomy(str(path), format="csv").categories == ("a", "b")


def test_unknown_endings_formats_and_paths_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match=r"Known endings: .*\.csv"):
        load_taxonomy(tmp_path / "tree.doc")
    with pytest.raises(ParameterError, match="Did you mean 'json'"):
        load_taxonomy(tmp_path / "tree.doc", format="jsn")
    for ending in ("csv", "json", "yaml", "ttl"):
        with pytest.raises(SchemaError, match="No such file"):
            load_taxonomy(tmp_path / f"missing.{ending}")
    with pytest.raises(SchemaError, match="cannot be read"):
        load_taxonomy(tmp_path, format="yaml")
