"""YAML blocks in the how-to pages are schemas that load."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from coterie import Schema

ROOT = Path(__file__).resolve().parents[2]
BLOCKS = [
    (page, block)
    for page in sorted((ROOT / "docs" / "how-to").glob("*.md"))
    for block in re.findall(r"```yaml\n(coterie_schema:.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
]


@pytest.mark.parametrize(("page", "block"), BLOCKS, ids=[page.name for page, _ in BLOCKS])
def test_schema_blocks_load(page: Path, block: str) -> None:
    schema = Schema.load(block)
    assert schema.protected
    assert Schema.load(schema.to_yaml()) == schema
