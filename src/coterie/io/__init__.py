"""Files, data frames and databases, in and out. Names are imported when they are first used: see coterie/__init__.py."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from coterie.io.dialect_guess import guess_dialect
    from coterie.io.digest import table_digest
    from coterie.io.draft import draft_schema
    from coterie.io.frames import to_arrow
    from coterie.io.publication import Staged, resume_table, stage, stage_bytes, temporary_for
    from coterie.io.reading import read_table

__all__ = [
    "Staged",
    "draft_schema",
    "guess_dialect",
    "read_table",
    "resume_table",
    "stage",
    "stage_bytes",
    "table_digest",
    "temporary_for",
    "to_arrow",
]

_PLACES = {
    "table_digest": "digest",
    "draft_schema": "draft",
    "guess_dialect": "dialect_guess",
    "to_arrow": "frames",
    "read_table": "reading",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'coterie.io' has no attribute '{name}'")
    return getattr(import_module(f"coterie.io.{_PLACES.get(name, 'publication')}"), name)
