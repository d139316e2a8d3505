"""The joined release: the answers checked, the parts of all owners joined, shuffled, written and certified.

The rows are put in a uniform random order, in little memory. Each row goes to a random pile on disk; each pile is put
in random order; the piles follow each other. That is a uniform permutation of all rows (Rao 1961, Sandelius 1962). The
order is a function of a secret key: an assembly that was interrupted, or comes again because the aggregator was restored,
gives the same bytes. The key is made of the keys of all parts, which are erased with it, and of the aggregator's own.
"""

from __future__ import annotations

import bisect
import hmac
import secrets
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from numpy.typing import NDArray

from coterie.errors import CoterieError
from coterie.federation.aggregator.home import Aggregator, require_room, row_bytes
from coterie.federation.aggregator.part_reader import AT_ONCE, UNREADABLE, PartKilledItsReader, checked
from coterie.federation.documents.certificate import certify, require_own
from coterie.federation.documents.chunks import arrow_schema
from coterie.federation.documents.messages import Answer
from coterie.federation.documents.signed import Signed, signed_from
from coterie.federation.documents.states import ContributionState, StudyState
from coterie.federation.documents.study import Study
from coterie.federation.errors import Conflict, FederationError
from coterie.federation.secrets.blinding import COLUMN
from coterie.federation.storage.parties import note
from coterie.federation.storage.studies import Contribution, StudyRow, move_study
from coterie.promise.certificate import Certificate, Digest
from coterie.table.digest import file_sha256
from coterie.table.hidden_files import make_durable, put_file, put_folder

_PILE_BYTES = 48 * 1024 * 1024


class RandomWords:
    """Uniform 64-bit words from a ChaCha20 key stream."""

    def __init__(self, key: bytes, stream: int) -> None:
        nonce = bytes(4) + stream.to_bytes(4, "little") + bytes(8)
        self._stream = Cipher(ChaCha20(key, nonce), mode=None).encryptor()

    def draw(self, count: int) -> NDArray[np.uint64]:
        return np.frombuffer(self._stream.update(bytes(8 * count)), dtype="<u8")


def shuffled(
    tables: Iterable[pa.Table], schema: pa.Schema, most_rows: int, key: bytes, folder: Path
) -> Iterator[pa.Table]:
    """The rows of all `tables` in random order, a pile at a time. `most_rows` is only used to size the piles."""
    width = 12 * max(len(schema), 1)
    piles = max(1, -(-most_rows * width // _PILE_BYTES))
    sinks = [pa.OSFile(str(folder / f"pile-{pile:05d}.arrow"), "wb") for pile in range(piles)]
    writers = [pa.ipc.new_file(sink, schema) for sink in sinks]
    try:
        draw = RandomWords(key, 0)
        for table in tables:
            chosen = (draw.draw(table.num_rows) % np.uint64(piles)).astype(np.int64)
            order = np.argsort(chosen, kind="stable")
            ends = np.searchsorted(chosen[order], np.arange(piles + 1))
            for pile in range(piles):
                rows = order[ends[pile] : ends[pile + 1]]
                if len(rows):
                    writers[pile].write_table(table.take(pa.array(rows)).combine_chunks())
    finally:
        for writer, sink in zip(writers, sinks, strict=True):
            writer.close()
            sink.close()
    for pile in range(piles):
        path = folder / f"pile-{pile:05d}.arrow"
        with pa.OSFile(str(path), "rb") as source:
            table = pa.ipc.open_file(source).read_all()
        path.unlink()
        if table.num_rows:
            order = np.argsort(RandomWords(key, pile + 1).draw(table.num_rows), kind="stable")
            yield table.take(pa.array(order)).combine_chunks()


def shuffle_key(aggregator: Aggregator, row: StudyRow, parts: Iterable[Contribution]) -> str:
    """No owner knows the keys of all parts, and without the aggregator's not even all of them together know the order."""
    opened = [part.opened_key(row.study) for part in parts if part.state is ContributionState.ACCEPTED]
    keys = [key for key in opened if key is not None]
    if not keys:  # before protocol 3
        return secrets.token_hex(32)
    own = aggregator.keys_of(row.study.aggregator).signing.private_bytes_raw()
    whole = b"coterie row order 1\n" + row.id.encode() + b"".join(sorted(keys))
    return hmac.digest(own, whole, "sha256").hex()


# Step 7 of Del Vasto-Terrientes et al.: the parts of all owners as one stream of rows, in bounded memory.

Part = Iterator[pa.Table]


@dataclass
class _Stream:
    """The unread rows of one owner; where people are matched, ascending in pseudonyms."""

    source: Part
    rows: pa.Table = field(default_factory=lambda: pa.table({}))

    def fill(self) -> bool:
        """False when nothing is left."""
        while self.rows.num_rows == 0:
            found = next(self.source, None)
            if found is None:
                return False
            self.rows = found
        return True

    @property
    def last(self) -> bytes:
        return bytes(self.rows.column(COLUMN)[-1].as_py())

    def up_to(self, bound: bytes) -> pa.Table:
        """Take the rows with pseudonyms up to `bound`."""
        names = self.rows.column(COLUMN)
        end = bisect.bisect_right(range(len(names)), bound, key=lambda place: names[place].as_py())
        return self.first(end)

    def first(self, count: int) -> pa.Table:
        """Take so many rows."""
        taken, self.rows = self.rows.slice(0, count), self.rows.slice(count)
        return taken


def joined(parts: Sequence[Part], schema: pa.Schema) -> Part:
    """Vertical: rows whose pseudonym every owner has, pseudonyms dropped. A merge of sorted streams."""
    streams = [_Stream(part) for part in parts]
    while all(stream.fill() for stream in streams):
        bound = min(stream.last for stream in streams)
        windows = [stream.up_to(bound) for stream in streams]
        common = windows[0].column(COLUMN).combine_chunks()
        for window in windows[1:]:
            common = common.filter(pc.is_in(common, value_set=window.column(COLUMN).combine_chunks()))
        if len(common) == 0:
            continue
        columns = {}
        for window in windows:
            places = pc.index_in(common, value_set=window.column(COLUMN).combine_chunks())
            rows = window.take(places)
            columns.update({name: rows.column(name) for name in rows.column_names if name != COLUMN})
        yield pa.table([columns[name] for name in schema.names], schema=schema)


def side_by_side(parts: Sequence[Part], schema: pa.Schema) -> Part:
    """Vertical, of synthetic rows that stand for nobody: the first of one owner beside the first of the next.

    Each owner has put its rows in random order, so no pair of rows belongs together more than any other.
    """
    streams = [_Stream(part) for part in parts]
    while all(stream.fill() for stream in streams):
        count = min(stream.rows.num_rows for stream in streams)
        columns: dict[str, pa.ChunkedArray] = {}
        for stream in streams:
            rows = stream.first(count)
            columns.update(zip(rows.column_names, rows.columns, strict=True))
        yield pa.table([columns[name] for name in schema.names], schema=schema)


# ASSEMBLING → RELEASED: join, shuffle, write, certify. Interrupted anywhere, it gives the same bytes again.


def assemble(aggregator: Aggregator, row: StudyRow, parts: list[Contribution]) -> None:
    study = row.study
    delivered = {part.name: part for part in parts if part.state is ContributionState.ACCEPTED}
    accepted = [delivered[entry.owner] for entry in study.roster if entry.owner in delivered]
    columns = [a for a in study.attributes if any(a in study.asked_of(part.name) for part in accepted)]
    schema = arrow_schema(columns, pseudonymous=False)
    rows, most = _together(aggregator, study, accepted, schema)
    assert row.shuffle_key is not None
    workspace = aggregator.workspace(row.id)
    shutil.rmtree(workspace, ignore_errors=True)
    require_room(aggregator.folder, most * row_bytes(columns))
    workspace.mkdir(mode=0o700, parents=True)
    try:
        mixed = shuffled(rows, schema, most, bytes.fromhex(row.shuffle_key), workspace)
        path = workspace / "release.parquet"
        count, digest = _write(path, mixed, schema)
        if count < study.k:
            # How many there were is not said: a small overlap tells about single people.
            reason = "fewer people than k are held by every contributing owner"
            with aggregator.database.writing() as connection:
                move_study(connection, row, StudyState.FAILED, reason=reason, shuffle_key=None)
            return
        certificate = certify(
            study,
            row.signed,
            {part.name: signed_from(part.answer or "") for part in accepted},
            {part.name: part.opened_certificate(study) for part in accepted},
            count,
            tuple(schema.names),
            Digest(over="file bytes", value=digest),
        )
        size = path.stat().st_size
        require_same_release(aggregator.release(row.id), digest)
        put_file(path, aggregator.release(row.id))
        signed = Signed.of(certificate, aggregator.keys_of(study.aggregator)).text()
        try:
            values = {"certificate": signed, "release_sha256": digest, "release_size": size}
            with aggregator.database.writing() as connection:
                move_study(connection, row, StudyState.RELEASED, shuffle_key=None, **values)
        except Conflict:  # cancelled meanwhile
            aggregator.release(row.id).unlink()
            raise
    finally:
        shutil.rmtree(workspace, ignore_errors=True)


def _together(
    aggregator: Aggregator, study: Study, accepted: Sequence[Contribution], schema: pa.Schema
) -> tuple[Part, int]:
    """The rows of all parts, put together as the study says, and how many there can be."""
    counts = [part.opened_manifest(study).rows for part in accepted]
    streams = [_chunks(aggregator, study, part) for part in accepted]
    if study.matched:
        return joined(streams, schema), min(counts)
    if study.vertical:
        return side_by_side(streams, schema), min(counts)
    return chain.from_iterable(streams), sum(counts)  # D' = D'_1 ∪ … ∪ D'_m


def require_same_release(there: Path, digest: str) -> None:
    """An assembly that was interrupted gives the same bytes again. Others mean that the database was restored."""
    if there.exists() and file_sha256(there) != digest:
        raise FederationError(
            "A release of this study with other bytes is there: the database was restored from a backup.",
            "Restore a newer one, or cancel the study.",
        )


def _chunks(aggregator: Aggregator, study: Study, part: Contribution) -> Iterator[pa.Table]:
    """The checked copies; made again if they are not there (a part that was accepted by an older version)."""
    schema = arrow_schema(study.asked_of(part.name), pseudonymous=study.matched)
    count = len(part.opened_manifest(study).chunks)
    files = [checked(aggregator.chunk(part.study, part.owner, number)) for number in range(count)]
    unreadable = FederationError("A part that was accepted cannot be read any more.", "Look at the disk.")
    done = False
    while not done:
        done, wrong = _read(aggregator, study, part)
        if wrong is not None:
            raise unreadable
    for path in files:
        try:
            table = pq.read_table(path).cast(schema)
        except pa.ArrowException:
            raise unreadable from None
        yield table


def _write(path: Path, tables: Iterator[pa.Table], schema: pa.Schema) -> tuple[int, str]:
    rows = 0
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for table in tables:
            writer.write_table(table.cast(schema))
            rows += table.num_rows
    make_durable(path)
    return rows, file_sha256(path)


# Step 3 of Del Vasto-Terrientes et al. over the answers, and the content of what was delivered. Reasons name columns only.


def disagreement(study: Study, answers: dict[str, Answer]) -> str | None:
    """A_1 = … = A_m (horizontal) or pairwise disjoint (vertical); the attributes at fault, or None."""
    offers = {owner: set(answer.attributes) for owner, answer in answers.items()}
    if study.vertical:
        taken: dict[str, str] = {}
        for owner, names in offers.items():
            for name in sorted(names):
                if name in taken:
                    both = f"{taken[name]} and {owner}"
                    return (
                        f"attribute '{name}' is offered by {both}: in a vertical study they must not overlap"
                    )
                taken[name] = owner
        expected = {owner: {a.name for a in study.asked_of(owner)} for owner in offers}
    else:
        expected = {owner: {a.name for a in study.attributes} for owner in offers}
    for owner, names in offers.items():
        wrong = sorted(names ^ expected[owner])
        if wrong:
            listed = ", ".join(f"'{name}'" for name in wrong[:10])
            return f"the attributes that {owner} is willing to share differ from the others' or the study's in {listed}"
    return None


def wrong_content(aggregator: Aggregator, study: Study, part: Contribution) -> tuple[bool, str | None]:
    """Whether we are through with a delivered contribution, and why it cannot be used; some chunks at a time.

    The chunks are opened by a child process with limits. A part that kills it is put aside, and never opened again.
    """
    rows = part.opened_manifest(study).rows
    try:
        _require_certificate(study, part.opened_answer(study), rows, part.opened_certificate(study))
    except CoterieError as error:
        return True, error.problem
    try:
        return _read(aggregator, study, part)
    except PartKilledItsReader:
        put_aside(aggregator, part)
        return True, UNREADABLE


def _read(aggregator: Aggregator, study: Study, part: Contribution) -> tuple[bool, str | None]:
    """The next chunks that have no checked copy yet."""
    manifest = part.opened_manifest(study)
    files = [aggregator.chunk(part.study, part.owner, number) for number in range(len(manifest.chunks))]
    first = next((number for number, path in enumerate(files) if not checked(path).exists()), len(files))
    if first == len(files):
        return True, None
    wrong = aggregator.reader.wrong(
        files,
        manifest.chunks,
        study.asked_of(part.name),
        pseudonymous=study.matched,
        key=part.opened_key(study),
        study=part.study,
        first=first,
    )
    return wrong is not None or first + AT_ONCE >= len(files), wrong


def put_aside(aggregator: Aggregator, part: Contribution) -> None:
    """Into quarantine, and into the diary by whose it is."""
    place = aggregator.quarantine(part.study, part.owner)
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    chunks = aggregator.chunk(part.study, part.owner, 0).parent
    if chunks.exists():
        shutil.rmtree(place, ignore_errors=True)
        put_folder(chunks, place)
    with aggregator.database.writing() as connection:
        note(connection, "quarantined", study=part.study, owner=part.name)


def _require_certificate(study: Study, answer: Answer, rows: int, certificate: Certificate) -> None:
    """The owner's certificate must be its own, and say what the study asked for and the owner's answer promised."""
    require_own(certificate, study, answer.owner, rows)
    if certificate.release.columns != tuple(a.name for a in study.asked_of(answer.owner)):
        raise FederationError("The certificate is about another set of columns.", "Ask the owner.")
    said, promised = certificate.guarantee, answer.promise
    if promised is not None and (said.model, said.status, said.scope) != (
        promised.model, promised.status, promised.scope,
    ):  # fmt: skip
        raise FederationError(
            "The certificate and the owner's answer promise different things.", "Ask the owner."
        )
    if certificate.reproducible != (study.seed is not None):
        raise FederationError("The certificate and the study differ about the seed.", "Ask the owner.")
