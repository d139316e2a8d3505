"""SQL becomes a specification: figures equal to those of a database, and a sentence for everything that cannot."""

from __future__ import annotations

import json
import re
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from coterie.cli.stats import app
from coterie.errors import CoterieError
from coterie.statistics import Specification, from_sql, plan, read_specification
from coterie.statistics.releasing.measuring import Noise
from coterie.statistics.releasing.records import open_records
from coterie.statistics.releasing.releasing import make_release


def labels(*values: str) -> dict[str, Any]:
    return {"role": "keep", "type": "categorical", "categories": {"labels": list(values)}}


SCHEMA: dict[str, Any] = {
    "coterie_schema": 1,
    "attributes": {
        "region": labels("north", "south", "west"),
        "sex": labels("f", "m"),
        "job": {"role": "keep"},
        "kids": {"role": "keep", "type": "integer", "domain": {"lower": 0, "upper": 3}},
        "age": {"role": "protect", "type": "integer", "domain": {"lower": 0, "upper": 120}},
        "wage": {"role": "protect", "domain": {"lower": 0, "upper": 100}},
        "rent": {"role": "protect", "decimals": 2, "domain": {"lower": 0, "upper": 100}},
        "active": {"role": "keep", "type": "boolean"},
    },
}


def people(records: int = 400) -> dict[str, list[Any]]:
    draw = np.random.Generator(np.random.PCG64(4))
    wage = draw.uniform(0, 100, records).round(1)
    return {
        "region": draw.choice(["north", "south", "west"], records).tolist(),
        "sex": draw.choice(["f", "m"], records).tolist(),
        "job": draw.choice(["a", "b"], records).tolist(),
        "kids": draw.integers(0, 4, records).tolist(),
        "age": draw.integers(18, 90, records).tolist(),
        "wage": wage.tolist(),
        "rent": (wage / 3 + draw.uniform(0, 30, records)).round(2).tolist(),
        "active": draw.choice([True, False], records).tolist(),
    }


def read(query: str, **options: Any) -> Specification:
    return from_sql(query, SCHEMA, **options)


def entries(query: str, **options: Any) -> dict[str, Any]:
    document = read(query, **options).document
    return {**document["statistics"], **document.get("equations", {})}


# --- the same figures as a database ---------------------------------------------------------------------------------

# Alias → figure. SQLite runs the query, the release has a budget without noise.
QUERIES = [
    "SELECT COUNT(*) AS a, SUM(wage) AS b, AVG(wage) AS c FROM people",
    "SELECT COUNT(*) AS a, AVG(age) AS b FROM people WHERE age BETWEEN 30 AND 50 AND sex = 'f' AND NOT region = 'west'",
    "SELECT COUNT(*) AS a FROM people WHERE rent <= 20.5 AND rent > 3.25 AND kids IN (1, 2) AND 60 > age",
    "SELECT COUNT(*) AS a FROM people WHERE (region = 'north' OR region = 'west') AND region <> 'west' AND sex IS NOT NULL",
    "SELECT SUM(CASE WHEN sex = 'f' AND age < 40 THEN 1 ELSE 0 END) AS a FROM people WHERE age >= 20",
    "SELECT COUNT(CASE sex WHEN 'f' THEN 1 END) AS a FROM people WHERE age >= 20",
    "SELECT SUM(CASE WHEN sex = 'm' THEN wage ELSE 0 END) AS a, AVG(CASE WHEN sex = 'm' THEN wage END) AS b FROM people",
    "SELECT AVG(CASE WHEN kids = 0 THEN 1 ELSE 0 END) AS a, SUM(kids = 1) AS b FROM people",
    "SELECT COUNT(*) FILTER (WHERE active) AS a, SUM(wage) FILTER (WHERE NOT active AND age <= 60) AS b FROM people",
    "SELECT 100.0 * SUM(CASE WHEN sex = 'f' THEN 1 ELSE 0 END) / COUNT(*) AS a, SUM(wage) - 2 * SUM(rent) AS b, "
    "-(AVG(wage) - AVG(rent)) * 3 AS c, ROUND(SUM(wage * rent) / NULLIF(SUM(wage), 0), 9) AS d FROM people",
    "SELECT COUNT(DISTINCT region) AS a, COUNT(DISTINCT age) AS b, COUNT(region) AS c, COUNT(wage) AS d FROM people",
]


@pytest.mark.parametrize("query", QUERIES)
def test_figures_are_those_of_a_database(query: str) -> None:
    data = people()
    base = sqlite3.connect(":memory:")
    base.execute("CREATE TABLE people (region, sex, job, kids, age, wage, rent, active)")
    base.executemany(
        f"INSERT INTO people VALUES ({', '.join('?' * 8)})", list(zip(*data.values(), strict=True))
    )
    cursor = base.execute(query)
    truth = dict(zip((column[0] for column in cursor.description), cursor.fetchone(), strict=True))
    assert released(read(query, epsilon="1e9")) == pytest.approx(truth, rel=1e-5)


def test_groups_and_totals_are_those_of_a_database() -> None:
    data = people()
    base = sqlite3.connect(":memory:")
    base.execute("CREATE TABLE people (region, sex, job, kids, age, wage, rent, active)")
    base.executemany(
        f"INSERT INTO people VALUES ({', '.join('?' * 8)})", list(zip(*data.values(), strict=True))
    )
    select = "SELECT region, sex, COUNT(*) AS n, AVG(wage) / AVG(rent) AS times FROM people WHERE age < 70"
    found = released(read(f"{select} GROUP BY CUBE (region, sex)", epsilon="1e9"))
    truth = {}
    for columns in (("region", "sex"), ("region",), ("sex",), ()):
        by = f" GROUP BY {', '.join(columns)}" if columns else ""
        for region, sex, n, times in base.execute(select + by):
            label = f"{region if 'region' in columns else 'all'}, {sex if 'sex' in columns else 'all'}"
            truth |= {f"n[{label}]": n, f"times[{label}]": times}
    assert {name: value for name, value in found.items() if name in truth} == pytest.approx(truth, rel=1e-4)
    assert len(truth) == 2 * 3 * 4


def released(specification: Specification) -> dict[str, float]:
    """All figures that the query names, without noise."""
    exact = read_specification({**specification.document, "pilot": 0} | _expected(specification))
    made = make_release(
        plan(exact, "square-root", report_losses=False), open_records(pa.table(people())), Noise.seeded(1)
    )
    asked = {name: v.value for name in ("a", "b", "c", "d", "e") for v in made.values if v.name == name}
    return asked or {v.name: v.value for v in made.values}


def _expected(specification: Specification) -> dict[str, Any]:
    """Equations that are not linear need some value."""
    guesses = {"count": 100, "sum": 1000, "mean": 40, "proportion": 0.5, "count_distinct": 2}
    statistics = specification.document["statistics"]
    return {
        "statistics": {
            name: {**entry, "expected": guesses[entry["kind"]]} for name, entry in statistics.items()
        }
    }


# --- what it becomes ------------------------------------------------------------------------------------------------


def test_every_aggregate_has_its_kind() -> None:
    query = """SELECT VARIANCE(wage) v, STDDEV(wage) s, VAR_SAMP(age) v2, CORR(wage, age) r, COVAR_SAMP(wage, age) c,
        REGR_SLOPE(wage, age) b, REGR_INTERCEPT(wage, age) i, MEDIAN(wage) m,
        PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY wage) p, PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY wage DESC) q,
        QUANTILE(wage, 0.25) k, SUM(wage * wage) w, APPROX_COUNT_DISTINCT(sex) d, COUNTIF(sex = 'f') f FROM people"""
    found = entries(query)
    both = ["wage", "age"]
    assert found == {
        "v": {"kind": "variance", "of": "wage"},
        "s": {"kind": "std", "of": "wage"},
        "v2": {"kind": "variance", "of": "age"},
        "r": {"kind": "correlation", "of": both},
        "c": {"kind": "covariance", "of": both},
        "b": {"kind": "slope", "of": both},
        "i": {"kind": "intercept", "of": both},
        "m": {"kind": "median", "of": "wage"},
        "p": {"kind": "quantile", "of": "wage", "quantile": 0.9},
        "q": {"kind": "quantile", "of": "wage", "quantile": 0.1},
        "k": {"kind": "quantile", "of": "wage", "quantile": 0.25},
        "w": {"kind": "sum", "of": ["wage", "wage"]},
        "d": {"kind": "count_distinct", "of": "sex"},
        "f": {"kind": "count", "where": {"sex": "f"}},
    }


@pytest.mark.parametrize(
    ("groups", "by", "totals"),
    [
        ("region, sex", ["region", "sex"], None),
        ("1, 2", ["region", "sex"], None),
        ("ROLLUP (region, sex)", ["region", "sex"], [["region"], []]),
        ("region, sex WITH ROLLUP", ["region", "sex"], [["region"], []]),
        ("CUBE (region, sex)", ["region", "sex"], [["region"], ["sex"], []]),
        ("GROUPING SETS ((region, sex), (sex), ())", ["region", "sex"], [["sex"], []]),
        ("sex, ROLLUP (region)", ["sex", "region"], [["sex"]]),
    ],
)
def test_group_by(groups: str, by: list[str], totals: list[list[str]] | None) -> None:
    (entry,) = entries(f"SELECT region, sex, COUNT(*) AS n FROM people GROUP BY {groups}").values()
    assert list(entry["by"]) == by
    assert entry.get("totals") == totals


def test_grouping_sets_without_a_finest_one_become_tables_of_their_own() -> None:
    found = entries(
        "SELECT region, sex, COUNT(*) AS n FROM people GROUP BY GROUPING SETS ((region), (sex), ())"
    )
    assert found == {
        "n_by_region": {"kind": "count", "by": {"region": "declared"}},
        "n_by_sex": {"kind": "count", "by": {"sex": "declared"}},
        "n_all": {"kind": "count"},
    }


def test_groups_are_public_values_only() -> None:
    kept = entries("SELECT kids, COUNT(*) AS n FROM people WHERE kids <= 1 GROUP BY kids")["n"]["by"]
    assert kept == {"kids": [0, 1]}  # was: a group of 3 children "has an empty filter"
    assert entries("SELECT kids, COUNT(*) FROM people GROUP BY kids")["n"]["by"] == {"kids": [0, 1, 2, 3]}
    private = read(
        "SELECT job, COUNT(*) AS jobs FROM t GROUP BY job", private_keys=True, delta="1e-6", records=1000
    )
    assert private.document["statistics"] == {"jobs": {"kind": "count", "by": {"job": "private"}}}


def test_a_schema_with_a_unit_has_the_neighbours_of_the_unit() -> None:
    attributes = {**SCHEMA["attributes"], "home": {"role": "identifier"}}
    schema = {**SCHEMA, "attributes": attributes, "unit": {"column": "home", "at_most": 3}}
    made = from_sql("SELECT sex, COUNT(*) FROM people GROUP BY sex", schema)
    assert made.document["neighbours"] == "exchange"
    assert read("SELECT COUNT(*) FROM people").document["neighbours"] == "add-remove"


def test_several_queries_share_what_they_have_in_common() -> None:
    found = entries(
        "SELECT region, COUNT(*) AS n FROM people GROUP BY region; -- and\n"
        'SELECT Region AS r, SUM(wage) / COUNT(*) AS "Per head" FROM people AS p GROUP BY r; '
        "SELECT AVG(p.Wage), AVG(rent) AS n FROM people p;"
    )
    groups = [f"Per_head[{region}]" for region in ("north", "south", "west")]
    assert list(found) == ["n", "sum_wage", "mean_wage", "n_2", *groups]
    assert found["Per_head[west]"] == "sum_wage['west'] / n['west']"


def test_what_is_read_otherwise_is_said_once() -> None:
    notes: list[str] = []
    query = "SELECT region, ROUND(VAR_POP(wage), 2), ROUND(AVG(wage) / AVG(rent), 1) AS r, GROUPING(region) FROM people "
    made = read(query + "GROUP BY ROLLUP (region) ORDER BY 2 DESC", note=notes.append)
    told = " | ".join(notes)
    for words in (
        "ORDER BY plays no part",
        "ROUND is left out",
        "sample variance",
        "GROUPING",
        "pilot: 0.1` pays",
    ):
        assert told.count(words) == 1, told
    assert made.document["pilot"] == 0.1
    plan(made, report_losses=False)


# --- what is refused ------------------------------------------------------------------------------------------------

REFUSED = {
    "SELECT * FROM people": "asks for records",
    "SELECT age FROM people": "asks for records.*GROUP BY",
    "SELECT region, AVG(wage) FROM people": "Put it under GROUP BY",
    "SELECT region, AVG(wage) + age AS x FROM people GROUP BY region": "`age`.*is no group",
    "SELECT COUNT(*) FROM a JOIN b ON a.x = b.x": "JOIN.*Join the tables first",
    "SELECT COUNT(*) FROM a, b": "JOIN.*Join the tables first",
    "SELECT COUNT(*) FROM (SELECT * FROM people) AS x": "one table.*inner query",
    "WITH x AS (SELECT 1) SELECT COUNT(*) FROM x": "WITH.*one SELECT over the table",
    "SELECT AVG(wage) OVER (PARTITION BY sex) FROM people": "OVER.*compute the rest",
    "SELECT COUNT(*) FROM people WHERE age > (SELECT AVG(age) FROM people)": "compute the rest",
    "SELECT COUNT(*) FROM people WHERE EXISTS (SELECT 1)": "compute the rest",
    "SELECT sex, COUNT(*) FROM people GROUP BY sex HAVING COUNT(*) > 3": "HAVING.*choose among the released",
    "SELECT sex, COUNT(*) FROM people GROUP BY sex LIMIT 3": "LIMIT.*choose among the released",
    "SELECT DISTINCT region FROM people": "DISTINCT.*GROUP BY",
    "SELECT COUNT(*) FROM people UNION SELECT COUNT(*) FROM people": "UNION is not a SELECT.*separated by ;",
    "DELETE FROM people": "DELETE is not a SELECT",
    "SELECT COUNT(*) INTO x FROM people": "INTO",
    "SELECT COUNT(*) FROM people TABLESAMPLE (10)": "one table",
    "SELECT COUNT(* FROM people": "cannot be read near 'FROM' in line 1.*dialect",
    "": "no query",
    "SELECT 1": "one table",
    "SELECT 2 * 3 AS x FROM people": "uses no aggregate",
    "SELECT region FROM people GROUP BY region": "asks for no figure",
    "SELECT MIN(wage) FROM people": "single records.*quantile",
    "SELECT STRING_AGG(job, ',') FROM people": "Known are COUNT",
    "SELECT foo(wage) FROM people": "Known are COUNT",
    "SELECT AVG(DISTINCT wage) FROM people": "DISTINCT goes with COUNT alone",
    "SELECT COUNT(DISTINCT sex, region) FROM people": "one column",
    "SELECT AVG(wage * 2) FROM people": "Use a column of the table",
    "SELECT AVG(wages) FROM people": "no column 'wages'.*Did you mean 'wage'",
    "SELECT AVG(region) FROM people": "needs numbers",
    "SELECT COUNT(job) FROM people": "which records have a value in 'job'",
    "SELECT COUNT(CASE WHEN sex = 'f' THEN 1 ELSE 0 END) FROM people": "ELSE 0 too",
    "SELECT SUM(CASE WHEN sex = 'f' THEN 1 WHEN sex = 'm' THEN 2 END) FROM people": "one WHEN",
    "SELECT AVG(CASE WHEN sex = 'f' THEN wage ELSE 0 END) FROM people": "without ELSE",
    "SELECT job, COUNT(*) FROM people GROUP BY job": "'job' are not public.*labels.*--private-keys",
    "SELECT wage, COUNT(*) FROM people GROUP BY wage": "'wage' are not public",
    "SELECT COUNT(*) FROM people GROUP BY FLOOR(age / 10)": "Group by columns.*histogram",
    "SELECT FLOOR(age / 10) AS decade, COUNT(*) FROM people GROUP BY decade": "Group by columns.*histogram",
    "SELECT COUNT(*) FROM people GROUP BY ALL": "Name the columns",
    "SELECT COUNT(*) FROM people WHERE sex LIKE 'f%'": "list the values with IN",
    "SELECT COUNT(*) FROM people WHERE sex = 'f' OR age < 3": "OR can list values of one column",
    "SELECT COUNT(*) FROM people WHERE sex > 'a'": "by the alphabet: list those of .sex. with IN",
    "SELECT COUNT(*) FROM people WHERE age = NULL": "Nothing equals NULL",
    "SELECT COUNT(*) FROM people WHERE age IS NULL": "not counted apart",
    "SELECT COUNT(*) FROM people WHERE sex = \"f\"": "single quotes: 'f'",
    "SELECT COUNT(*) FROM people WHERE NOT (age BETWEEN 3 AND 5)": "without NOT",
    "SELECT COUNT(*) FROM people WHERE job <> 'a'": "no labels for 'job'",
    "SELECT COUNT(*) FROM people WHERE age > 30 AND age < 20": "No record can satisfy it",
    "SELECT COUNT(*) FROM people WHERE region = 'nort'": "Did you mean 'north'",
    "SELECT COUNT(*) FROM people WHERE age > 200": "outside its declared domain",
    "missing.sql": "cannot be read",
}  # fmt: skip


@pytest.mark.parametrize("query", REFUSED)
def test_everything_else_is_refused_with_a_sentence(query: str) -> None:
    with pytest.raises(CoterieError) as caught:
        read(query)
    assert re.search(REFUSED[query], str(caught.value)), str(caught.value)
    assert caught.value.advice


def test_options_are_checked() -> None:
    query = "SELECT COUNT(*) FROM people"
    with pytest.raises(CoterieError, match=r"no SQL dialect 'postgress'.*Did you mean 'postgres'"):
        read(query, dialect="postgress")
    with pytest.raises(CoterieError, match="below 1/records"):
        read(query, delta="1e-6")
    with pytest.raises(CoterieError, match="'job' are not public"):
        read("SELECT job, AVG(wage) FROM t GROUP BY job", private_keys=True, delta="1e-6", records=9)
    with pytest.raises(CoterieError, match="'job' are not public"):
        read("SELECT job, COUNT(*) / 2 AS h FROM t GROUP BY job", private_keys=True, delta="1e-6", records=9)


# --- the command ----------------------------------------------------------------------------------------------------


def test_the_command_writes_a_specification_that_can_be_planned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "schema.yaml").write_text(json.dumps(SCHEMA))
    (tmp_path / "questions.sql").write_text("SELECT sex, COUNT(*) AS n FROM people GROUP BY sex ORDER BY n;")
    (tmp_path / "made").mkdir()
    runner = CliRunner()
    arguments = ["sql", "questions.sql", "--schema", "schema.yaml", "--release", "r1", "--epsilon", "0.5"]
    printed = runner.invoke(app, arguments)
    assert printed.exit_code == 0
    assert printed.stdout.startswith("# ORDER BY plays no part")
    assert read_specification(printed.stdout).release == "r1"
    written = runner.invoke(app, [*arguments, "-o", "made/spec.yaml"])
    assert written.exit_code == 0
    assert read_specification("made/spec.yaml").document["schema"] == "../schema.yaml"
    assert runner.invoke(app, ["plan", "made/spec.yaml", "--no-compare"]).exit_code == 0
    told = json.loads(runner.invoke(app, [*arguments, "--json"]).stdout)
    assert told["specification"]["budget"] == {"epsilon": 0.5}
    assert len(told["notes"]) == 1
