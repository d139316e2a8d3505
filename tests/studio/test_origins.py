"""What came from the data stays marked through everything that a person can do on the page, until a reason is stated."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

import httpx
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from studio_client import made_project, visiting

from coterie import Schema, protect
from coterie.methods.guarantee import Guarantee, Status
from coterie.schema.draft import drafted
from coterie.studio.attribute_form import row_of
from coterie.studio.auth import StudioHome
from coterie.studio.project import Choice, Project
from coterie.studio.promise import promised

Visit = tuple[httpx.Client, StudioHome]

TABLE = pa.table(
    {
        "age": [20 + n for n in range(40)],
        "ward": [("north", "south", "west")[n % 3] for n in range(40)],
    }
)
SCHEMA = Schema.load(drafted(TABLE).text)
PUBLIC = {"age_lower": "0", "age_upper": "120", "ward_labels": "north\nsouth\nwest\neast"}


@pytest.fixture(scope="module")
def visit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visit]:
    with visiting(tmp_path_factory.mktemp("origins") / "home") as (client, home):
        yield client, home


@pytest.fixture
def project(visit: Visit) -> Project:
    return made_project(visit[1], TABLE, SCHEMA)


def sent(visit: Visit, project: Project, **changes: str) -> httpx.Response:
    """Press a button with the page's own fields, as they stand in it, some of them changed."""
    page = visit[0].get(f"/p/{project.id}/describe").text
    names = [unescape(name) for name in re.findall(r'name="name" value="([^"]*)"', page)]
    data: dict[str, Any] = {"version": str(Project(project.folder).state.version), "name": names}
    for place, attribute in enumerate(now(project).attributes):
        row = row_of(attribute)
        for entry in set(re.findall(rf'name="a{place}\.([a-z]+)"', page)):
            data[f"a{place}.{entry}"] = getattr(row, entry)
    for entry, value in changes.items():
        name, _, rest = entry.partition("_")
        data[f"a{names.index(name)}.{rest}" if name in names else entry] = value
    return visit[0].post(f"/p/{project.id}/describe", data=data, follow_redirects=False)


def taken_in(visit: Visit, project: Project, text: str) -> httpx.Response:
    version = Project(project.folder).state.version
    return visit[0].post(f"/p/{project.id}/describe/import", data={"version": version, "yaml": text})


def now(project: Project) -> Schema:
    return Project(project.folder).schema()


def status(project: Project) -> Status:
    schema = now(project)
    return promised(Choice(method="laplace", epsilon="1"), schema, TABLE.num_rows).guarantee.status


def test_declared_bounds_prove(visit: Visit, project: Project) -> None:
    """The control: without a look at the data the same edits end in a proof."""
    sent(visit, project, **PUBLIC)
    assert status(project) is Status.PROVED


@pytest.mark.parametrize(
    "edits",
    [
        [{"age_upper": "120"}],
        [{"age_lower": "1"}],
        [{"age_lower": "1", "age_upper": "120"}],
        [{"age_lower": "", "age_upper": ""}, {"age_lower": "0", "age_upper": "120"}],
        [{"age_type": "continuous"}, {"age_upper": "120"}],
        [{"age_type": "categorical", "age_labels": "a\nb"}, {"age_type": "integer", **PUBLIC}],
        [{"age_role": "identifier"}, {"age_role": "protect", **PUBLIC}],
        [{"age_search": "both"}],
        [{"age_search": "upper", "age_upper": "1000"}, {"age_search": ""}],
        [{"age_because": "the form"}, {"age_because": ""}],
        [{"age_because": "upper: the form"}],
        [{"age_because": "the form"}, {"suggest": "0"}],  # the reason was given for another value
        [{"a0.taken": "", "a0.leaks": "", "age_upper": "120"}],  # a form says what it likes
    ],
)
def test_bounds_from_the_data_stay_so(visit: Visit, project: Project, edits: list[dict[str, str]]) -> None:
    sent(visit, project, **PUBLIC)
    sent(visit, project, age_lower="", age_upper="")
    sent(visit, project, suggest="0")
    assert now(project)["age"].from_data == "bounds of age"
    for edit in edits:
        assert sent(visit, project, **edit).status_code == 303
    assert now(project)["age"].from_data
    assert status(project) is Status.REFUTED
    sent(visit, project, age_because="the form allows 0 to 120", age_search="")
    assert status(project) is Status.PROVED


@pytest.mark.parametrize(
    "edits",
    [
        [{"ward_labels": "North\nsouth\nwest"}],
        [{"ward_labels": "a\nb\nc"}],
        [{"ward_labels": "north\nsouth"}],
        [{"ward_type": "ordinal"}],
        [{"ward_type": "boolean"}, {"ward_type": "categorical", "ward_labels": "north\nsouth\nwest"}],
        [{"ward_labels": "", "ward_taxonomy": "adult:occupation"}],
        [{"ward_order": "listed"}],
    ],
)
def test_labels_from_the_data_stay_so(visit: Visit, project: Project, edits: list[dict[str, str]]) -> None:
    sent(visit, project, age_lower="0", age_upper="120")
    sent(visit, project, suggest="1")
    for edit in edits:
        assert sent(visit, project, **edit).status_code == 303
    assert now(project)["ward"].from_data
    assert status(project) is Status.REFUTED
    sent(visit, project, ward_because="the map of the town")
    assert status(project) is Status.PROVED
    sent(visit, project, ward_order="frequency", ward_type="categorical")
    assert status(project) is Status.REFUTED, (
        "an order by frequency is from the data, whatever the labels are"
    )


def test_only_the_bound_that_was_filled_is_marked(visit: Visit, project: Project) -> None:
    sent(visit, project, age_lower="18", suggest="0")
    page = visit[0].get(f"/p/{project.id}/describe").text
    age = now(project)["age"].bounds()
    assert (age.lower, age.upper, age.leaks) == (18, 89, ("upper",))
    assert "upper bound from your data" in page
    sent(visit, project, age_because="upper: the form allows 89")
    assert not now(project)["age"].from_data
    assert "from your data" not in visit[0].get(f"/p/{project.id}/describe").text.split("<form")[0]


def test_a_file_that_comes_back_without_its_marks(visit: Visit, project: Project) -> None:
    sent(visit, project, suggest="all")
    text = visit[0].get(f"/p/{project.id}/schema.yaml").text
    laundered = text.replace("source: data", "source: declared").replace("upper: 89", "upper: 120")
    assert laundered != text
    assert taken_in(visit, project, laundered).status_code == 200
    assert now(project)["age"].bounds().upper == 120
    assert all(attribute.from_data for attribute in now(project).attributes)
    reasoned = laundered.replace("source: declared", "public_because: the form")
    taken_in(visit, project, reasoned)
    assert status(project) is Status.PROVED
    taken_in(visit, project, laundered)
    assert status(project) is Status.REFUTED, "the reason is gone, so is its effect"


def test_marks_survive_another_studio_and_older_projects(visit: Visit, project: Project) -> None:
    """A project of a studio that remembered nothing: what its file says counts."""
    sent(visit, project, age_lower="0", age_upper="120")
    sent(visit, project, suggest="1")
    path = project.folder / "state.json"
    path.write_text(re.sub(r',\s*"taken": \{[^}]*\}', "", path.read_text()))
    assert Project(project.folder).state.taken == {}
    sent(visit, project, ward_labels="a\nb")
    assert now(project)["ward"].from_data == "labels of ward"


def test_a_mixed_list_keeps_what_was_declared(visit: Visit, project: Project) -> None:
    mixed = SCHEMA.to_dict()
    mixed["attributes"]["age"]["domain"] = {"lower": 0, "upper": 120}
    mixed["attributes"]["ward"]["categories"] = {"labels": ["north", "south", "west"], "from_data": ["west"]}
    taken_in(visit, project, Schema.load(mixed).to_yaml())
    assert now(project)["ward"].from_data == "some labels of ward"
    sent(visit, project, ward_labels="north\nsouth\nWest")
    assert now(project)["ward"].categories.leaks == ("West",)  # type: ignore[union-attr]
    sent(visit, project, ward_labels="north\nsouth")
    assert status(project) is Status.PROVED, "no label from the data is left"
    sent(visit, project, ward_labels="north\nsouth\nwest")
    assert now(project)["ward"].categories.leaks == ("west",)  # type: ignore[union-attr]


_EDITS = st.one_of(
    st.fixed_dictionaries({"age_lower": st.sampled_from(["0", "1", "-5"])}),
    st.fixed_dictionaries({"age_upper": st.sampled_from(["60", "89", "90", "120"])}),
    st.sampled_from(
        [
            {"age_lower": "", "age_upper": ""},
            {"age_type": "continuous"},
            {"age_type": "integer"},
            {"age_type": "ordinal", "age_labels": "20\n21"},
            {"age_role": "identifier"},
            {"age_role": "protect"},
            {"age_role": "keep"},
            {"age_search": "both"},
            {"age_search": "lower"},
            {"age_search": ""},
            {"age_because": "  "},
            {"age_unit": "years"},
            {"suggest": "0"},
            {"suggest": "all"},
            {"round trip": "as it is"},
            {"round trip": "declared"},
        ]
    ),
)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edits=st.lists(_EDITS, min_size=1, max_size=6))
def test_no_sequence_of_edits_makes_it_public(visit: Visit, edits: list[dict[str, str]]) -> None:
    """At the end the attribute is protected with bounds that a person typed: never proved without a reason."""
    project = made_project(visit[1], TABLE, SCHEMA)
    sent(visit, project, ward_labels="north\nsouth\nwest")
    sent(visit, project, suggest="0")
    for edit in [
        *edits,
        {"age_role": "protect", "age_type": "integer", "age_lower": "0", "age_upper": "120"},
    ]:
        if "round trip" in edit:
            text = visit[0].get(f"/p/{project.id}/schema.yaml").text
            if edit["round trip"] == "declared":
                text = re.sub(r"source: data|from_data:\n( +- \w+\n)+ +", "source: declared", text)
            taken_in(visit, project, text)
        else:
            sent(visit, project, **edit)
        schema = now(project)
        if schema["age"].role == "protect" and schema["age"].domain is not None:
            assert status(project) is Status.REFUTED
    assert now(project)["age"].bounds().upper == 120


def test_method_and_k_from_a_comparison_are_marked_until_a_reason_is_given(
    visit: Visit, project: Project
) -> None:
    client = visit[0]
    sent(visit, project, **PUBLIC)

    def press(step: str, **fields: str) -> None:
        version = str(Project(project.folder).state.version)
        assert client.post(f"/p/{project.id}/{step}", data={"version": version, **fields}).status_code == 200

    def found() -> Guarantee:
        current = Project(project.folder)
        assert current.state.choice is not None
        return promised(current.state.choice, current.schema(), TABLE.num_rows).guarantee

    chosen = {"method": "laplace", "epsilon": "1", "clip": "yes"}
    press("choose", **chosen)
    assert found().status is Status.PROVED
    press("compare/use", method="laplace", epsilon="2", k="1")
    client.post(f"/p/{project.id}/jobs/look/cancel")
    assert found().status is Status.CONDITIONAL
    assert "comparing results on these data" in found().label
    press("choose", **chosen, because="")  # by hand, after having seen
    sent(visit, project, age_unit="years")
    text = client.get(f"/p/{project.id}/schema.yaml").text
    taken_in(visit, project, text.partition("parameters:")[0])
    assert found().status is Status.CONDITIONAL
    press("choose", **chosen, because="fixed in the protocol of 3 May")
    assert found().status is Status.PROVED
    schema = now(project)
    notes = protect(TABLE, schema, method="laplace", epsilon=1).certificate.notes
    assert "method, ε and k: public because fixed in the protocol of 3 May" in notes
