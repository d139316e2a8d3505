"""Recommend: what the page says is what `coterie recommend` says, and a choice says where it came from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape

import httpx
import pytest
from studio_client import finished, made_project, visiting

import coterie
from coterie.comparison.recommendation import PURPOSES
from coterie.schema.attributes import Schema
from coterie.studio.auth import StudioHome
from coterie.studio.project import Choice, Project, Wish
from coterie.studio.promise import promised
from coterie.studio.same_in_code import protect_lines
from coterie.studio.vocabulary import ACCURACY, AUDIENCES, GOALS
from coterie.studio.work.recommending import DIAL
from coterie.table.demo_population import demo_population, demo_schema

World = tuple[httpx.Client, StudioHome]


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with visiting(tmp_path_factory.mktemp("recommend") / "home") as found:
        yield found


def narrow() -> Schema:
    """Two protected columns, so that trying the methods takes no time."""
    kept = ("person", "age", "income")
    return Schema(attributes=tuple(a for a in demo_schema().attributes if a.name in kept))


def project_of(home: StudioHome, schema: Schema | None = None) -> Project:
    table = demo_population(400).select(["person", "age", "income"])
    return made_project(home, table, schema or narrow())


def recommended(client: httpx.Client, project: Project) -> str:
    client.get(f"/p/{project.id}/recommend")  # begins by itself
    assert finished(client, project, "recommend")["state"] == "done"
    return unescape(client.get(f"/p/{project.id}/recommend").text)


def test_the_page_says_what_the_command_says(studio: World) -> None:
    client, home = studio
    project = project_of(home)
    page = recommended(client, project)
    shown = page.split('class="hero offer"')[1:]
    assert len(shown) == len(DIAL)
    visible = [part for part in shown if " hidden>" not in part[:200]]
    assert len(visible) == 1, "one release is recommended"
    found = coterie.recommend(None, narrow(), epsilon=1, records=400, pure=True, beside=DIAL)
    for strength, part in zip(found.strengths, shown, strict=True):
        assert f"Method {found.best.method}, ε = {strength.epsilon}" in part
        assert f"at most {strength.at_most_sure} sure" in part
        assert f"± {strength.shares:.1f} points" in part
        assert strength.words in part
        assert f"--method {found.best.method}" in part
    assert f"± {found.best.accuracy.cells:.1f} points" in page
    assert "coterie recommend" in page
    assert "Two other good choices" in page
    assert "status-refuted" not in page, "what is unsafe stays outside the path"


def test_no_more_is_recommended_than_the_audience_allows(studio: World) -> None:
    client, home = studio
    project = project_of(home)
    for audience, one in AUDIENCES.items():
        answer = client.post(
            f"/p/{project.id}/recommend",
            data={
                "version": Project(project.folder).state.version,
                "purpose": "relations",
                "audience": audience,
            },
        )
        assert answer.status_code == 200
        page = recommended(client, project)
        chosen = re.findall(r'name="dial" value="([\d.]+)" checked', page)
        assert len(chosen) == 1
        assert float(chosen[0]) <= float(one.most)
        assert one.words in page
    assert Project(project.folder).state.wish == Wish(audience="colleagues")


def test_a_stop_of_the_dial_becomes_the_choice(studio: World) -> None:
    client, home = studio
    project = project_of(home)
    page = recommended(client, project)
    assert "because of what I saw in my data" not in page, "nothing was looked at yet"
    form = {"version": project.state.version, "method": "dp-synthetic", "epsilon": "0.5", "k": ""}
    assert client.post(f"/p/{project.id}/recommend/take", data=form).url.path == f"/p/{project.id}/look"
    taken = Project(project.folder)
    assert taken.state.choice == Choice(method="dp-synthetic", epsilon="0.5")
    assert taken.schema().parameters is None
    finished(client, project, "look")
    assert "because of what I saw in my data" in recommended(client, project)
    client.post(
        f"/p/{project.id}/recommend/take",
        data={**form, "version": Project(project.folder).state.version, "epsilon": "1", "seen": "yes"},
    )
    parameters = Project(project.folder).schema().parameters
    assert parameters is not None
    assert parameters.leaks, "the certificate will say so"
    assert "once chosen by looking at your data" in recommended(client, project)
    client.post(f"/p/{project.id}/jobs/look/cancel")


def test_a_privacy_unit_asks_for_the_number_of_rows(studio: World) -> None:
    client, home = studio
    content = narrow().to_dict()
    project = project_of(home, Schema.load({**content, "unit": {"column": "person", "at_most": 2}}))
    page = client.get(f"/p/{project.id}/recommend").text
    assert "Say about how many rows there are" in page
    assert client.get(f"/p/{project.id}/jobs/recommend").json()["state"] == "none"
    data = {
        "version": project.state.version,
        "purpose": "relations",
        "audience": "everybody",
        "records": "400",
    }
    client.post(f"/p/{project.id}/recommend", data=data)
    page = recommended(client, project)
    assert "for each person" in page
    assert "what one person contributed" in page


def test_the_size_of_an_average_unit_finds_its_limit(studio: World) -> None:
    """As `coterie recommend --unit-size`: from what anybody knows, not from the table."""
    client, home = studio
    unit = Schema.load({**narrow().to_dict(), "unit": {"column": "person", "at_most": 30}})
    project = project_of(home, unit)
    form = {"purpose": "relations", "audience": "everybody", "records": "400", "unit_size": "2,5"}
    client.post(f"/p/{project.id}/recommend", data={**form, "version": str(project.state.version)})
    page = recommended(client, project)
    best = coterie.recommend(None, unit, records=400, unit_size=2.5, beside=DIAL).at_most
    assert f"Better: at most {best} row" in page
    assert "--unit-size 2.5" in page
    assert 'value="2.5"' in page
    version = str(Project(project.folder).state.version)
    sent = {
        "kind": "unit",
        "column": "person",
        "at_most": str(best),
        "above": "truncate",
        "recommended": "yes",
    }
    client.post(f"/p/{project.id}/describe/unit", data={**sent, "version": version})
    assert Project(project.folder).schema().unit.at_most == best  # type: ignore[union-attr]
    assert "Better: at most" not in recommended(client, project)


def test_a_description_from_the_data_is_told_before_anything_else(studio: World) -> None:
    client, home = studio
    content = narrow().to_dict()
    content["attributes"]["age"]["domain"]["source"] = "data"
    project = project_of(home, Schema.load(content))
    page = client.get(f"/p/{project.id}/recommend").text
    assert "Described from your data: age" in page
    finished(client, project, "recommend")
    page = unescape(client.get(f"/p/{project.id}/recommend").text)
    assert "Described from your data: age" in page
    assert 'status-proved"' not in page.partition("Two other good choices")[0]


def test_bad_answers_get_a_sentence(studio: World) -> None:
    client, home = studio
    project = project_of(home)
    form = {"version": project.state.version, "purpose": "fame", "audience": "everybody"}
    assert "There is no such answer" in client.post(f"/p/{project.id}/recommend", data=form).text
    old = {"version": "0", "method": "dp-synthetic", "epsilon": "1", "k": ""}
    assert "another tab" in client.post(f"/p/{project.id}/recommend/take", data=old).text


def test_every_purpose_has_its_words() -> None:
    assert set(GOALS) == set(PURPOSES)
    assert set(ACCURACY) >= {measure for measure, _ in PURPOSES.values()}


def test_a_delta_is_only_there_where_it_was_allowed_and_is_said(studio: World) -> None:
    client, home = studio
    project = project_of(home)
    project.change(wish=Wish(delta=True))
    page = recommended(client, project)
    found = coterie.recommend(None, narrow(), epsilon=1, records=400, beside=DIAL)
    assert "--pure" not in page
    assert (f"δ = {found.best.delta}" in page) == (found.best.delta is not None)
    choice = Choice(method="dp-synthetic", epsilon="1", delta="0.000001")
    with_delta = promised(choice, project.schema(), 400)
    assert "with probability at least 1 −" in with_delta.odds
    assert "77 %" in with_delta.odds, "not the 74 % of pure ε: a δ weakens the limit (UNITS.md)"
    assert with_delta.guarantee.delta == "0.000001"
    project.change(choice=choice)
    assert "--delta 0.000001" in protect_lines(project, choice)[0][1]
    assert "delta='0.000001'" in protect_lines(project, choice)[1][1]
