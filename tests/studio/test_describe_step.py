"""Describe: what is typed becomes the schema that the command reads; what leaks is marked; faults name the attribute."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pytest
from studio_client import finished, made_project, visiting
from typer.testing import CliRunner

from coterie import Schema
from coterie._version import __version__
from coterie.cli.app import app
from coterie.schema.attributes import Attribute, Missing, Role, Source
from coterie.schema.draft import drafted
from coterie.schema.provenance import marked, remembered
from coterie.studio.attribute_form import attribute_of, row_of
from coterie.studio.auth import StudioHome
from coterie.studio.project import Project
from coterie.studio.work.tables import _column

Visit = tuple[httpx.Client, StudioHome]

TABLE = pa.table(
    {
        "name": [f"person {n}" for n in range(40)],
        "age": [20 + n for n in range(40)],
        "income": [1000.5 * n for n in range(40)],
        "ward": [("north", "south", "west")[n % 3] for n in range(40)],
        "ok": [n % 2 == 0 for n in range(40)],
    }
)
EVERYTHING = """\
attributes:
  a: {role: identifier}
  b: {type: integer, role: protect, domain: {lower: 0, upper: 120}, unit: years, missing_marks: ["?", "-9"]}
  c: {type: continuous, role: protect, domain: {lower: -0.5, upper: 1e20}, decimals: 2, weight: 1/3, outside: clip}
  d: {type: continuous, role: protect, domain: {lower: 0, upper: 9, source: dp, search: upper, share: 1/4}}
  e: {type: date, role: protect, domain: {lower: 1900-01-01, upper: 2030-12-31}, missing: impute, impute: 2000-02-29}
  f: {type: timestamp, role: protect, domain: {lower: "2000-01-01", upper: "2030-12-31T23:59:59"}}
  g: {type: ordinal, role: protect, categories: {labels: [low, middle, high]}}
  h: {type: boolean, role: protect, missing: own category}
  i: {type: categorical, role: protect, categories: {labels: ["01", "a, b", "yes"], source: data, order: listed, most: 7}}
  j: {type: categorical, role: protect, categories: {taxonomy: "adult:occupation", order: path}}
  k: {type: categorical, role: keep}
  l: {type: integer, role: protect, domain: {lower: 0, upper: 7, source: data}}
  m: {type: continuous, role: protect}
  n: {type: integer, role: protect, domain: {lower: 0, upper: 7, from_data: [upper], public_because: {upper: the form}}}
  o:
    {type: continuous, role: protect,
     domain: {lower: 0, upper: 9, source: dp, search: both, from_data: [lower], public_because: a law}}
  p: {type: ordinal, role: protect, categories: {labels: [1, 2, 3], from_data: [3], public_because: {3: "codes: 1 to 3"}}}
  q: {type: integer, role: protect, domain: {lower: 0, upper: 99, source: data}, recode: {bands: [15, 30]}}
  r: {type: date, role: protect, domain: {lower: 1900-01-01, upper: 2030-12-31}, recode: {top: 2010-12-31, round_to: year}}
  s: {type: categorical, role: protect, categories: {labels: ["no", "01", b], from_data: [b]}, recode: {labels: {no: 01}}}
  t: {type: categorical, role: protect, categories: {taxonomy: "adult:occupation"}, recode: {level: 1}}
"""


@pytest.fixture(scope="module")
def visit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visit]:
    with visiting(tmp_path_factory.mktemp("describe") / "home") as (client, home):
        yield client, home


@pytest.fixture
def project(visit: Visit) -> Project:
    return made_project(visit[1], TABLE, Schema.load(drafted(TABLE).text))


def sent(visit: Visit, project: Project, **changes: str) -> httpx.Response:
    """Press a button with the page's own fields, changed: `age_lower="0"`, or a button's name."""
    page = visit[0].get(f"/p/{project.id}/describe").text
    names = [unescape(name) for name in re.findall(r'name="name" value="([^"]*)"', page)]
    data: dict[str, Any] = {"version": str(Project(project.folder).state.version), "name": names}
    for place, attribute in enumerate(Project(project.folder).schema().attributes):
        row = row_of(attribute)
        data |= {
            f"a{place}.{entry}": getattr(row, entry)
            for entry in row.__dataclass_fields__
            if entry not in ("name", "taken", "leaks")
        }
    for entry, value in changes.items():
        attribute_name, _, rest = entry.partition("_")
        key = f"a{names.index(attribute_name)}.{rest}" if attribute_name in names else entry
        data[key] = value
    return visit[0].post(f"/p/{project.id}/describe", data=data)


def now(project: Project) -> Schema:
    return Project(project.folder).schema()


@pytest.mark.parametrize("attribute", Schema.load(EVERYTHING).attributes, ids=lambda a: a.name)
def test_the_page_holds_everything_that_a_schema_says(attribute: Attribute) -> None:
    """What came from the data is not the page's to say: the project remembers it."""
    before = Schema(attributes=(attribute,))
    sent = Schema(attributes=(attribute_of(row_of(attribute)),))
    back = marked(sent, before, remembered({}, before)).attributes[0]
    same = attribute.model_copy(update={"impute": back.impute}) if attribute.impute is not None else attribute
    assert back == same


def test_bounds_and_labels_are_saved_and_open_the_next_step(visit: Visit, project: Project) -> None:
    page = visit[0].get(f"/p/{project.id}/describe").text
    assert "3 of 5 columns still need what is public about them" in page
    assert "needs a range" in page
    done = sent(
        visit,
        project,
        age_lower="0",
        age_upper="120",
        income_lower="0",
        income_upper="1e5",
        ward_labels="north\r\nsouth\r\n west \r\n",
        income_weight="2",
        onward="yes",
    )
    assert str(done.url).endswith("/recommend")
    schema = now(project)
    assert (schema["age"].bounds().lower, schema["age"].bounds().upper) == (0, 120)
    assert schema["ward"].categories is not None
    assert schema["ward"].categories.labels == ("north", "south", "west")
    assert schema["income"].weight == 2
    assert Project(project.folder).described
    assert "The description is complete." in visit[0].get(f"/p/{project.id}/describe").text


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"age_lower": "0"}, "Attribute 'age' has only one bound."),
        ({"age_lower": "9", "age_upper": "1"}, "Attribute 'age': domain: the domain is inverted"),
        ({"age_lower": "x", "age_upper": "1"}, "a bound must be a number"),
        ({"age_lower": "0.5", "age_upper": "1"}, "needs whole numbers as bounds"),
        ({"income_decimals": "two"}, "Attribute 'income': decimals is not a whole number."),
        ({"income_weight": "-1"}, "Attribute 'income': weight"),
        ({"ward_labels": "a\na"}, "Attribute 'ward': categories: a label is listed twice"),
        ({"ward_labels": "a\nb", "ward_taxonomy": "adult:occupation"}, "not both or neither"),
        (
            {"ward_taxonomy": "adult:ocupation"},
            "Attribute 'ward': Coterie ships no taxonomy of Adult's 'ocupation'.",
        ),
        ({"ward_taxonomy": "nowhere.csv"}, "Attribute 'ward':"),
        ({"ward_type": "ordinal", "ward_taxonomy": "adult:occupation"}, "needs its labels in order"),
        ({"age_role": "hide"}, "Attribute 'age': role: there is no such choice"),
        ({"bulk": "yes", "bulk_to": "role: keep"}, "No attribute is selected."),
        ({"bulk": "yes", "selected": "0"}, "Nothing was chosen"),
    ],
)
def test_a_fault_names_the_attribute_and_saves_nothing(
    visit: Visit, project: Project, changes: dict[str, str], problem: str
) -> None:
    before = project.schema_path.read_text()
    answer = sent(visit, project, **changes)
    assert answer.status_code == 400
    assert problem in unescape(answer.text)
    assert project.schema_path.read_text() == before
    for value in set(changes.values()) - {"hide"}:  # no list has that
        assert value.split("\n")[0] in unescape(answer.text), "what was typed is kept"


def test_all_faults_are_shown_at_once(visit: Visit, project: Project) -> None:
    answer = sent(visit, project, age_lower="1", income_upper="1")
    assert "2 attributes are not right yet" in answer.text
    assert answer.text.count("has only one bound") == 2


def test_suggestions_come_only_when_asked_and_are_marked(visit: Visit, project: Project) -> None:
    assert all(not attribute.from_data for attribute in now(project).attributes)
    page = sent(visit, project, suggest="1").text
    age = now(project)["age"].bounds()
    assert (age.lower, age.upper, age.source) == (0, 89, Source.DATA)  # 1.5 · 59, outward
    assert "bounds from your data" in page
    sent(visit, project, suggest="all")
    schema = now(project)
    assert schema["ward"].categories is not None
    assert schema["ward"].categories.labels == ("north", "south", "west")
    assert all(schema[name].from_data for name in ("age", "income", "ward"))
    # The same file as the command's draft.
    draft = Schema.load(drafted(TABLE, bounds_from_data=1.5).text)
    assert [(a.domain, a.categories) for a in schema.attributes] == [
        (a.domain, a.categories) for a in draft.attributes
    ]


def test_a_weight_is_described_and_there_is_only_one(visit: Visit, project: Project) -> None:
    assert 'value="weight"' in visit[0].get(f"/p/{project.id}/describe").text
    answer = sent(visit, project, income_role="weight", income_lower="0", income_upper="90000")
    assert "a weight is above 0" in unescape(answer.text)
    sent(visit, project, income_role="weight", income_lower="0.5", income_upper="90000")
    weight = now(project).weight
    assert weight is not None
    assert (weight.name, weight.bounds().upper) == ("income", 90000)
    answer = sent(visit, project, age_role="weight", age_lower="1", age_upper="99")
    assert "a table has one weight" in unescape(answer.text)
    assert now(project)["age"].role is Role.PROTECT


def test_a_weight_is_filled_from_the_data_above_zero(visit: Visit, project: Project) -> None:
    sent(visit, project, age_role="weight")
    sent(visit, project, suggest="1")
    age = now(project)["age"]
    assert (age.role, age.bounds().lower, age.from_data) == (Role.WEIGHT, 13, "bounds of age")


def test_what_cannot_be_suggested_is_told(visit: Visit) -> None:
    table = pa.table({"day": pa.array([0, 1, 2], pa.date32()), "text": ["a", "b", "c"], "zero": [0, 0, 0]})
    schema = Schema.load(
        {
            "attributes": {
                "day": {"type": "date", "role": "protect"},
                "text": {"type": "integer", "role": "protect"},
                "zero": {"type": "integer", "role": "protect"},
            }
        }
    )
    project = made_project(visit[1], table, schema)
    for place, problem in (
        (0, "'day' is a date"),
        (1, "'text' give no bounds"),
        (2, "'zero' give no bounds"),
    ):
        answer = sent(visit, project, suggest=str(place))
        assert answer.status_code == 400
        assert problem in unescape(answer.text)


def test_many_attributes_at_once(visit: Visit) -> None:
    names = [f"column {n}" for n in range(200)]
    table = pa.table({name: [1, 2, 3] for name in names})
    project = made_project(visit[1], table, Schema.load(drafted(table).text))
    data = {"version": "1", "name": names, "bulk": "yes", "bulk_to": "role: identifier"}
    data |= {f"a{n}.type": "integer" for n in range(200)} | {"selected": [str(n) for n in range(150)]}
    page = visit[0].post(f"/p/{project.id}/describe", data=data).text
    assert "50 of 200 columns still need" in page
    assert [len(now(project).with_role(role)) for role in (Role.IDENTIFIER, Role.PROTECT)] == [150, 50]


def test_two_tabs_do_not_overwrite_each_other(visit: Visit, project: Project) -> None:
    old = str(Project(project.folder).state.version)
    sent(visit, project, age_lower="0", age_upper="120")
    answer = sent(visit, project, age_lower="0", age_upper="999", version=old)
    assert answer.status_code == 400
    assert "changed in another tab" in answer.text
    assert 'value="120"' in answer.text, "what stands now is shown"
    assert now(project)["age"].bounds().upper == 120


def test_a_column_with_spaces_around_its_name(visit: Visit) -> None:
    table = pa.table({" age ": [1, 2, 3]})
    project = made_project(visit[1], table, Schema.load(drafted(table).text))
    data = {"version": "1", "name": [" age "], "a0.type": "integer", "a0.lower": "0", "a0.upper": "9"}
    assert visit[0].post(f"/p/{project.id}/describe", data=data).status_code == 200
    assert now(project)[" age "].bounds().upper == 9


def test_the_schema_goes_out_and_comes_in_again(visit: Visit, project: Project, tmp_path: Path) -> None:
    client = visit[0]
    sent(visit, project, suggest="all")
    answer = client.get(f"/p/{project.id}/schema.yaml")
    assert "attachment" in answer.headers["content-disposition"]
    assert Schema.load(answer.text).attributes == now(project).attributes
    edited = answer.text.replace("upper: 89", "upper: 120").replace("source: data", "source: declared")
    version = Project(project.folder).state.version
    client.post(f"/p/{project.id}/describe/import", data={"version": version, "yaml": edited})
    assert now(project)["age"].bounds().upper == 120


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "No schema was given."),
        ("hello", "This is not a Coterie schema."),
        ("attributes:\n  age: {role: protct}\n", "Attribute 'age': role: there is no such choice"),
        ("attributes:\n  age: [\n", "The schema is not valid YAML at line 3"),
        ("attributes:\n  aeg: {role: keep}\n", "The schema describes 'aeg', which the table does not have."),
        ("attributes:\n  age: {role: keep}\n", "that the schema does not describe"),
    ],
)
def test_a_wrong_schema_gets_a_sentence(visit: Visit, project: Project, text: str, problem: str) -> None:
    before = project.schema_path.read_text()
    data = {"version": Project(project.folder).state.version, "yaml": text}
    answer = visit[0].post(f"/p/{project.id}/describe/import", data=data)
    assert answer.status_code == 400
    assert problem in unescape(answer.text)
    assert text.strip() in unescape(answer.text)
    assert project.schema_path.read_text() == before


def test_a_taxonomy_comes_with_its_file(visit: Visit, project: Project) -> None:
    client = visit[0]
    tree = b"north;up;all\nsouth;down;all\nwest;down;all\n"
    bad = client.post(f"/p/{project.id}/describe/taxonomy?name=wards.txt", content=tree)
    assert bad.status_code == 400
    assert "ending" in bad.json()["problem"]
    good = client.post(f"/p/{project.id}/describe/taxonomy?name=..%2Fwards.csv", content=tree)
    assert good.json() == {"taxonomy": "taxonomies/wards.csv", "labels": 3}
    sent(visit, project, ward_taxonomy="taxonomies/wards.csv")
    page = client.get(f"/p/{project.id}/describe").text
    assert '<option value="taxonomies/wards.csv">' in page
    exported = Schema.load(client.get(f"/p/{project.id}/schema.yaml").text)["ward"].categories
    assert exported is not None
    assert Path(exported.taxonomy or "").is_file(), "the downloaded file works in any folder"
    large = client.post(f"/p/{project.id}/describe/taxonomy?name=x.csv", content=b"x" * 20_000_001)
    assert large.status_code == 413


def test_the_table_is_checked_against_the_description(visit: Visit) -> None:
    table = pa.table(
        {
            "fits": [1, 2, 3, 4],
            "outside": [1, 2, 300, 400],
            "cut": [1, 2, 300, 4],
            "gaps": [1, None, 3, 4],
            "filled": [1, None, 3, 4],
            "label": ["a", "b", "secret-value", "a"],
            "number": ["1", "2", "secret-value", "3"],
            "open": [1, 2, 3, 4],
            "gone": ["w", "x", "y", "z"],
        }
    )
    bounds = {"type": "integer", "role": "protect", "domain": {"lower": 0, "upper": 99}}
    schema = Schema.load(
        {
            "attributes": {
                "fits": bounds,
                "outside": bounds,
                "cut": {**bounds, "outside": "clip"},
                "gaps": bounds,
                "filled": {**bounds, "missing": "impute"},
                "label": {"type": "categorical", "role": "protect", "categories": {"labels": ["a", "b"]}},
                "number": bounds,
                "open": {"type": "integer", "role": "protect"},
                "gone": {"role": "identifier"},
            }
        }
    )
    project = made_project(visit[1], table, schema)
    sent(visit, project, check="yes")
    assert finished(visit[0], project, "describe")["state"] == "done"
    page = unescape(visit[0].get(f"/p/{project.id}/describe").text)
    for words in (
        "5 attributes do not fit.",
        "2 values are outside its bounds",
        "1 value is outside its bounds: cut to them",
        "1 value is missing. Choose",
        "1 value is missing: a public value stands in",
        "has values that are not among its labels",
        "holds text that is not a number",
        "still open",
    ):
        assert words in page, words
    assert "secret-value" not in page, "counts only"
    sent(visit, project, open_lower="0", open_upper="9")
    later = visit[0].get(f"/p/{project.id}/describe").text
    assert "do not fit" not in later, "a result of an older description is not shown"


def test_the_commands_of_the_page_run(
    visit: Visit, project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent(visit, project, suggest="all")
    page = visit[0].get(f"/p/{project.id}/describe").text
    command, python = (unescape(text) for text in re.findall(r"<code>(.*?)</code></pre>", page, re.DOTALL))
    run = CliRunner()
    monkeypatch.chdir(tmp_path)
    for line in command.splitlines():
        if not line.startswith("#"):
            done = run.invoke(app, shlex.split(line)[1:])
            assert done.exit_code == 0, done.output
    assert Path("schema.yaml").exists()
    space: dict[str, Any] = {}
    exec(python, space)
    assert space["schema"] == now(project)
    assert space["table"].num_rows == 40
    assert space["draft"].text.startswith("# A draft")


def test_a_step_without_a_table_waits(visit: Visit) -> None:
    from coterie.studio.project import Origin

    project = Project.new(visit[1].projects, "x", Origin(kind="demo", shown="x"))
    assert "Load a table first." in visit[0].get(f"/p/{project.id}/describe").text


def test_rules_are_typed_checked_and_kept(visit: Visit) -> None:
    bounds = {"type": "integer", "role": "protect", "domain": {"lower": 0, "upper": 99}}
    table = pa.table({"age": [3, 40, 50, 60], "hours": [None, 40, 20, 0]})
    project = made_project(visit[1], table, Schema.load({"attributes": {"age": bounds, "hours": bounds}}))
    answer = sent(visit, project, rules="hours <= 80\nagee > 3")
    assert "names a column that is not protected" in unescape(answer.text)
    assert "agee" in answer.text, "what was typed is there again"
    assert now(project).rules == ()
    sent(visit, project, rules="hours <= 80\n", hours_not_applicable="age < 15", check="yes")
    assert now(project).rules == ("hours <= 80",)
    assert now(project)["hours"].not_applicable == "age < 15"
    assert finished(visit[0], project, "describe")["state"] == "done"
    page = unescape(visit[0].get(f"/p/{project.id}/describe").text)
    assert "that is right where it does not apply" in page
    assert "hours <= 80" in page
    sent(visit, project, age_upper="98")  # a page that does not speak of rules leaves them as they were
    assert now(project).rules == ("hours <= 80",)


def posted(visit: Visit, project: Project, place: str, **fields: str) -> str:
    version = str(Project(project.folder).state.version)
    return unescape(
        visit[0].post(f"/p/{project.id}/describe/{place}", data={"version": version, **fields}).text
    )


def test_a_household_is_chosen_as_the_unit(visit: Visit) -> None:
    table = pa.table({"home": [n // 3 for n in range(30)], "age": list(range(30))})
    project = made_project(visit[1], table, Schema.load(drafted(table).text))
    asked = {"kind": "unit", "column": "home", "above": "truncate"}
    assert "largest number of rows" in posted(visit, project, "unit", **asked, at_most="")
    assert "No column was chosen" in posted(visit, project, "unit", **{**asked, "column": ""}, at_most="3")
    posted(visit, project, "unit", **asked, at_most="3")
    unit = Project(project.folder).schema().unit
    assert unit is not None
    assert (unit.column, unit.at_most, unit.above) == ("home", 3, "truncate")
    assert Project(project.folder).schema()["home"].role is Role.IDENTIFIER
    posted(visit, project, "unit", kind="row")
    assert Project(project.folder).schema().unit is None


def test_totals_of_weights_are_public_and_need_a_weight(visit: Visit) -> None:
    text = "attributes:\n  w: {type: continuous, role: weight, domain: {lower: 1, upper: 500}}\n"
    text += "  sex: {type: categorical, role: protect, categories: {labels: [f, m]}}\n"
    table = pa.table({"w": [1.5] * 10, "sex": ["f", "m"] * 5})
    project = made_project(visit[1], table, Schema.load(text))
    posted(visit, project, "totals", totals="10,400,000")
    totals = Project(project.folder).schema().totals
    assert totals is not None
    assert totals.population == 10_400_000
    page = posted(visit, project, "totals", totals="sex: {f: 60, m: 40}")
    totals = Project(project.folder).schema().totals
    assert totals is not None
    assert totals.by == {"sex": {"f": 60, "m": 40}}
    assert "m: 40" in page, "what was written comes back"
    refused = posted(visit, project, "totals", totals="[1, 2]")
    assert 'class="problem" role="alert"' in refused
    assert "[1, 2]" in refused, "what was typed stays"
    posted(visit, project, "totals", totals="")
    assert Project(project.folder).schema().totals is None


def test_one_reason_for_many_columns_and_the_last_change_taken_back(visit: Visit, project: Project) -> None:
    sent(visit, project, suggest="all")
    assert 'id="leaking"' in visit[0].get(f"/p/{project.id}/describe").text
    places = [n for n, a in enumerate(Project(project.folder).schema().attributes) if a.is_protected]
    fields: dict[str, Any] = {"bulk": "yes", "bulk_because": "codebook, page 12", "selected": places}
    sent(visit, project, **fields)
    assert 'id="leaking"' not in visit[0].get(f"/p/{project.id}/describe").text
    before = project.schema_path.read_text()
    sent(visit, project, age_unit="years")
    assert project.schema_path.read_text() != before
    posted(visit, project, "undo")
    assert project.schema_path.read_text() == before
    assert Project(project.folder).state.taken, "what came from the data stays remembered"


def test_empty_cells_are_told_before_they_stop_a_release(visit: Visit) -> None:
    table = pa.table({"age": [20, None, 40], "stay": [1, 2, 3]})
    text = "attributes:\n"
    for name in ("age", "stay"):
        text += f"  {name}: {{type: integer, role: protect, domain: {{lower: 0, upper: 120}}}}\n"
    project = made_project(visit[1], table, Schema.load(text))
    found = {"columns": [_column(name, table[name], {}) for name in table.column_names]}
    (project.folder / "load.json").write_text(
        json.dumps({"coterie": __version__, "key": "", "parameters": {}, "found": found})
    )
    page = visit[0].get(f"/p/{project.id}/describe").text
    assert "Empty cells will stop the release" in page
    assert "The description is complete" not in page
    sent(visit, project, measure_missing="all")
    assert "The description is complete" in visit[0].get(f"/p/{project.id}/describe").text
    assert Project(project.folder).schema()["age"].missing is Missing.OWN_CATEGORY
    assert Project(project.folder).schema()["stay"].missing is Missing.ERROR


def test_suggestions_are_accepted_one_by_one_or_together_and_going_on_waits(
    visit: Visit, project: Project
) -> None:
    page = visit[0].get(f"/p/{project.id}/describe").text
    assert "Suggestion: 0 to 120 years." in page
    assert "common sense: nobody is older" in page
    held = sent(visit, project, accept="1", onward="yes")
    assert "Not complete yet: income, ward." in held.text, "all was saved, and what is left is named"
    age = now(project)["age"]
    assert (age.bounds().upper, age.from_data, age.unit) == (120, "", "years")
    assert age.domain is not None
    assert age.domain.public_because == "common sense: nobody is older"


def test_a_dismissed_suggestion_stays_away_until_it_is_asked_for(visit: Visit, project: Project) -> None:
    address = f"/p/{project.id}/describe"
    sent(visit, project, dismiss="1")
    page = visit[0].get(address).text
    assert "Suggestion: 0 to 120 years." not in page
    assert "Show dismissed suggestions again" in page
    sent(visit, project, recall="yes")
    page = visit[0].get(address).text
    assert "Suggestion: 0 to 120 years." in page
    assert "Show dismissed suggestions again" not in page


def test_marks_of_missing_values_count_as_empty_cells(visit: Visit) -> None:
    """Code 9 is "not stated": it stops a release as an empty cell does, and is told before."""
    table = pa.table({"roof": [1, 2, 9, 9]})
    text = "attributes:\n  roof: {type: categorical, role: protect, missing_marks: [9], categories: {labels: [1, 2]}}\n"
    project = made_project(visit[1], table, Schema.load(text))
    found = {"columns": [_column("roof", table["roof"], {"9": "not stated"})]}
    assert found["columns"][0]["words"] == "not stated 50 %", "a code in words"
    (project.folder / "load.json").write_text(
        json.dumps({"coterie": __version__, "key": "", "parameters": {}, "found": found})
    )
    assert "2 empty cells would stop the release" in visit[0].get(f"/p/{project.id}/describe").text
    assert "Not complete yet: roof." in sent(visit, project, onward="yes").text
    sent(visit, project, measure_missing="0", onward="yes")
    assert now(project)["roof"].missing is Missing.OWN_CATEGORY
