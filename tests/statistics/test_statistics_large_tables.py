"""Tables of so many cells that they are planned and released as one array."""

from __future__ import annotations

import csv
import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from coterie.errors import CoterieError
from coterie.report.statistics_page import statistics_page
from coterie.statistics import plan, read_specification, release
from coterie.statistics.releasing.cell_counts import count_cells
from coterie.statistics.releasing.measuring import Noise, compute, read_people
from coterie.statistics.releasing.nearest_table import nearest_counts
from coterie.statistics.releasing.records import open_records
from coterie.statistics.releasing.releasing import make_release
from coterie.statistics.specification.filters import Filter

REGIONS, JOBS = [f"r{i}" for i in range(80)], [f"job {i}, of many" for i in range(60)]
_RNG = np.random.default_rng(5)
REGION, JOB = _RNG.integers(0, 80, 20_000), np.minimum(_RNG.geometric(0.1, 20_000), 60) - 1
TABLE = pa.table(
    {
        "region": [REGIONS[i] for i in REGION],
        "job": [JOBS[i] for i in JOB],
        "age": _RNG.integers(0, 100, 20_000),
        "wage": _RNG.gamma(2, 900, 20_000).round(2),
    }
)
TRUE = np.zeros((80, 60), dtype=np.int64)
np.add.at(TRUE, (REGION, JOB), 1)
SCHEMA: dict[str, Any] = {
    "coterie_schema": 1,
    "attributes": {
        "region": {"role": "protect", "type": "categorical", "categories": {"labels": REGIONS}},
        "job": {"role": "protect", "type": "categorical", "categories": {"labels": JOBS}},
        "age": {"role": "protect", "type": "integer", "domain": {"lower": 0, "upper": 99}},
        "wage": {"role": "protect", "domain": {"lower": 0, "upper": 20000}},
    },
}
CROSSED = {"kind": "count", "by": {"region": "declared", "job": "declared"}}
WAGES = {"kind": "histogram", "of": "wage", "bins": {"from": 0, "to": 20000, "width": 5}}


def document(**changes: Any) -> dict[str, Any]:
    content: dict[str, Any] = {
        "release": "large",
        "population": "people",
        "schema": SCHEMA,
        "neighbours": "add-remove",
        "records": 20_000,
        "budget": {"epsilon": 1},
        "statistics": {"crossed": CROSSED},
    }
    return content | changes


def released(tmp_path: Path, ending: str = "csv", seed: int = 3, **changes: Any) -> Any:
    return release(document(**changes), TABLE, tmp_path / f"large.{ending}", seed=seed)


def cells_of(done: Any, name: str = "crossed") -> np.ndarray[Any, Any]:
    found = done.to_frame()
    chosen = [n.startswith(f"{name}[") for n in found.column("name").to_pylist()]
    return found.filter(chosen).column("value").to_numpy()


def test_all_cells_are_counted_whichever_way_values_are_written() -> None:
    crossed = {"kind": "count", "by": {"age": list(range(99, -1, -1)), "region": "declared"}}
    specification = read_specification(
        document(statistics={"a": crossed, "wages": WAGES, "crossed": CROSSED})
    )
    exact = compute(plan(specification).design, open_records(TABLE))
    ages, wages, jobs = exact.values()
    by_hand = np.zeros((100, 80), dtype=np.int64)
    np.add.at(by_hand, (99 - TABLE.column("age").to_numpy(), REGION), 1)
    assert np.array_equal(np.asarray(ages), by_hand.ravel())
    bins = np.minimum(TABLE.column("wage").to_numpy() // 5, 3999).astype(int)
    assert np.array_equal(np.asarray(wages), np.bincount(bins, minlength=4000))
    assert np.array_equal(np.asarray(jobs), TRUE.ravel())


def test_gaps_and_values_that_nobody_lists_are_in_no_published_cell() -> None:
    schema = {
        "attributes": {
            "code": {"role": "keep", "type": "categorical"},
            "age": {"role": "keep", "type": "integer"},
        }
    }
    by = {"code": [*range(100)], "age": [*range(100)]}
    table = pa.table({"code": ["1", "7", None, "seven", "99"], "age": [3, None, 5, 6, 120]})
    specification = read_specification(
        document(schema=schema, records=5, statistics={"codes": {"kind": "count", "by": by}})
    )
    large = specification["codes"].table
    assert large is not None
    people, kinds = read_people(specification, open_records(table))
    found = count_cells(large, people, kinds.mask(Filter()), specification.schema)
    assert found.sum() == 5  # those with another value lie in places that are not published
    cells = found.reshape(101, 101)[:100, :100]
    assert cells.sum() == cells[1, 3] == 1


@pytest.mark.parametrize("budget", [{"epsilon": 1}, {"rho": 0.5}, {"epsilon": 1, "delta": "1e-6"}])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_the_noise_is_that_of_the_budget(budget: dict[str, Any], neighbours: str) -> None:
    """4,800 independent draws: their spread is known to 5 % or better; noise 10 % off is rejected."""
    specification = read_specification(document(budget=budget, neighbours=neighbours))
    chosen = plan(specification)
    made = make_release(chosen, open_records(TABLE), Noise.secure()).tables["crossed"]
    drawn = made.noisy - TRUE.ravel()
    apart = 2 if neighbours == "replace-one" else 1
    total = float(specification.budget.total)
    if "epsilon" in budget and "delta" not in budget:
        ratio = np.exp(-total / apart)
        mean, expected = np.abs(drawn).mean(), 2 * ratio / (1 - ratio**2)
    else:
        mean, expected = np.sqrt((drawn**2).mean()), np.sqrt(apart / (2 * total))
    assert mean == pytest.approx(expected, rel=0.07)
    assert mean != pytest.approx(1.3 * expected, rel=0.07)
    assert abs(drawn.mean()) < 5 * drawn.std() / np.sqrt(drawn.size)


def test_totals_are_sums_of_the_cells_that_are_published(tmp_path: Path) -> None:
    done = released(tmp_path, statistics={"crossed": CROSSED | {"totals": True}})
    values = {row["name"]: row["value"] for row in done.values}
    cells = np.array([values[f'crossed[{r}, "{j}"]'] for r in REGIONS for j in JOBS]).reshape(80, 60)
    assert [values[f"crossed[{r}, all]"] for r in REGIONS] == cells.sum(axis=1).tolist()
    assert [values[f'crossed[all, "{j}"]'] for j in JOBS] == cells.sum(axis=0).tolist()
    assert values["crossed[all, all]"] == cells.sum()
    assert cells.min() == 0
    assert len(values) == 81 * 61
    for row in done.values:
        assert isinstance(row["value"], int)
        assert row["lower_95"] <= row["value"] <= row["upper_95"]


def test_some_totals_alone_can_be_asked_for(tmp_path: Path) -> None:
    done = released(tmp_path, statistics={"crossed": CROSSED | {"totals": [["region"], []]}})
    totals = [row for row in done.values if "(all)" in (row["region"], row["job"])]
    assert [row["name"] for row in totals[:2]] == ["crossed[r0, all]", "crossed[r1, all]"]
    assert len(totals) == 81
    assert totals[-1]["name"] == "crossed[all, all]"


def test_totals_follow_a_declared_taxonomy(tmp_path: Path) -> None:
    tree = tmp_path / "regions.yaml"
    tree.write_text(json.dumps({"everywhere": {"north": REGIONS[:30], "south": REGIONS[30:]}}))
    schema = {
        "attributes": SCHEMA["attributes"]
        | {"region": {"role": "protect", "type": "categorical", "categories": {"taxonomy": str(tree)}}}
    }
    done = released(tmp_path, schema=schema, statistics={"crossed": CROSSED | {"totals": True}})
    values = {row["name"]: row["value"] for row in done.values}
    assert values["crossed[all north, all]"] == sum(values[f"crossed[{r}, all]"] for r in REGIONS[:30])


def test_a_public_total_is_kept_exactly(tmp_path: Path) -> None:
    done = released(tmp_path, neighbours="replace-one", statistics={"crossed": CROSSED | {"complete": True}})
    assert cells_of(done).sum() == 20_000


@pytest.mark.parametrize(
    ("budget", "noise"), [({"epsilon": 1}, "discrete Laplace"), ({"rho": 1}, "discrete Gaussian")]
)
def test_the_certificate_names_the_noise_and_what_is_refused(
    tmp_path: Path, budget: dict[str, Any], noise: str
) -> None:
    done = released(tmp_path, budget=budget, statistics={"crossed": CROSSED | {"complete": True}})
    (measured,) = done.certificate.measurements
    assert measured.mechanism == noise
    assert any(
        "groups declared complete hold every record" in words
        for words in done.certificate.guarantee.assumptions
    )


def test_a_table_that_is_not_complete_is_refused(tmp_path: Path) -> None:
    asked = {
        "kind": "histogram",
        "of": "wage",
        "bins": {"from": 0, "to": 3000, "width": 0.5},
        "complete": True,
    }
    specification = document(neighbours="replace-one", statistics={"wages": asked})
    with pytest.raises(CoterieError, match="declared complete miss some records"):
        release(specification, TABLE, tmp_path / "large.csv", seed=1)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("budget", "neighbours"),
    [({"epsilon": 1}, "add-remove"), ({"rho": 0.02}, "add-remove"), ({"epsilon": 2}, "replace-one")],
)
def test_intervals_hold_cells_and_totals_nineteen_times_in_twenty(
    budget: dict[str, Any], neighbours: str
) -> None:
    specification = read_specification(
        document(budget=budget, neighbours=neighbours, statistics={"crossed": CROSSED | {"totals": True}})
    )
    chosen, records = plan(specification), open_records(TABLE)
    exact = np.zeros((81, 61))
    exact[:80, :60] = TRUE
    exact[80], exact[:, 60] = exact[:80].sum(axis=0), exact[:, :60].sum(axis=1)
    exact[80, 60] = TRUE.sum()
    held = []
    for seed in range(20):
        made = make_release(chosen, records, Noise.seeded(seed)).tables["crossed"]
        truth = exact[made.table.places]
        held.append((made.lower <= truth) & (truth <= made.upper))
    cells, totals = np.mean(held, axis=0)[:4800].mean(), np.mean(held, axis=0)[4800:].mean()
    assert 0.93 <= cells <= 0.985  # whole numbers, and the interval is widened to hold the fitted count
    assert 0.93 <= totals <= 0.975
    narrow = [(truth - made.lower) > 0.5 * (made.upper - made.lower + 1) for _ in (0,)]
    assert np.mean(narrow) < 0.9  # half as wide an interval would not do


def test_the_fit_is_the_nearest_and_adds_up() -> None:
    rng = np.random.default_rng(1)
    for total in (None, 0, 7, 300):
        noisy = np.rint(rng.laplace(2, 3, 50)).astype(np.int64)
        found = nearest_counts(noisy, [], total)
        assert found.min() >= 0
        assert found.sum() == (max(int(noisy.sum()), 0) if total is None else total)
        away = ((found - noisy) ** 2).sum()
        for _ in range(200):  # no move of one from cell to cell comes nearer, up to rounding
            i, j = rng.integers(0, 50, 2)
            other = found.copy()
            other[i] += 1
            other[j] -= 1
            if other.min() >= 0:
                assert ((other - noisy) ** 2).sum() >= away - 2.0


@pytest.mark.parametrize("shape", [(2, 2000), (60, 70), (5000,), (9, 20, 30)])
def test_totals_of_sparse_cells_are_not_too_large(shape: tuple[int, ...]) -> None:
    """Half of the cells are empty. Each total is off by its noise, and by a few records of rounding; never by a bias."""
    rng = np.random.default_rng(2)
    truth = np.full(shape, 50)
    truth.reshape(-1)[truth.size // 2 :] = 0
    noise = rng.geometric(0.5, shape) - rng.geometric(0.5, shape)
    noisy = truth + noise
    axes = range(len(shape))
    totals = [kept for size in axes for kept in itertools.combinations(axes, size)]
    cut = np.maximum(noisy, 0).sum() - noisy.sum()  # what cutting cells one by one would add
    found = nearest_counts(noisy, totals, None)
    assert found.min() >= 0
    for kept in totals:
        others = tuple(axis for axis in axes if axis not in kept)
        off = found.sum(axis=others) - truth.sum(axis=others)
        spread = 2 * np.sqrt(truth.size / off.size)  # of the noise in such a total
        assert np.abs(off).max() <= 5 * spread + 3
        assert off.sum() == noisy.sum() - truth.sum()
    assert cut > 0.3 * truth.size


def test_sums_over_neighbouring_bins_are_right() -> None:
    rng = np.random.default_rng(3)
    truth = np.zeros(20_000, dtype=np.int64)
    truth[:1000] = 200
    noisy = truth + rng.geometric(0.4, truth.size) - rng.geometric(0.4, truth.size)
    found = nearest_counts(noisy, [], None)
    for start, end in [(10_000, 20_000), (1000, 5000), (0, 1000), (12_345, 17_890)]:
        true, cut = truth[start:end].sum(), np.maximum(noisy[1000:], 0).sum()
        assert abs(found[start:end].sum() - true) <= 0.05 * cut


@pytest.mark.parametrize("ending", ["csv", "json", "parquet", "arrow"])
def test_every_format_holds_the_same(tmp_path: Path, ending: str) -> None:
    statistics = {"crossed": CROSSED, "young": {"kind": "count", "where": {"age": {"below": 30}}}}
    done = released(tmp_path, ending, statistics=statistics)
    found = done.to_frame()
    assert len(found) == 4801
    assert found.column("name").to_pylist()[:2] == ["young", 'crossed[r0, "job 0, of many"]']
    first = found.slice(1, 1).to_pylist()[0]
    assert first["region"] == "r0"
    assert first["job"] == "job 0, of many"
    assert first["age"] == "(all)"
    assert first["kind"] == "count"
    assert isinstance(first["value"], int)
    again = released(tmp_path, ending, statistics=statistics)
    assert again.again
    assert again.to_frame().equals(found)


def test_bins_have_their_ends_as_numbers(tmp_path: Path) -> None:
    statistics = {"wages": WAGES, "mean": {"kind": "mean", "of": "age", "expected": 50}}
    done = released(tmp_path, statistics=statistics)
    with (tmp_path / "large.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert rows[1]["wage"] == "0..5"
    assert rows[1]["wage_from"] == "0"
    assert rows[-1]["wage_to"] == "20000"
    assert rows[0]["kind"] == "mean"
    assert rows[0]["wage_from"] == ""
    assert rows[1]["value"].isdigit()
    assert "cells are in the released file" in statistics_page(done)


def test_raw_cells_have_noise_of_mean_zero(tmp_path: Path) -> None:
    raw = tmp_path / "raw.json"
    release(document(), TABLE, tmp_path / "large.parquet", seed=8, raw=raw)
    (entry,) = json.loads(raw.read_text())["measurements"]
    assert entry["columns"] == ["region", "job"]
    assert entry["along"][0] == REGIONS
    drawn = np.array(entry["values"]) - TRUE.ravel()
    assert (np.array(entry["values"]) < 0).any()
    assert abs(drawn.mean()) < 0.1


def test_a_unit_of_several_records_gets_as_much_more_noise() -> None:
    unit = SCHEMA["attributes"] | {"home": {"role": "identifier", "type": "categorical"}}
    schema = {"attributes": unit, "unit": {"column": "home", "at_most": 4}}
    table = TABLE.append_column("home", pa.array([f"h{i // 2}" for i in range(20_000)]))
    content = {key: value for key, value in document(schema=schema).items() if key != "neighbours"}
    chosen = plan(read_specification(content))
    made = make_release(chosen, open_records(table), Noise.secure()).tables["crossed"]
    assert np.abs(made.noisy - TRUE.ravel()).mean() == pytest.approx(8.0, rel=0.1)


FAULTS: list[tuple[dict[str, Any], str]] = [
    ({"statistics": {"crossed": CROSSED | {"at_least": 3}}}, "it has no `at_least`"),
    ({"statistics": {"crossed": CROSSED | {"expected": {"r0, x": 3}}}}, "it has no `expected`"),
    ({"statistics": {"crossed": CROSSED}, "pilot": 0.1}, "pilot would tell nothing"),
    ({"equations": {"e": "crossed + 1"}}, "measured as a whole"),
    ({"equations": {"e": "crossed['r0', 'job 0, of many'] * 2"}}, "measured as a whole"),
    ({"statistics": {"wages": WAGES | {"bins": {"from": 0, "to": 10, "width": 3}}}}, "do not lead from"),
    ({"statistics": {"wages": WAGES | {"bins": {"from": 0, "to": 10, "width": 0}}}}, "do not lead from"),
    ({"statistics": {"wages": WAGES | {"bins": {"from": 0, "wdith": 3}}}}, "wdith"),
    (
        {"statistics": {"wages": WAGES | {"bins": {"from": 0, "to": 60000, "width": 10}}}},
        "outside its declared",
    ),
    ({"statistics": {"a": {"kind": "count", "by": {"age": [*range(100), *range(5000)]}}}}, "a value twice"),
    ({"statistics": {"a": {"kind": "count", "by": {"age": [*range(5000)]}}}}, "outside its declared domain"),
    (
        {
            "statistics": {
                "a": WAGES | {"by": {"region": "declared", "job": "declared", "age": [1, 2, 3, 4, 5, 6]}}
            }
        },
        "at most",
    ),
    ({"statistics": {"a": {"kind": "counts of a large table"}}}, "kind is not one that Coterie knows"),
]


@pytest.mark.parametrize(("changes", "words"), FAULTS, ids=[words for _, words in FAULTS])
def test_what_cannot_be_asked_of_a_large_table(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(CoterieError, match=words):
        read_specification(document(**changes))


def test_labels_written_as_numbers_are_those_of_other_tables() -> None:
    """Was: 1 was not seen to be the label "1", and the two tables had other totals."""
    labels = [str(code) for code in range(60)]
    codes = {"role": "protect", "type": "categorical", "categories": {"labels": labels}}
    schema = {"attributes": SCHEMA["attributes"] | {"code": codes}}
    statistics = {
        "crossed": {"kind": "count", "by": {"code": [*range(60)], "age": [*range(100)]}},
        "single": {"kind": "count", "by": {"code": "declared"}},
    }
    table = TABLE.append_column("code", pa.array([labels[i % 60] for i in range(20_000)]))
    chosen = plan(read_specification(document(schema=schema, statistics=statistics)), report_losses=False)
    made = make_release(chosen, open_records(table), Noise.seeded(1))
    single = [value.value for value in made.values]
    assert made.tables["crossed"].values.reshape(60, 100).sum(axis=1).tolist() == single


def test_bins_of_a_part_of_the_domain_agree_with_other_counts() -> None:
    """Was: as wages above the last bin are possible, no total but that of everybody was shared."""
    statistics = {
        "wages": WAGES | {"bins": {"from": 0, "to": 10_000, "width": 4}},
        "finer": WAGES | {"bins": {"from": 0, "to": 10_000, "width": 2}},
        "middle": {"kind": "count", "where": {"wage": {"from": 1000, "below": 3000}}},
    }
    chosen = plan(read_specification(document(statistics=statistics)), report_losses=False)
    made = make_release(chosen, open_records(TABLE), Noise.seeded(1))
    coarse, fine = (made.tables[name].values for name in ("wages", "finer"))
    assert coarse[250:750].sum() == made["middle"].value
    assert fine.reshape(-1, 2).sum(axis=1).tolist() == coarse.tolist()
