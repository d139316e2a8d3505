"""The one door: endings."""

from __future__ import annotations

from pathlib import Path

import pytest

from coterie.errors import SchemaError
from coterie.schema.taxonomy.loading import load_taxonomy


def test_unknown_endings_and_paths_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match=r"Known endings: .*\.csv"):
        load_taxonomy(tmp_path / "tree.doc")
    for ending in ("csv", "json", "yaml", "ttl"):
        with pytest.raises(SchemaError, match="No such file"):
            load_taxonomy(tmp_path / f"missing.{ending}")
    (tmp_path / "folder.yaml").mkdir()
    with pytest.raises(SchemaError, match="cannot be read"):
        load_taxonomy(tmp_path / "folder.yaml")
