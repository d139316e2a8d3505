"""Look: what the page shows is what protect() with a seed does to the declared sample."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from studio_client import finished, made_project, visiting

from coterie import protect
from coterie._version import __version__
from coterie.errors import CoterieError
from coterie.evaluation.evaluation import evaluate
from coterie.evaluation.pair import bring_together
from coterie.evaluation.two_way import associations
from coterie.methods import all_methods
from coterie.publication.staging import stage
from coterie.report.figures import shared_edges
from coterie.schema.attributes import Attribute, AttributeType, Categories, Domain, Role, Schema
from coterie.studio.auth import StudioHome
from coterie.studio.jobs import key_of
from coterie.studio.preview_findings import CELLS, crossed, moved_word, relation_word
from coterie.studio.preview_findings import looked as looked_at
from coterie.studio.project import Choice, Origin, Project
from coterie.studio.sampling import SEED, drawn_sample, sample_rows
from coterie.studio.work import previews
from coterie.table.demo_population import demo_population, demo_schema
from shown_lines import run_lines

MIXED = Schema(
    attributes=(
        Attribute(
            name="age", type=AttributeType.INTEGER, role=Role.PROTECT, domain=Domain(lower=0, upper=120)
        ),
        Attribute(
            name="town",
            type=AttributeType.CATEGORICAL,
            role=Role.PROTECT,
            categories=Categories(labels=tuple(f"town {place}" for place in range(20))),
        ),
        Attribute(
            name="grade",
            type=AttributeType.ORDINAL,
            role=Role.PROTECT,
            categories=Categories(labels=("low", "middle", "high")),
        ),
        Attribute(
            name="since", type=AttributeType.DATE, role=Role.PROTECT, domain=Domain(lower=0, upper=20000)
        ),
        Attribute(
            name="seen", type=AttributeType.TIMESTAMP, role=Role.PROTECT, domain=Domain(lower=0, upper=2**31)
        ),
    )
)


def mixed(rows: int = 300) -> pa.Table:
    draw = np.random.default_rng(1)
    return pa.table(
        {
            "age": draw.integers(18, 90, rows),
            "town": [f"town {code}" for code in draw.integers(0, 20, rows) // 2],
            "grade": np.array(["low", "middle", "high"])[draw.integers(0, 3, rows)],
            "since": pa.array(draw.integers(0, 20000, rows).astype(np.int32)).cast(pa.date32()),
            "seen": pa.array(draw.integers(0, 2**31, rows)).cast(pa.timestamp("s")),
        }
    )


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[httpx.Client, StudioHome]]:
    with visiting(tmp_path_factory.mktemp("look") / "home") as found:
        yield found


def quiet(share: float | None, words: str) -> None:
    assert share is None or 0 <= share <= 1


def choice_of(method: str, k: int = 10) -> Choice:
    recipe = all_methods()[method]
    own_k = None if recipe.fixed_k or recipe.public_k else k
    return Choice(method=method, epsilon="1" if recipe.adds_noise else "", k=own_k, shuffle=True)


@pytest.mark.parametrize("method", all_methods())
def test_the_result_is_that_of_protect_on_the_sample(tmp_path: Path, method: str) -> None:
    project, choice = made_project(StudioHome(tmp_path)), choice_of(method)
    found = previews.look(project, {"choice": choice.model_dump(), "rows": 400, "synthetic": False}, quiet)
    sample = sample_rows(demo_population(), 400, SEED)
    release = protect(
        sample, demo_schema(), method=method, epsilon=choice.epsilon or None, k=choice.k, seed=SEED
    )
    synthetic = all_methods()[method].synthetic
    told = evaluate(sample, release.table, demo_schema(), shuffled=synthetic)
    for measure in found["measures"]:
        assert measure["value"] == told.measures[measure["name"]].value
        assert measure["reason"] == told.measures[measure["name"]].reason
    pair = bring_together(sample, release.table, demo_schema(), shuffled=synthetic)
    assert found["attributes"] == [
        previews._counted(column, pair.released[name], {}) for name, column in pair.original.items()
    ]
    for attribute in found["attributes"]:
        assert sum(attribute["before"]) == sum(attribute["after"]) == 400
    before, after = associations(pair, list(pair.original))
    assert found["relations"]["before"] == before.tolist()
    changes = [abs(b - a) for *_, b, a in found["relations"]["pairs"]]
    assert changes == sorted(changes, reverse=True), "the pair that changed most comes first"
    assert changes[0] == np.abs(after - before).max()
    assert found["words"]


def test_every_type_of_attribute_is_counted(tmp_path: Path) -> None:
    project = made_project(StudioHome(tmp_path), mixed(), MIXED)
    parameters = {"choice": choice_of("dp-synthetic").model_dump(), "rows": 300, "synthetic": False}
    found = {one["name"]: one for one in previews.look(project, parameters, quiet)["attributes"]}
    assert {name: one["kind"] for name, one in found.items()} == {
        "age": "bins", "town": "labels", "grade": "labels", "since": "bins", "seen": "bins",
    }  # fmt: skip
    assert found["grade"]["labels"] == ["low", "middle", "high"]
    assert found["town"]["labels"][-1] == "8 other labels"
    assert found["since"]["dates"]
    assert found["seen"]["edges"][-1] < 30_000, "timestamps are counted in days"
    for one in found.values():
        assert sum(one["before"]) == sum(one["after"]) == 300


finite = st.floats(-1e12, 1e12)


@given(st.lists(finite, min_size=2, max_size=50), st.lists(finite, min_size=2, max_size=50), st.booleans())
def test_bins_are_equal_and_few_and_hold_the_middle(
    before: list[float], after: list[float], whole: bool
) -> None:
    one, other = np.array(before), np.array(after)
    if whole:
        one, other = np.rint(one), np.rint(other)
    edges = np.array(shared_edges([one, other], whole=whole))
    steps = np.diff(edges)
    assert 1 <= len(steps) <= 32
    assert np.allclose(steps, steps[0], rtol=1e-6)
    low, high = np.quantile(np.concatenate([one, other]), [0.3, 0.7])
    room = 1e-6 * max(abs(edges[0]), abs(edges[-1]), 1e-9)
    assert edges[0] - room <= np.median(one) <= edges[-1] + room
    assert low <= high


def test_a_sample_is_the_same_every_time_and_of_the_table() -> None:
    table = demo_population(1000)
    pieces = pa.concat_tables([table.slice(start, 64) for start in range(0, 1000, 64)])
    sample = sample_rows(pieces, 100)
    assert sample.num_rows == 100
    assert sample.equals(sample_rows(table, 100))
    rows = {tuple(row.values()) for row in table.to_pylist()}
    assert all(tuple(row.values()) in rows for row in sample.to_pylist())
    assert len({row["person"] for row in sample.to_pylist()}) == 100
    assert sample_rows(table, 1000) is table
    assert not sample_rows(table, 100, seed=1).equals(sample)


def test_invented_rows_know_nothing_of_the_table(tmp_path: Path) -> None:
    home = StudioHome(tmp_path)
    one, other = made_project(home), made_project(home, demo_population(5000, seed=9))
    first, second = (drawn_sample(project, 500, synthetic=True)[0] for project in (one, other))
    assert first.equals(second)
    assert "person" not in first.column_names


def test_a_comparison_gives_every_cell_and_a_map(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(previews, "SECONDS", 30)  # a limit: they end sooner
    project = made_project(StudioHome(tmp_path))
    methods = ["dp-synthetic", "laplace", "idp-cbls"]  # by promise, and by error within
    asked = {"methods": methods, "epsilons": ["0.1", "1"], "ks": [2, 10], "rows": 300, "synthetic": False}
    found = previews.compare(project, asked, quiet)
    assert [(one["method"], one["epsilon"]) for one in found["best"]] == [
        (method, epsilon) for epsilon in ("0.1", "1") for method in methods
    ]
    assert [line.startswith("idp-cbls, k = 2: ") for line in found["skipped"]] == [True]
    assert len(found["attacked"]) == 3
    assert "dp-synthetic" in found["map"]
    assert "300 records" in found["headline"]
    assert found["errors"]
    for one in found["errors"]:
        assert [method for method in methods if method not in one] == [], "one measure for rows of both kinds"


def test_the_page_from_the_first_look_to_a_stale_one(studio: tuple[httpx.Client, StudioHome]) -> None:
    client, home = studio
    project = made_project(home, choice=Choice(method="idp-cbls", epsilon="1", k=10))
    assert 'class="job"' in client.get(f"/p/{project.id}/look").text, "the first look begins by itself"
    assert finished(client, project, "look")["state"] == "done"
    text = client.get(f"/p/{project.id}/look").text
    assert "seeded noise on all 5,000 rows; not for publication" in text
    assert text.count('role="img"') == 8 + 3
    assert "Made with other settings" not in text
    moved = [float(share) for share in re.findall(r"(?:close|rough|lost), ([\d.]+) % moved", text)]
    assert len(moved) == 8
    assert moved == sorted(moved, reverse=True), "worst first"
    answer = looked(client, project, rows="1000")
    assert answer.status_code == 200
    finished(client, project, "look")
    text = client.get(f"/p/{project.id}/look").text
    assert "a sample of 1,000 of 5,000 rows" in text
    changed = Choice(method="laplace", epsilon="2")
    Project(project.folder).change(choice=changed)
    text = client.get(f"/p/{project.id}/look").text
    assert "Made with other settings" in text
    assert "idp-cbls, ε = 1, k = 10" in text
    assert "Look again with the settings of now" in text


def test_every_figure_can_be_taken_along(studio: tuple[httpx.Client, StudioHome]) -> None:
    client, home = studio
    project = made_project(home, demo_population(200), choice=Choice(method="laplace", epsilon="1"))
    assert client.get(f"/p/{project.id}/look/figures/column-1.csv").status_code == 404, (
        "nothing was drawn yet"
    )
    client.get(f"/p/{project.id}/look")
    finished(client, project, "look")
    page = client.get(f"/p/{project.id}/look").text
    links = re.findall(r'href="(/p/\w+/look/figures/[\w-]+\.(?:csv|png))"', page)
    assert len(links) == 2 * (8 + 3)
    for link in (links[0], links[-2]):
        rows = client.get(link).text.splitlines()
        assert len(rows) > 5
    png = client.get(links[1])
    assert png.content[:4] == b"\x89PNG"
    assert "attachment" in png.headers["content-disposition"]


def test_a_release_without_the_table_s_relations_says_which_went(tmp_path: Path) -> None:
    project, choice = made_project(StudioHome(tmp_path)), choice_of("laplace")
    found = previews.look(project, {"choice": choice.model_dump(), "rows": 2000, "synthetic": False}, quiet)
    said = looked_at(found, demo_schema())
    assert {one["word"] for one in said["columns"]} == {"lost"}
    assert said["worst"][0]["names"] == ("income", "tax")
    assert said["worst"][0]["word"] == "lost"
    assert len(said["strong"]) > said["strong_kept"] == 0


def test_the_words_have_the_thresholds_that_the_page_states() -> None:
    assert [moved_word(share) for share in (0.03, 0.031, 0.1, 0.101)] == ["close", "rough", "rough", "lost"]
    changes = (-0.099, -0.1, -0.25, -0.26, 0.1)
    assert [relation_word(one) for one in changes] == ["kept", "weakened", "weakened", "lost", "stronger"]


def looked(client: httpx.Client, project: Project, **fields: str) -> httpx.Response:
    return client.post(f"/p/{project.id}/look", data={"rows": "500", **fields})


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"rows": "many"}, "size of the sample is not a whole number"),
        ({"rows": "5"}, "larger than the sample of 5 rows"),
    ],
)
def test_bad_input_gets_a_sentence(
    studio: tuple[httpx.Client, StudioHome], fields: dict[str, str], words: str
) -> None:
    client, home = studio
    choice = Choice(method="idp-cbls", epsilon="1", k=10)
    project = made_project(home, choice=choice)
    answer = looked(client, project, **fields)
    assert answer.status_code == 400
    assert words in unescape(re.findall(r'class="problem" role="alert">(.*?)</div>', answer.text, re.S)[0])
    assert Project(project.folder).state.choice == choice


def test_a_comparison_is_started_shown_and_used(studio: tuple[httpx.Client, StudioHome]) -> None:
    client, home = studio
    project = made_project(home, demo_population(300), choice=Choice(method="laplace", epsilon="1"))
    page = client.get(f"/p/{project.id}/look").text
    ticked = re.findall(r'name="methods" id="compare-([a-z-]+)" value="[a-z-]+" checked', page)
    assert "laplace" in ticked
    assert len(ticked) == 4
    asked = {
        "methods": ["laplace", "dp-sorted"],
        "epsilons": "1",
        "ks": "10, 20",
        "rows": "200",
        "on": "invented",
    }
    slips: list[tuple[dict[str, Any], str]] = [
        ({"ks": "10, a"}, "whole number"),
        ({"epsilons": ""}, "No ε"),
        ({"methods": []}, "No method"),
        ({"ks": "250"}, "larger than the sample"),
    ]
    for wrong, words in slips:
        answer = client.post(f"/p/{project.id}/compare", data={**asked, **wrong})
        assert answer.status_code == 400
        assert words in answer.text
        assert f'name="ks" value="{wrong.get("ks", "10, 20")}"' in answer.text, "what was typed is kept"
    client.post(f"/p/{project.id}/compare", data=asked)
    assert finished(client, project, "compare")["state"] == "done"
    text = unescape(client.get(f"/p/{project.id}/look").text)
    assert "200 invented rows, drawn from the public bounds alone" in text
    assert "--tune-on synthetic" in text
    assert "Made with another table or description" not in text
    version = str(Project(project.folder).state.version)
    use = {"version": version, "method": "dp-sorted", "epsilon": "1", "k": "20"}
    assert client.post(f"/p/{project.id}/compare/use", data=use).url.path == f"/p/{project.id}/look"
    assert Project(project.folder).state.choice == Choice(method="dp-sorted", epsilon="1", k=20)
    client.post(f"/p/{project.id}/jobs/look/cancel")
    Project(project.folder).change(schema=demo_schema().to_yaml().replace("400000", "500000"))
    assert "Made with another table or description" in client.get(f"/p/{project.id}/look").text


def test_cancelling_is_immediate_and_a_new_look_works(studio: tuple[httpx.Client, StudioHome]) -> None:
    client, home = studio
    many = demo_population(
        200_000
    )  # minutes of work, so that a busy machine is not done before it is told to stop
    project = made_project(home, many, choice=Choice(method="mdav", epsilon="", k=3))
    client.get(f"/p/{project.id}/look")
    assert looked(client, project, rows="200000").status_code == 200
    answer = client.post(f"/p/{project.id}/jobs/look/cancel")
    assert answer.url.path == f"/p/{project.id}/look"
    assert "Cancelled" in answer.text
    looked(client, project, rows="100")
    assert finished(client, project, "look")["state"] == "done"


def test_another_look_does_not_wait_for_a_comparison(studio: tuple[httpx.Client, StudioHome]) -> None:
    client, home = studio
    project = made_project(home, demo_population(300), choice=Choice(method="laplace", epsilon="1"))
    client.get(f"/p/{project.id}/look")
    finished(client, project, "look")
    asked = {"methods": ["laplace"], "epsilons": "1", "ks": "", "rows": "300"}
    client.post(f"/p/{project.id}/compare", data=asked)
    looked(client, project, rows="200")
    job = client.get(f"/p/{project.id}/jobs/compare").json()
    assert job["state"] in ("waiting", "running", "done")
    assert finished(client, project, "look")["state"] == "done"
    assert finished(client, project, "compare")["state"] == "done"


def test_a_failure_is_told_without_a_value(studio: tuple[httpx.Client, StudioHome]) -> None:
    client, home = studio
    narrow = demo_schema().to_yaml().replace("upper: 100.0", "upper: 17.0")
    project = made_project(home, choice=Choice(method="laplace", epsilon="1"))
    project.change(schema=narrow)
    client.get(f"/p/{project.id}/look")
    job = finished(client, project, "look")
    assert job["state"] == "failed"
    assert "outside its declared domain" in job["problem"]
    assert "outside its declared domain" in client.get(f"/p/{project.id}/look").text


def test_the_lines_do_what_the_page_does(studio: tuple[httpx.Client, StudioHome], tmp_path: Path) -> None:
    client, home = studio
    people = tmp_path / "people.csv"
    table = demo_population(300)
    stage(table, people, force=True).publish()
    project = made_project(home, table, choice=Choice(method="idp-cbls", epsilon="1", k=10))
    project.change(origin=Origin(kind="file", shown=str(people)))
    client.get(f"/p/{project.id}/look")
    finished(client, project, "look")
    text = client.get(f"/p/{project.id}/look").text
    command, python, compared, in_python = (
        unescape(one) for one in re.findall(r"<code>(.*?)</code></pre>", text, re.S)
    )
    assert "--k 5,10,20,50,100 " in compared
    assert "k=[5, 10, 20, 50, 100]" in in_python
    fewer = compared.replace("--k 5,10,20,50,100", "--k 10") + " --no-risk"
    run_lines(tmp_path, ("Command", command), ("Compare", fewer))
    assert (tmp_path / "comparison" / "report.html").exists()
    assert "idp-cbls" in run_lines(
        tmp_path, ("Python", in_python.replace("k=[5, 10, 20, 50, 100]", "k=[10]"))
    )
    shown = dict(line.split() for line in run_lines(tmp_path, ("Python", python)).splitlines())
    found = previews.look(Project(project.folder), _parameters(project, 300), quiet)
    for measure in found["measures"]:
        assert shown[measure["name"]] == str(measure["value"])


def _parameters(project: Project, rows: int) -> dict[str, Any]:
    choice = Project(project.folder).state.choice
    assert choice is not None
    return {"choice": choice.model_dump(), "rows": rows, "synthetic": False}


def test_the_step_waits_for_a_choice(studio: tuple[httpx.Client, StudioHome]) -> None:
    client, home = studio
    project = made_project(home)
    assert "Choose a release first." in client.get(f"/p/{project.id}/look").text
    assert "Choose a release first." in client.post(f"/p/{project.id}/look", data={}).text


def test_a_k_that_no_sample_has_fails_with_advice(tmp_path: Path) -> None:
    project = made_project(StudioHome(tmp_path))
    parameters = {"choice": choice_of("dp-ir", 500).model_dump(), "rows": 400, "synthetic": False}
    with pytest.raises(CoterieError, match="larger than the number of records"):
        previews.look(project, parameters, quiet)


@pytest.mark.parametrize("names", [("town",), ("age",), ("age", "town", "grade", "since", "seen")])
def test_any_kind_of_table_is_compared_and_drawn(
    studio: tuple[httpx.Client, StudioHome], monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...]
) -> None:
    monkeypatch.setattr(previews, "SECONDS", 0.3)
    client, home = studio
    schema = Schema(attributes=tuple(MIXED[name] for name in names))
    project = made_project(
        home, mixed(120).select(list(names)), schema, Choice(method="laplace", epsilon="1")
    )
    asked = {
        "methods": ["laplace", "dp-synthetic", "dp-ir"],
        "epsilons": ["1"],
        "ks": [5],
        "rows": 120,
        "synthetic": True,
    }
    for kind, parameters, work in (
        ("look", _parameters(project, 120), previews.look),
        ("compare", asked, previews.compare),
    ):
        made = {
            "coterie": __version__,
            "key": key_of(project, kind, parameters),
            "parameters": parameters,
            "found": work(project, parameters, quiet),
        }
        (project.folder / f"{kind}.json").write_text(json.dumps(made, allow_nan=False))
    text = client.get(f"/p/{project.id}/look").text
    assert "Made with" not in text
    assert text.count("<svg") >= len(names) + 2
    assert "changes the data least" in text


@pytest.mark.slow
def test_a_million_rows_do_not_freeze_the_page(
    studio: tuple[httpx.Client, StudioHome], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the sample is read; pages answer while the work goes on."""
    client, home = studio
    draw = np.random.default_rng(0)
    table = pa.table({f"x{place}": draw.random(1_000_000) for place in range(20)})
    bounds = Domain(lower=0, upper=1)
    schema = Schema(
        attributes=tuple(
            Attribute(name=name, type=AttributeType.CONTINUOUS, role=Role.PROTECT, domain=bounds)
            for name in table.column_names
        )
    )
    project = made_project(home, table, schema, Choice(method="idp-cbls", epsilon="1", k=10))
    # A page that reads the table waits for it: only the worker, another process, may.
    monkeypatch.setattr(Project, "table", property(lambda _: pytest.fail("a page read the whole table")))
    for address in ("choose", "look", "look", "choose"):
        assert client.get(f"/p/{project.id}/{address}").status_code == 200
    assert finished(client, project, "look")["state"] == "done"
    assert "a sample of 5,000 of 1,000,000 rows" in client.get(f"/p/{project.id}/look").text


def test_the_table_of_any_columns_before_and_after(tmp_path: Path) -> None:
    schema = Schema(attributes=tuple(MIXED[name] for name in ("age", "town", "grade")))
    table = mixed(200).select(["age", "town", "grade"])
    project = made_project(StudioHome(tmp_path), table, schema, Choice(method="laplace", epsilon="1000"))
    found = previews.look(project, _parameters(project, 200), quiet)
    [one] = crossed(project.folder, found["tables"], ["grade", "town"], weighted=False)
    counted = table.to_pandas().value_counts(["grade", "town"], normalize=True)
    for row, cells in one.lines:
        for column, (before, _, _) in zip(one.columns, cells, strict=True):
            if column.startswith("town"):
                ranks = {"up to low": "low"}  # cut at ranks of the original
                if row in ranks:
                    assert before == pytest.approx(counted.get((ranks[row], column), 0))
    total = sum(before for _, cells in one.lines for before, _, _ in cells)
    assert total == pytest.approx(1)
    each = crossed(project.folder, found["tables"], ["age", "town", "grade"], weighted=False)
    assert sum(after for t in each for _, cells in t.lines for _, after, _ in cells) == pytest.approx(1)
    assert crossed(project.folder, found["tables"], ["age", "age"], weighted=False) == []
    assert crossed(project.folder, found["tables"], ["age", "nowhere"], weighted=False) == []
    assert (project.folder / CELLS).stat().st_mode & 0o077 == 0, "cells of people are for their steward only"
