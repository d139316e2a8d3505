"""The insurance data of 002 §5.4.2."""

from __future__ import annotations

import pyarrow as pa

from coterie.papers.data import load


def insurance() -> pa.Table:
    return load("insurance")
