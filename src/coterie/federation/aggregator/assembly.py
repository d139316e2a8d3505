"""ASSEMBLING → RELEASED: join, shuffle, write, certify. Interrupted anywhere, it gives the same bytes again."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from coterie.certificate import Certificate, Digest
from coterie.federation.aggregator.home import Aggregator
from coterie.federation.aggregator.joining import concatenated, joined
from coterie.federation.aggregator.shuffling import shuffled
from coterie.federation.certificate import KIND, certify
from coterie.federation.chunks import arrow_schema, unpacked
from coterie.federation.envelope import Signed
from coterie.federation.states import ContributionState, StudyState
from coterie.federation.storage.studies import Contribution, StudyRow, move_study
from coterie.federation.study import Study


@dataclass(frozen=True)
class Written:
    rows: int
    sha256: str
    size: int


def assemble(aggregator: Aggregator, row: StudyRow, parts: list[Contribution]) -> None:
    study = row.study
    accepted = _in_roster_order(study, parts)
    columns = [a for a in study.attributes if any(a in study.asked_of(part.name) for part in accepted)]
    schema = arrow_schema(columns, pseudonymous=False)
    keys = {entry.owner: entry.key for entry in study.roster}
    manifests = {part.name: part.opened_manifest(keys[part.name]) for part in accepted}
    counts = [manifests[part.name].rows for part in accepted]
    streams = [_chunks(aggregator, study, part, keys[part.name]) for part in accepted]
    names = [attribute.name for attribute in columns]
    rows = joined(streams, schema) if study.vertical else concatenated(streams)
    most = min(counts) if study.vertical else sum(counts)
    assert row.shuffle_key is not None
    workspace = aggregator.workspace(row.id)
    shutil.rmtree(workspace, ignore_errors=True)
    workspace.mkdir(mode=0o700, parents=True)
    try:
        mixed = shuffled(rows, schema, most, bytes.fromhex(row.shuffle_key), workspace)
        written = _write(workspace / "release.parquet", mixed, schema)
        if written.rows < study.k:
            # How many there were is not said: a small overlap tells about single people.
            reason = "fewer people than k are held by every contributing owner"
            with aggregator.database.writing() as connection:
                move_study(connection, row, StudyState.FAILED, reason=reason, shuffle_key=None)
            return
        answers = {part.name: part.signed_answer(keys[part.name]) for part in accepted}
        certificate = certify(
            study,
            row.signed,
            answers,
            {name: Certificate.from_json(manifest.certificate) for name, manifest in manifests.items()},
            written.rows,
            tuple(names),
            Digest(over="file bytes", value=written.sha256),
        )
        os.replace(workspace / "release.parquet", aggregator.release(row.id))
        _sync(aggregator.release(row.id).parent)
        with aggregator.database.writing() as connection:
            move_study(
                connection,
                row,
                StudyState.RELEASED,
                certificate=Signed.of(certificate, KIND, aggregator.keys).text(),
                release_sha256=written.sha256,
                release_size=written.size,
                shuffle_key=None,
            )
    finally:
        shutil.rmtree(workspace, ignore_errors=True)


def _in_roster_order(study: Study, parts: list[Contribution]) -> list[Contribution]:
    accepted = {part.name: part for part in parts if part.state is ContributionState.ACCEPTED}
    return [accepted[entry.owner] for entry in study.roster if entry.owner in accepted]


def _chunks(aggregator: Aggregator, study: Study, part: Contribution, key: str) -> Iterator[pa.Table]:
    schema = arrow_schema(study.asked_of(part.name), pseudonymous=study.vertical)
    for number, claimed in enumerate(part.opened_manifest(key).chunks):
        yield unpacked(aggregator.chunk(part.study, part.owner, number), claimed, schema)


def _write(path: Path, tables: Iterator[pa.Table], schema: pa.Schema) -> Written:
    rows = 0
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for table in tables:
            writer.write_table(table.cast(schema))
            rows += table.num_rows
    with path.open("rb") as file:
        os.fsync(file.fileno())
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return Written(rows, digest, path.stat().st_size)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
