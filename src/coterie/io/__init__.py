"""Files, data frames and databases, in and out."""

from coterie.io.digest import table_digest
from coterie.io.draft import draft_schema
from coterie.io.frames import to_arrow
from coterie.io.publication import Staged, resume_table, stage, stage_bytes, temporary_for
from coterie.io.reading import read_table

__all__ = [
    "Staged",
    "draft_schema",
    "read_table",
    "resume_table",
    "stage",
    "stage_bytes",
    "table_digest",
    "temporary_for",
    "to_arrow",
]
