"""No single record can change the type or format of a released column: that would show it at every ε."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from coterie import Schema, protect
from coterie.table.reading import read_table


def schema(**attributes: dict[str, object]) -> Schema:
    return Schema.load({"attributes": attributes})


@pytest.mark.parametrize(
    ("kind", "bounds", "usual", "odd"),
    [
        ("date", ("2000-01-01", "2030-12-31"), "2020-01-01", "2020-01-02"),
        ("timestamp", ("2000-01-01", "2030-12-31"), "2020-01-01 00:00:00", "2020-01-01 00:00:00.5"),
    ],
)
def test_one_cell_of_a_csv_file_changes_no_type(
    kind: str, bounds: tuple[str, str], usual: str, odd: str, tmp_path: Path
) -> None:
    described = schema(
        t={"type": kind, "role": "protect", "domain": {"lower": bounds[0], "upper": bounds[1]}}
    )
    types = []
    for number, last in enumerate((usual, odd)):
        path = tmp_path / f"{number}.csv"
        path.write_text("t\n" + f"{usual}\n" * 9 + f"{last}\n")
        release = protect(read_table(path, schema=described), described, method="laplace", epsilon=1)
        types.append(release.table.schema.field("t").type)
    assert types[0] == types[1]


@pytest.mark.parametrize(("labels", "odd"), [(["1", "2", "2.5"], 2.5), (["1", "2"], None)])
def test_one_cell_of_a_frame_changes_no_type(labels: list[str], odd: float | None) -> None:
    described = schema(
        c={"type": "categorical", "role": "protect", "categories": {"labels": labels}, "missing": "impute"}
    )
    usual = protect(pd.DataFrame({"c": [1, 2] * 5}), described, method="laplace", epsilon=1)
    other = protect(pd.DataFrame({"c": [1, 2] * 4 + [1, odd]}), described, method="laplace", epsilon=1)
    assert usual.table.schema == other.table.schema
    assert usual.data["c"].dtype == other.data["c"].dtype
