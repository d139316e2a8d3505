"""Choose: the label on the page is the label on the certificate, and nothing is chosen for the user."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pytest
from studio_client import made_project, visiting

from coterie import protect
from coterie.errors import CoterieError
from coterie.methods import all_methods
from coterie.promise.posterior import odds_in_words
from coterie.promise.terms import loss_of
from coterie.schema.attributes import Attribute, AttributeType, Domain, Missing, Role, Schema, Source
from coterie.studio.auth import StudioHome
from coterie.studio.project import Choice, Project
from coterie.studio.promise import promised
from coterie.studio.vocabulary import in_plain_words
from coterie.table.demo_population import demo_population, demo_schema

PEOPLE = demo_population(60)


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[httpx.Client, StudioHome]]:
    with visiting(tmp_path_factory.mktemp("choose") / "home") as found:
        yield found


def described(**changes: Any) -> Schema:
    """Three protected attributes, one identifier; `changes` are made to `age`."""
    kept = ("person", "age", "income", "rent")
    attributes = [a for a in demo_schema().attributes if a.name in kept]
    return Schema(
        attributes=tuple(a.model_copy(update=changes) if a.name == "age" else a for a in attributes)
    )


SCHEMAS = {
    "public": described(),
    "kept": described(role=Role.KEEP),
    "from data": described(domain=Domain(lower=16, upper=99, source=Source.DATA)),
    "imputed": described(missing=Missing.IMPUTE),
}


@pytest.mark.parametrize("shuffle", [False, True], ids=["in order", "shuffled"])
@pytest.mark.parametrize("kind", SCHEMAS)
@pytest.mark.parametrize("method", all_methods())
def test_the_label_is_the_one_on_the_certificate(method: str, kind: str, shuffle: bool) -> None:
    schema, recipe = SCHEMAS[kind], all_methods()[method]
    table = PEOPLE.select([attribute.name for attribute in schema.attributes])
    k = None if recipe.fixed_k or recipe.public_k else 5
    choice = Choice(method=method, epsilon="0.7" if recipe.adds_noise else "", k=k, shuffle=shuffle)
    found = promised(choice, schema, table.num_rows)
    release = protect(table, schema, method=method, epsilon=choice.epsilon or None, k=k, shuffle=shuffle)
    assert found.guarantee == release.guarantee
    assert found.odds == odds_in_words(release.certificate.guarantee)
    assert loss_of(found.guarantee, found.cost) == release.loss


def test_optimal_groups_break_a_promise_also_on_the_page() -> None:
    choice = Choice(method="dp-ir", epsilon="1", k=5, grouping="optimal")
    table = PEOPLE.select(["person", "age", "income", "rent"])
    release = protect(table, described(), method="dp-ir", epsilon="1", k=5, grouping="optimal")
    assert promised(choice, described(), 60).guarantee == release.guarantee


def test_shares_sum_to_the_whole() -> None:
    found = promised(Choice(method="dp-synthetic", epsilon="0.7"), demo_schema(), 5000)
    assert sum(found.budget.shares.values()) + found.budget.dependence == found.cost


def test_nothing_is_chosen_at_first(studio: tuple[httpx.Client, StudioHome]) -> None:
    client, home = studio
    project = made_project(home)
    text = client.get(f"/p/{project.id}/choose").text
    for method in all_methods().values():
        assert f'id="method-{method.name}"' in text
    assert " checked" not in re.sub(r"<input type=\"checkbox\"[^>]*>", "", text)
    assert "No method chosen yet" in text
    assert "74 %" in text
    answer = sent(client, project, method="")
    assert answer.status_code == 400
    assert "No method is chosen." in answer.text
    assert Project(project.folder).state.choice is None


def sent(client: httpx.Client, project: Project, **fields: str) -> Any:
    form = {"version": str(project.state.version), "epsilon": "1", "k": "10", "rule": "yes", "clip": "yes"}
    return client.post(f"/p/{project.id}/choose", data={**form, **fields}, follow_redirects=False)


def test_a_choice_is_saved_as_protect_takes_it(studio: tuple[httpx.Client, StudioHome]) -> None:
    client, home = studio
    project = made_project(home)
    answer = sent(client, project, method="idp-cbls", epsilon="0.30", then="look")
    assert (answer.status_code, answer.headers["location"]) == (303, f"/p/{project.id}/look")
    assert Project(project.folder).state.choice == Choice(method="idp-cbls", epsilon="0.30", k=10)
    project = Project(project.folder)
    sent(client, project, method="laplace")  # groups nobody: the k of the form is not for it
    assert Project(project.folder).state.choice == Choice(method="laplace", epsilon="1")
    text = client.get(f"/p/{project.id}/choose").text
    assert "This choice is saved." in text
    project = Project(project.folder)
    sent(client, project, method="mdav", k="7")  # adds no noise: no ε
    assert Project(project.folder).state.choice == Choice(method="mdav", epsilon="", k=7)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"method": "no-such"}, "There is no method"),
        ({"method": "laplace", "epsilon": "-1"}, "epsilon"),
        ({"method": "laplace", "epsilon": ""}, "privacy budget"),
        ({"method": "laplace", "epsilon": "abc<b>"}, "epsilon"),
        ({"method": "dp-ir", "k": "five"}, "k is not a whole number"),
        ({"method": "dp-ir", "k": ""}, "needs k"),
        ({"method": "dp-ir", "k": "5001"}, "larger than the number of records"),
        ({"method": "idp-cbls", "k": "2"}, "too small"),
        ({"method": "mdav", "grouping": "optimal"}, "does not rank"),
        ({"method": "dp-ir", "grouping": "none"}, "There is no grouping"),
    ],
)
def test_bad_input_gets_a_sentence_and_keeps_the_form(
    studio: tuple[httpx.Client, StudioHome], fields: dict[str, str], words: str
) -> None:
    client, home = studio
    project = made_project(home)
    answer = sent(client, project, **fields)
    assert answer.status_code == 400
    problem = unescape(re.findall(r'class="problem" role="alert">(.*?)</div>', answer.text, re.S)[0])
    assert words in problem
    for name in ("epsilon", "k"):
        if name in fields:
            assert fields[name] in unescape(answer.text)
    assert "<b>" not in answer.text
    assert Project(project.folder).state.choice is None


def test_two_tabs_do_not_overwrite_each_other(studio: tuple[httpx.Client, StudioHome]) -> None:
    client, home = studio
    project = made_project(home)
    assert sent(client, project, method="laplace").status_code == 303
    late = sent(client, project, method="dp-ir")
    assert late.status_code == 400
    assert "another tab" in late.text
    assert Project(project.folder).state.choice == Choice(method="laplace", epsilon="1")


def test_the_page_follows_the_sliders(studio: tuple[httpx.Client, StudioHome]) -> None:
    client, home = studio
    project = made_project(home)

    def live(**fields: str) -> str:
        asked = {"method": "laplace", "epsilon": "1", "k": "10", "rule": "yes", "clip": "yes", **fields}
        return unescape(client.get(f"/p/{project.id}/choose/live", params=asked).text)

    assert "1-DP" in live()
    assert "74 %" in live()
    assert "0.1-DP" in live(epsilon="0.1")
    assert "53 %" in live(epsilon="0.1")
    assert "practically empty" in live(epsilon="10")
    assert "q = 500" in live()
    assert "q = 50)" in live(k="100")
    assert "8-DP (mε for m = 8 attributes" in live(method="dp-mdav", shuffle="yes")
    assert "A ledger counts ε 8." in live(method="dp-mdav", shuffle="yes")
    assert "No limit on what an attacker can become sure of" in live(method="dp-mdav")
    assert "positive decimal" in live(epsilon="zero")
    assert "k = 400, by the method's public rule" in live(method="dp-sorted")
    assert "k = 400, by the method's public rule" in live(method="dp-sorted", k="20"), (
        "a typed k switches nothing off"
    )
    by_hand = live(method="dp-sorted", rule="", k="20")
    assert "--k 20" in by_hand
    assert "the method's public rule is switched off" in by_hand


def test_the_description_shows_in_every_label(studio: tuple[httpx.Client, StudioHome]) -> None:
    client, home = studio
    table = PEOPLE.select(["person", "age", "income", "rent"])
    project = made_project(home, table, SCHEMAS["kept"])
    text = unescape(client.get(f"/p/{project.id}/choose").text)
    assert "only if: nothing in age needs protection (released untouched, outside the promise)" in text
    assert "age: released untouched, so outside every promise." in text
    assert "Proved differential privacy" not in text


def test_the_step_waits_for_a_description(studio: tuple[httpx.Client, StudioHome]) -> None:
    client, home = studio
    schema = Schema(attributes=(Attribute(name="age", type=AttributeType.INTEGER, role=Role.PROTECT),))
    project = made_project(home, pa.table({"age": [1, 2, 3]}), schema)
    assert "Describe every attribute first." in client.get(f"/p/{project.id}/choose").text


def test_the_command_and_the_python_lines_do_the_same(
    studio: tuple[httpx.Client, StudioHome], tmp_path: Path
) -> None:
    client, home = studio
    project = made_project(home)
    sent(client, project, method="mdav", k="5", shuffle="yes")
    text = client.get(f"/p/{project.id}/choose").text
    command, python = (unescape(found) for found in re.findall(r"<code>(.*?)</code></pre>", text, re.S))
    start = f"{sys.executable} -c 'from coterie.cli import main; main()'"
    ran = subprocess.run(
        command.replace("coterie", start, 1),
        shell=True,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr
    said = subprocess.run(
        [sys.executable, "-c", python], cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert said.returncode == 0, said.stderr
    assert said.stdout.startswith("proved k-anonymity only (k = 5)")
    assert "k-anonymity only (k = 5)" in (tmp_path / "released.csv.certificate.json").read_text()


def test_every_method_says_in_plain_words_what_it_does() -> None:
    for method in all_methods().values():
        words = in_plain_words(method)
        assert words.endswith(".")
        assert len(words) > 60
        assert ("no noise" in words) is not method.adds_noise
        assert ("stands for a person" in words and "no row" not in words) is (not method.synthetic)


def test_a_promise_raises_what_protect_would() -> None:
    with pytest.raises(CoterieError, match="larger than the number of records"):
        promised(Choice(method="dp-ir", epsilon="1", k=61), described(), 60)
