"""In which order rows are released: one that tells nothing, unless somebody asks for that of the table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import coterie
from coterie.schema.declared import linking_columns

HOMES = np.repeat(np.arange(300), 2)
TABLE = pa.table({"hhid": HOMES, "place": HOMES * 10.0, "wgt": HOMES + 1.5})
SCHEMA: dict[str, Any] = {
    "attributes": {
        "hhid": {"role": "identifier"},
        "place": {"role": "protect", "domain": {"lower": -100, "upper": 4000}},
        "wgt": {"role": "identifier"},
    }
}


def neighbours_together(release: coterie.Release) -> float:
    """The share of released rows whose next row is of the same household: the noise is far too small to hide it."""
    homes = np.rint(release.table.column("place").to_numpy() / 10)
    return float(np.mean(homes[1:] == homes[:-1]))


def protected(**more: Any) -> coterie.Release:
    return coterie.protect(TABLE, SCHEMA, **{"method": "laplace", "epsilon": 1_000_000, **more})


def test_a_household_does_not_stand_together() -> None:
    assert neighbours_together(protected(shuffle=False)) > 0.49
    release = protected()
    assert neighbours_together(release) < 0.05
    assert release.certificate.release.shuffled
    assert "order of the table" not in " ".join(release.certificate.notes)
    place, order = release.table.column("place").to_numpy(), release.internal.row_order
    np.testing.assert_allclose(place, TABLE.column("place").to_numpy()[order], atol=1)


@pytest.mark.parametrize("more", [{"shuffle": False}, {"seed": 1}])
def test_whoever_keeps_the_order_is_told(more: dict[str, Any]) -> None:
    release = protected(**more)
    assert not release.certificate.release.shuffled
    assert "rows stand in the order of the table" in " ".join(release.certificate.notes)
    assert neighbours_together(release) > 0.49


def test_out_of_core_rows_stay_and_the_certificate_says_so(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "in.parquet")
    written = coterie.publish(
        tmp_path / "in.parquet",
        SCHEMA,
        tmp_path / "out.parquet",
        method="laplace",
        epsilon=1,
        memory="4GB",
    )
    assert not written.certificate.release.shuffled
    assert "rows stand in the order of the table" in " ".join(written.certificate.notes)


def test_kept_columns_beside_synthetic_rows_are_moved_too() -> None:
    """Else they would tell by their order who lives together."""
    attributes = {**SCHEMA["attributes"], "wgt": {"role": "keep"}}
    release = coterie.protect(TABLE, {"attributes": attributes}, method="dp-synthetic", epsilon=1)
    weights = release.table.column("wgt").to_numpy()
    assert np.mean(weights[1:] == weights[:-1]) < 0.05
    notes = " ".join(release.certificate.notes)
    assert "wgt looks like a survey weight and is released untouched" in notes
    assert "hhid looks like the number of a household, but the schema names no unit" in notes


FEW = {"type": "categorical", "categories": ["a", "b", "c"]}


@pytest.mark.parametrize(
    ("kept", "told"),
    [
        ({"start": {}}, "start"),  # numbers without bounds
        ({"start": {"type": "categorical"}}, "start"),  # labels that nobody declared
        ({"start": {"type": "integer", "domain": {"lower": 0, "upper": 9}}}, ""),
        ({"start": {"type": "integer", "domain": {"lower": 0, "upper": 9000}}, "site": FEW}, "start"),
        ({"start": FEW}, ""),
        ({f"site{number}": FEW for number in range(5)}, "site0, site1, site2, site3, site4"),  # together
    ],
)
def test_kept_columns_that_may_mark_a_household_are_named_by_what_is_declared(
    kept: dict[str, Any], told: str
) -> None:
    """Nothing is read of them: whether they hold one value or as many as there are rows plays no part."""
    attributes = {name: {"role": "keep", **entry} for name, entry in kept.items()}
    schema = coterie.Schema.load(
        {"attributes": SCHEMA["attributes"] | {"wgt": {"role": "identifier"}} | attributes}
    )
    for values in (["a"] * TABLE.num_rows, [str(row) for row in range(TABLE.num_rows)]):
        table = TABLE
        for name in kept:
            table = table.append_column(name, pa.array(values))
        notes = coterie.protect(table, schema, method="laplace", epsilon=1).certificate.notes
        found = [note for note in notes if "mark the rows of one household" in note]
        assert [note.split(":")[0] for note in found] == ([told] if told else [])
    assert linking_columns(schema, TABLE.num_rows) == tuple(told.split(", ") if told else ())


def test_a_ledger_expects_what_the_order_makes_of_the_promise(tmp_path: Path) -> None:
    """One attribute, groups and random order: the promise is that of the list. In order, there is none."""
    ledger = tmp_path / "ledger.sqlite"
    coterie.Ledger.add_population(ledger, "people", 4)
    for name, shuffle in (("random", None), ("kept", False)):
        coterie.publish(
            TABLE,
            SCHEMA,
            tmp_path / f"{name}.csv",
            method="dp-ir",
            epsilon=1,
            k=5,
            ledger=ledger,
            population="people",
            shuffle=shuffle,
        )
    kept = [str(entry.purpose.status) for entry in coterie.Ledger.inspect(ledger).entries.values()]
    assert sorted(kept) == ["proved", "refuted"]
