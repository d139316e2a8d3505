"""A uniform random order of many rows in little memory.

Each row goes to a random pile on disk; each pile is put in random order; the piles follow each other. That is a
uniform permutation of all rows (Rao 1961, Sandelius 1962). The order is a function of a secret key that is drawn
once a study: an assembly that was interrupted gives the same bytes when it runs again. The key is then erased.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from numpy.typing import NDArray

_PILE_BYTES = 48 * 1024 * 1024


class Words:
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
        draw = Words(key, 0)
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
            order = np.argsort(Words(key, pile + 1).draw(table.num_rows), kind="stable")
            yield table.take(pa.array(order)).combine_chunks()
