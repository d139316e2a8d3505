"""Finished cells on disk, so that an interrupted comparison goes on where it stopped.

The folder holds a fingerprint of everything a cell depends on but its own coordinates (table, schema, seed, runs,
bins, version). Parts are written whole under a hidden name and then renamed: a part is there or it is not.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from coterie.comparison.engine import Block
from coterie.comparison.grid import Cell
from coterie.comparison.results import block_to_table, table_to_blocks
from coterie.errors import OutputError
from coterie.table.hidden_files import write_whole

MANIFEST = "comparison.json"
PARTS = "cells"
VISIBLE = ("report.html", "results.csv", "results.parquet", "attributes.parquet")
# What `keep` writes, and what it left when it was killed: other people's files are left alone.
_OURS = re.compile(r"\.?[0-9a-f]{32}\.(parquet|parquet\.coterie-alone-[0-9a-f]{16}\.tmp|tmp)")


def fingerprint(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Checkpoint:
    folder: Path
    attributes: tuple[str, ...]
    measures: tuple[str, ...]
    runs: int

    def finished(self, wanted: Sequence[Cell]) -> list[Block]:
        """Blocks of wanted cells that earlier runs finished; a damaged part is computed again."""
        found: dict[Cell, Block] = {}
        for part in sorted((self.folder / PARTS).glob("*.parquet")):
            try:
                table = pq.read_table(part)
                for block in table_to_blocks(table, wanted, self.runs, self.attributes, self.measures):
                    found[block.cells[0]] = block
            except (OSError, pa.ArrowException, KeyError):
                continue
        return list(found.values())

    def keep(self, blocks: Sequence[Block]) -> None:
        """Write finished blocks as one part."""
        if not blocks:
            return
        table = pa.concat_tables([block_to_table(block, self.attributes) for block in blocks])
        name = uuid.uuid4().hex
        try:
            path = self.folder / PARTS / f"{name}.parquet"
            write_whole(path, lambda sink: pq.write_table(table, sink))
        except OSError as error:
            raise OutputError(
                f"A finished part cannot be written ({error.strerror}).", "Check the folder and the disk."
            ) from None


def open_checkpoint(
    folder: Path,
    content: dict[str, Any],
    attributes: tuple[str, ...],
    measures: tuple[str, ...],
    runs: int,
    *,
    force: bool,
) -> Checkpoint:
    """Begin in `folder`, or go on in it if it holds the same comparison."""
    mark = fingerprint(content)
    manifest = folder / MANIFEST
    try:
        known = _read(manifest)
        taken = [name for name in VISIBLE if (folder / name).exists()]
        if known is None and taken and not force:
            raise OutputError(
                f"{folder} holds a {taken[0]} that is not of a comparison.",
                "Choose another folder, or give --force to overwrite it.",
            )
        (folder / PARTS).mkdir(parents=True, exist_ok=True)
        if known != mark:
            if known is not None and not force:
                raise OutputError(
                    f"{folder} holds another comparison (other data, schema, seed, runs or bins).",
                    "Choose another folder, or give --force to start it anew.",
                )
            for part in (folder / PARTS).iterdir():
                if _OURS.fullmatch(part.name):
                    part.unlink()
            write_whole(manifest, (json.dumps({"fingerprint": mark}) + "\n").encode())
    except OSError as error:
        raise OutputError(
            f"The folder {folder} cannot be used ({error.strerror}).", "Choose another one with --output."
        ) from None
    return Checkpoint(folder, attributes, measures, runs)


def _read(manifest: Path) -> str | None:
    if not manifest.exists():
        return None
    try:
        found = json.loads(manifest.read_text(encoding="utf-8"))["fingerprint"]
    except (ValueError, KeyError, TypeError):
        return ""
    return str(found)
