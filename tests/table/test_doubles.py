"""Numbers pass between Arrow and NumPy in place, and without loading pandas."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from coterie.schema.attributes import Attribute, Domain, Role
from coterie.table.checked import numeric_column

X = Attribute(name="x", role=Role.PROTECT, domain=Domain(lower=0, upper=9))


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        ([[1.0, 2.0]], [1.0, 2.0]),
        ([[1.0], [], [2.0, 3.0]], [1.0, 2.0, 3.0]),
        ([[1.0, None], [3.0]], [1.0, np.nan, 3.0]),
        ([[]], []),
        ([], []),
    ],
)
@pytest.mark.parametrize("kind", [pa.float64(), pa.int32(), pa.float32()])
def test_numbers_come_in_whatever_their_chunks(
    chunks: list[list[float | None]], expected: list[float], kind: pa.DataType
) -> None:
    column = pa.chunked_array([pa.array(chunk, kind) for chunk in chunks], kind)
    np.testing.assert_array_equal(numeric_column(column, X).values, expected)


def test_a_slice_of_a_column_begins_where_it_begins() -> None:
    column = pa.chunked_array([pa.array([5.0, 6.0, 7.0, 8.0]).slice(1, 2)])
    np.testing.assert_array_equal(numeric_column(column, X).values, [6.0, 7.0])


def test_one_chunk_is_not_copied_and_goes_out_as_it_is() -> None:
    array = pa.array([1.0, 2.0, 3.0])
    column = numeric_column(pa.chunked_array([array]), X)
    assert column.values.ctypes.data == array.buffers()[1].address
    assert not column.values.flags.writeable
    released = np.array([4.0, 5.0])
    assert column.restore(released).buffers()[1].address == released.ctypes.data
    assert column.restore(np.arange(6.0)[::2]).to_pylist() == [0.0, 2.0, 4.0]


def test_protecting_numbers_does_not_load_pandas() -> None:
    """It would take a tenth of the time of ten million records."""
    script = (
        "import sys, numpy as np, pyarrow as pa, coterie\n"
        "schema = {'attributes': {'x': {'role': 'protect', 'domain': {'lower': 0, 'upper': 9}}}}\n"
        "x = pa.Array.from_buffers(pa.float64(), 4, [None, pa.py_buffer(np.arange(4.0))])\n"
        "coterie.protect(pa.table({'x': x}), schema, method='dp-ir', epsilon=1, k=2)\n"
        "assert 'pandas' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
