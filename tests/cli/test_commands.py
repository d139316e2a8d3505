"""The other commands: help everywhere, methods, schema draft → check → protect, certificate show, completion."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from pyarrow.csv import write_csv

import coterie
from coterie.cli.app import app
from coterie.errors import CoterieError
from coterie.methods import all_methods
from coterie.table.memory_limit import room_for_work

Run = Callable[..., Any]
Arguments = Callable[..., list[str]]


def _commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield path, command
    for name in getattr(command, "commands", {}):
        yield from _commands(command.get_command(None, name), (*path, name))


COMMANDS = dict(_commands(typer.main.get_command(app)))
PLAIN = (("certificate", "schema"), ("aggregator", "serve"), ("owner", "page"))


@pytest.mark.parametrize("path", COMMANDS, ids=lambda path: " ".join(path) or "coterie")
def test_help_of_every_command(run: Run, path: tuple[str, ...]) -> None:
    for flag in ("--help", "-h"):
        helped = run(*path, flag)
        assert helped.code == 0
        assert "Usage" in helped.words
    command = COMMANDS[path]
    assert command.help or command.callback.__doc__


@pytest.mark.parametrize(
    "path",
    [path for path, command in COMMANDS.items() if not hasattr(command, "commands") and path not in PLAIN],
    ids=" ".join,
)
def test_every_command_speaks_json(path: tuple[str, ...]) -> None:
    """`certificate schema` prints nothing but JSON; servers answer over HTTP."""
    options = {option for parameter in COMMANDS[path].params for option in parameter.opts}
    assert "--json" in options


def test_the_exit_codes_are_documented(run: Run) -> None:
    """One code a kind of error, each in the help and in the tree of errors."""
    from coterie import errors

    kinds = [
        kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, CoterieError)
    ]
    codes = [kind.exit_code for kind in kinds]
    assert len(set(codes)) == len(codes)
    helped = run("--help").words
    for kind in kinds:
        assert f"{kind.exit_code} " in helped
        if kind is not CoterieError:
            assert kind.__name__ in (errors.__doc__ or "")
            assert f"exit {kind.exit_code}" in (errors.__doc__ or "")


def test_the_version(run: Run) -> None:
    shown = run("--version")
    assert (shown.code, shown.out) == (0, f"coterie {coterie.__version__}\n")


def test_no_arguments_help(run: Run) -> None:
    assert "coterie schema draft" in run().words


def test_an_unknown_command_suggests_a_near_one(run: Run) -> None:
    refused = run("protekt")
    assert refused.code == 2
    assert "protect" in refused.words


def test_methods_lists_every_method(run: Run) -> None:
    listed = run("methods", "--json").json
    assert [entry["name"] for entry in listed] == list(all_methods())
    for entry in listed:
        assert all(
            entry[key] for key in ("title", "papers", "stages", "status", "why", "attack", "example_label")
        )
    words = run("methods").words
    assert all(entry["status"] in words for entry in listed)


@pytest.mark.parametrize("name", all_methods())
def test_methods_show(run: Run, name: str) -> None:
    shown = run("methods", "show", name)
    assert shown.code == 0
    for heading in ("Formula", "Status", "Known attack", "Why", "Paper"):
        assert heading in shown.words
    assert run("methods", "show", name, "--json").json["name"] == name


def test_methods_show_suggests(run: Run) -> None:
    refused = run("methods", "show", "idp-cbsl")
    assert refused.code == 5
    assert "Did you mean 'idp-cbls'?" in refused.words


def test_draft_fill_check_protect(run: Run, folder: Path, protect_arguments: Arguments) -> None:
    drafted = run("schema", "draft", "people.csv", "--output", "draft.yaml", "--json")
    assert {"age", "income"} <= set(drafted.json["to_fill"])
    unready = run("schema", "check", "draft.yaml")
    assert unready.code == 3
    assert "no domain" in unready.words
    text = (folder / "draft.yaml").read_text()
    assert "#" in text  # a commented draft
    content = yaml.safe_load(text)
    for name, upper in (("age", 120), ("income", 500_000)):
        content["attributes"][name]["domain"] = {"lower": 0, "upper": upper}
    content["attributes"]["region"] = {"role": "identifier"}
    (folder / "draft.yaml").write_text(yaml.safe_dump(content))
    checked = run("schema", "check", "draft.yaml", "--json")
    assert checked.json["ready"] is True
    assert checked.json["roles"]["identifier"] == ["name", "region"]
    assert "ready" in run("schema", "check", "draft.yaml").words
    assert run(*protect_arguments(schema="draft.yaml")).code == 0


def test_bounds_from_the_data_are_marked_to_the_end(
    run: Run, folder: Path, protect_arguments: Arguments
) -> None:
    drafted = run("schema", "draft", "people.csv", "--output", "s.yaml", "--bounds-from-data", "1.5")
    assert drafted.code == 0
    assert yaml.safe_load((folder / "s.yaml").read_text())["attributes"]["age"]["domain"]["source"] == "data"
    protected = run(*protect_arguments(schema="s.yaml", method="laplace", k=None, json=True)).json
    assert protected["guarantee"]["status"] == "refuted"
    assert any("taken from the data" in note for note in protected["notes"])


@pytest.mark.parametrize("factor", ["0.5", "nan", "inf", "-1"])
def test_a_bad_factor_is_refused(run: Run, folder: Path, factor: str) -> None:
    refused = run("schema", "draft", "people.csv", "--output", "s.yaml", "--bounds-from-data", factor)
    assert refused.code == 5
    assert not (folder / "s.yaml").exists()


def test_a_draft_never_overwrites_without_force(run: Run, folder: Path) -> None:
    before = (folder / "schema.yaml").read_bytes()
    assert run("schema", "draft", "people.csv", "--output", "schema.yaml").code == 6
    assert (folder / "schema.yaml").read_bytes() == before
    assert run("schema", "draft", "people.csv", "--output", "people.csv", "--force").code == 6
    assert run("schema", "draft", "people.csv", "--output", "schema.yaml", "--force").code == 0


def test_certificate_show_in_words(run: Run, folder: Path, protect_arguments: Arguments) -> None:
    run(*protect_arguments())
    shown = run("certificate", "show", "out.csv.certificate.json")
    for words in ("refuted", "replace one record", "exact discrete Laplace", "region", "sha256"):
        assert words in shown.words
    assert run("certificate", "show", "out.csv.certificate.json", "--json").json["method"] == "dp-ir"


def test_methods_fit_a_terminal(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(
        "COLUMNS", "80"
    )  # a console put in place would stay with whoever is imported meanwhile
    listed = run("methods").out
    assert all(f" {name} " in listed for name in all_methods()), "a name is to be copied"
    assert len(listed.splitlines()) < 80


def test_a_certificate_speaks_of_no_k_that_played_no_part(run: Run, folder: Path, tmp_path: Path) -> None:
    people = coterie.demo_population(1000)
    for method, k, told in (
        ("dp-synthetic", None, "nobody is grouped"),
        ("laplace", None, "nobody is grouped"),
        ("dp-ir", 10, "k = 10, 100 clusters"),
    ):
        out = tmp_path / f"{method}.csv"
        coterie.publish(people, coterie.demo_schema(), out, method=method, epsilon=1, k=k)
        shown = run("certificate", "show", f"{out}.certificate.json").words
        assert told in shown
        assert "1,000 rows" in shown


def test_what_is_missing_or_too_small_is_told_as_it_is(tmp_path: Path) -> None:
    people, schema = coterie.demo_population(20), coterie.demo_schema()
    with pytest.raises(CoterieError, match=r"private key file .*nokey cannot be read \(No such file"):
        coterie.publish(
            people, schema, tmp_path / "o.csv", method="laplace", epsilon=1, sign=tmp_path / "nokey"
        )
    (tmp_path / "text").write_text("no key")
    with pytest.raises(CoterieError, match="is no Ed25519 key"):
        coterie.publish(
            people, schema, tmp_path / "o.csv", method="laplace", epsilon=1, sign=tmp_path / "text"
        )
    with pytest.raises(CoterieError, match="limit of 1 byte is too small"):
        room_for_work(1)
    with pytest.raises(CoterieError, match="limit of 20 MB is too small"):
        room_for_work(20 * 10**6)


def test_compare_takes_only_the_measures_that_are_named(run: Run, tmp_path: Path) -> None:
    write_csv(coterie.demo_population(40), tmp_path / "people.csv")
    (tmp_path / "schema.yaml").write_text(coterie.demo_schema().to_yaml(), encoding="utf-8")
    asked = ["compare", tmp_path / "people.csv", "--schema", tmp_path / "schema.yaml", "--methods", "laplace"]
    asked += ["--epsilon", "1", "--runs", "1", "--no-risk", "--output", tmp_path / "found", "--measures"]
    refused = run(*map(str, asked), "relative-error")
    assert refused.code == 5
    assert "ranked" in refused.words
    assert not (tmp_path / "found").exists(), "before the work"
    assert run(*map(str, asked), "jensen-shannon,relative-error").code == 0
    header = (tmp_path / "found" / "results.csv").read_text().splitlines()[0]
    assert header.replace('"', "").split(",")[4:] == ["jensen-shannon", "relative-error"]


def test_certificate_schema_is_the_published_one(run: Run) -> None:
    published = Path(__file__).resolve().parents[2] / "docs/reference/certificate.schema.json"
    assert run("certificate", "schema").json == json.loads(published.read_text())


@pytest.mark.parametrize("name", ["[bold]", "[/]", "a[/red]b", "[link=x]y"])
def test_names_with_brackets_are_printed_as_they_are(
    run: Run, tmp_path: Path, protect_arguments: Arguments, name: str
) -> None:
    """Rich reads square brackets as styles: a column may well have them in its name."""
    (tmp_path / "d.csv").write_text(f'"{name}",kept{name}\n1,2\n2,3\n3,4\n')
    assert run("schema", "draft", "d.csv", "-o", "s.yaml").code == 0
    content = {
        name: {"role": "protect", "domain": {"lower": 0, "upper": 9}},
        f"kept{name}": {"role": "keep"},
    }
    (tmp_path / "s.yaml").write_text(yaml.safe_dump({"attributes": content}))
    checked = run("schema", "check", "s.yaml")
    assert checked.code == 0
    assert name in checked.words
    output = f"{name.replace('/', '')}.csv"
    done = run(*protect_arguments("d.csv", schema="s.yaml", k="2", output=output, certificate="c.json"))
    assert done.code == 0, done.err
    assert f"kept{name}" in done.words
    shown = run("certificate", "show", "c.json")
    assert shown.code == 0
    assert f"kept{name}" in shown.words


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shell_completion(shell: str, monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    # The shell that runs the tests (make's is sh) is not the one that is asked for.
    monkeypatch.setattr("shellingham.detect_shell", lambda: (shell, f"/bin/{shell}"))
    shown = run("--show-completion", shell)
    assert shown.code == 0
    assert "_COTERIE_COMPLETE" in shown.out


def test_the_module_runs_as_a_program(folder: Path) -> None:
    """Once for real, in a process of its own: what a shell sees."""
    program = [sys.executable, "-c", "from coterie.cli import main; main()"]
    good = subprocess.run([*program, "--version"], capture_output=True, text=True, check=False)
    assert (good.returncode, good.stdout.startswith("coterie ")) == (0, True)
    arguments = [
        "protect",
        "people.csv",
        "-s",
        "schema.yaml",
        "-m",
        "ir",
        "-e",
        "0",
        "-k",
        "3",
        "-o",
        "o.csv",
    ]
    bad = subprocess.run([*program, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    assert bad.returncode == 5
    assert bad.stdout == ""
    assert "greater than 0" in bad.stderr


def test_the_demo(run: Run, tmp_path: Path) -> None:
    done = run("demo", "--output", "demo", "--json")
    assert done.code == 0, done.err
    assert [row["method"] for row in done.json["methods"]] == list(all_methods())
    for name in all_methods():
        verified = run("certificate", "verify", f"demo/{name}/release.csv", f"demo/{name}/certificate.json")
        assert verified.code == 0
    for figure in ("utility.png", "distributions.png"):
        assert (tmp_path / "demo" / figure).read_bytes().startswith(b"\x89PNG")
    for page in (
        "release/out.csv.dossier.pdf",
        "release/out.csv.public-dossier.pdf",
        "comparison/report.html",
    ):
        assert (tmp_path / "demo" / page).is_file()
    assert "dp-synthetic changes the data least" in (tmp_path / "demo/comparison/report.html").read_text(
        "utf-8"
    )
    assert done.json["methods"][0]["method"] == "dp-synthetic"  # the one to begin with
    assert run("demo", "--output", "demo").code == 6
