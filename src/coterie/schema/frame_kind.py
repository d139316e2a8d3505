"""Results as frames: every `to_frame` ends here."""

from __future__ import annotations

from typing import Any, cast

import pyarrow as pa

from coterie.errors import MissingExtra, ParameterError


def to_kind(table: pa.Table, kind: str) -> Any:
    """A result as a frame of the library that is named: arrow, pandas or polars."""
    if kind == "arrow":
        return table
    if kind not in ("pandas", "polars"):
        raise ParameterError(f"There is no kind of frame '{kind}'.", "Choose arrow, pandas or polars.")
    import narwhals as nw  # knows frames of all kinds, which most callers do without

    try:
        return nw.from_arrow(table, backend=cast(Any, kind)).to_native()
    except ImportError:
        raise MissingExtra.named("frames", f"A {kind} frame") from None
