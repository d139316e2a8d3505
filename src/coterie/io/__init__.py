"""Files, data frames and databases, in and out."""

from coterie.io.digest import table_digest
from coterie.io.draft import draft_schema
from coterie.io.frames import to_arrow
from coterie.io.publication import Staged, stage, stage_bytes
from coterie.io.reading import read_table

__all__ = ["Staged", "draft_schema", "read_table", "stage", "stage_bytes", "table_digest", "to_arrow"]
