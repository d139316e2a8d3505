"""Bytes that are hashed on their way: none lost, none twice, and a fault of the disk reaches the writer."""

from __future__ import annotations

import errno
import hashlib
import io
from threading import active_count

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie.publication.staged_files import HashingSink


class Little(io.BytesIO):
    """Takes at most 100,000 bytes at a time, as an unbuffered file may."""

    def write(self, data: object) -> int:
        return super().write(memoryview(data)[:100_000])  # type: ignore[arg-type]


@given(st.lists(st.integers(0, 1_300_000), max_size=12))
def test_every_byte_arrives_once_in_order(sizes: list[int]) -> None:
    blocks = [bytes([number + 1]) * size for number, size in enumerate(sizes)]
    file = Little()
    with HashingSink(file) as sink:
        for number, block in enumerate(blocks):
            given_as = (block, bytearray(block), memoryview(block), pa.py_buffer(block))[number % 4]
            assert sink.write(given_as) == len(block)
            assert sink.tell() == sum(sizes[: number + 1])
        assert sink.finish() == sum(sizes)
    assert file.getvalue() == b"".join(blocks)
    assert sink.sha256 == hashlib.sha256(b"".join(blocks)).hexdigest()


def test_a_fault_of_the_disk_is_raised_and_nobody_waits_for_ever() -> None:
    class Full(io.BytesIO):
        def write(self, data: object) -> int:
            raise OSError(errno.ENOSPC, "full")

    def write_much() -> None:
        with HashingSink(Full()) as sink:
            for _ in range(50):
                sink.write(bytes(2_000_000))

    def write_little() -> None:
        with HashingSink(Full()) as sink:
            sink.write(b"little")
            sink.finish()

    before = active_count()
    for write in (write_much, write_little):
        with pytest.raises(OSError, match="full"):
            write()
    with pytest.raises(KeyboardInterrupt), HashingSink(io.BytesIO()):
        raise KeyboardInterrupt
    assert active_count() == before
