"""The commands: what an administrator types, from nothing to a release; and what they say when it cannot be."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from federation_world import STUDY, Look, command, environment, people, until

from coterie.federation import errors as tree
from coterie.federation.owner.home import OwnerHome


def test_from_nothing_to_a_release(coterie: Any, shared: Any, tmp_path: Path) -> None:
    folder = str(shared.aggregator.folder)
    homes = []
    for name in ("typed-a", "typed-b"):
        code, said, _ = coterie("aggregator", "invite", folder, name, "--output", tmp_path / name, "--json")
        assert (code, said["owner"]) == (0, name)
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
        home = tmp_path / f"{name}-home"
        code, said, wrong = coterie("owner", "join", tmp_path / name, "--home", home, "--json")
        assert code == 0, wrong
        assert said["owner"] == name
        code, _, wrong = coterie("owner", "join", tmp_path / name, "--home", tmp_path / "other", "--json")
        assert (code, wrong["error"]) == (15, "InvitationSpent")
        code, _, _ = coterie(
            "ledger", "init", home / "ledger.sqlite", "--population", "people", "--lifetime", "3", "--json"
        )
        assert code == 0
        homes.append(OwnerHome.open(home))
    spec = {**STUDY, "title": "typed", "epsilon": 1.0, "owners": ["typed-a", "typed-b"]}
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(spec))
    code, study, _ = coterie("aggregator", "study", "new", folder, tmp_path / "study.yaml", "--json")
    assert (code, study["state"], study["epsilon"]) == (0, "PUBLISHED", "1")
    output = tmp_path / "release.parquet"
    code, _, wrong = coterie(
        "aggregator", "study", "release", folder, study["id"][:10], "--output", output, "--json"
    )
    assert (code, "PUBLISHED" in wrong["problem"]) == (11, True)
    for home in homes:
        path = shared.give(home, people(25, 4))
        home.policy_file.unlink()
        code, said, _ = coterie("owner", "inspect", "--home", home.folder, "--json")
        [asked] = said["studies"]
        assert (asked["epsilon_asked_of_you"], asked["remaining_budget"]) == ("1", {"people": "3"})
        words = ("--data", path, "--population", "people", "--disjoint", "--json")
        code, said, _ = coterie("owner", "approve", study["id"][:8], "--home", home.folder, *words)
        assert (code, said) == (0, {"study": study["id"], "decision": "approve"})

    def copied() -> bool:
        for home in homes:
            assert coterie("owner", "run", "--home", home.folder, "--once")[0] == 0
        return all((home.study(study["id"]) / "release.parquet").exists() for home in homes)

    until(copied, "both copies")
    code, said, _ = coterie(
        "aggregator", "study", "release", folder, study["id"][:10], "--output", output, "--json"
    )
    assert (code, said["rows"], output.exists()) == (0, 50, True)
    code, _, wrong = coterie(
        "aggregator", "study", "release", folder, study["id"][:10], "--output", output, "--json"
    )
    assert (code, "exists already" in wrong["problem"]) == (6, True)
    code, said, _ = coterie("aggregator", "study", "show", folder, study["id"][:10], "--json")
    assert said["study"]["state"] == "RELEASED"
    code, said, _ = coterie("owner", "ledger", "--home", homes[0].folder, "--json")
    (account,) = said["populations"]
    assert (account["spent"], account["individual"]["spent"]) == (
        "0",
        "2",
    )  # 2ε, and not differential privacy
    assert [(r["method"], r["loss"]["status"]) for r in account["releases"]] == [("idp-ls", "bounded")]
    assert [entry["event"] for entry in said["diary"]][-1] == "copied"
    # For people, not for programs.
    assert "RELEASED" in coterie("aggregator", "study", "show", folder)[1]
    assert "typed-a" in coterie("aggregator", "study", "show", folder, study["id"][:10])[1]
    assert "typed" in coterie("owner", "inspect", "--home", homes[0].folder)[1]
    shown = coterie("owner", "ledger", "--home", homes[0].folder)[1]
    assert "ε 2 iDP" in shown
    _, said, _ = coterie("ledger", "show", homes[0].default_ledger, "--json")
    assert said["populations"] == [account]


def test_cancel_refuse_and_leave(coterie: Any, shared: Any) -> None:
    homes = [shared.join(name) for name in ("gone-a", "gone-b")]
    study, other = shared.study(["gone-a", "gone-b"]), shared.study(["gone-a", "gone-b"], title="second")
    folder = str(shared.aggregator.folder)
    code, said, _ = coterie("aggregator", "study", "cancel", folder, study.id[:12], "--json")
    assert (code, said["state"]) == (0, "CANCELLED")
    code, _, wrong = coterie("aggregator", "study", "cancel", folder, study.id[:12], "--json")
    assert (code, wrong["error"]) == (16, "Conflict")
    code, _, wrong = coterie(
        "aggregator", "study", "release", folder, study.id, "--output", "x.parquet", "--json"
    )
    assert (code, wrong["error"]) == (18, "StudyEnded")
    code, said, _ = coterie("owner", "refuse", other.id[:8], "--home", homes[0].folder, "--json")
    assert (code, said["decision"]) == (0, "refuse")
    Look(shared, homes[0]).once()
    assert shared.part(other, "gone-a")["state"] == "REFUSED"
    code, _, wrong = coterie("owner", "leave", "--home", homes[1].folder, "--yes", "--json")
    assert code == 0, wrong
    code, _, wrong = coterie("owner", "inspect", "--home", homes[1].folder, "--json")
    assert (code, wrong["error"]) == (13, "NotAccepted")


@pytest.mark.parametrize(
    ("words", "code", "problem"),
    [
        (("aggregator", "init", "{tmp}/a", "--url", "http://plain:80"), 5, "https://HOST:PORT"),
        (("aggregator", "invite", "{tmp}/nothing", "x"), 11, "not the folder of an aggregator"),
        (("aggregator", "invite", "{aggregator}", "Bad Name"), 11, "small letters"),
        (("aggregator", "study", "show", "{aggregator}", "0" * 12), 11, "no such study"),
        (("aggregator", "study", "new", "{aggregator}", "{tmp}/none.yaml"), 11, "cannot be read"),
        (("owner", "join", "nonsense", "--home", "{tmp}/o"), 11, "not an invitation"),
        (("owner", "run", "--home", "{tmp}/nothing"), 11, "not the folder of an owner"),
    ],
)
def test_what_cannot_be(
    coterie: Any, shared: Any, tmp_path: Path, words: Any, code: int, problem: str
) -> None:
    filled = [word.format(tmp=tmp_path, aggregator=shared.aggregator.folder) for word in words]
    ended, _, wrong = coterie(*filled, "--json")
    assert (ended, problem in wrong["problem"]) == (code, True), wrong
    assert wrong["advice"]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"k": 2}, "k:"),
        ({"epsilon": 0}, "greater than 0"),
        ({"owners": ["nobody-here", "gone"]}, "No owner 'nobody-here'"),
        ({"deadline": "yesterday"}, "deadline"),
        ({"deadline": "2020-01-01T00:00:00Z"}, "past"),
        ({"colour": "blue"}, "unknown entry 'colour'"),
        ({"method": "idp-lss"}, "idp-lss"),
        ({"method": "ir"}, "adds no noise"),
        ({"method": "laplace"}, "groups nobody"),
        ({"minimum": 9}, "minimum"),
        ({"lead": "spec-a"}, "vertical"),
        ({"fragmentation": "diagonal"}, "fragmentation"),
    ],
)
def test_studies_that_cannot_be(coterie: Any, shared: Any, tmp_path: Path, change: Any, problem: str) -> None:
    for name in ("spec-a", "spec-b"):
        if not (shared.root / name).exists():
            shared.join(name)
    spec = {**STUDY, "title": "impossible", "owners": ["spec-a", "spec-b"], **change}
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(spec))
    code, _, wrong = coterie(
        "aggregator", "study", "new", shared.aggregator.folder, tmp_path / "study.yaml", "--json"
    )
    assert code in (5, 11)
    assert problem in wrong["problem"], wrong


def test_two_processes_in_one_folder(coterie: Any, shared: Any) -> None:
    home = shared.join("twice")
    with home.running():
        code, _, wrong = coterie("owner", "run", "--home", home.folder, "--json")
    assert (code, wrong["error"]) == (16, "Conflict")


def test_the_approval_page_speaks_json(shared: Any) -> None:
    home = shared.join("paged")
    home.journal.see(
        "1" * 64,
        {"id": "1" * 64, "study": {}, "state": "PUBLISHED", "contribution": "INVITED"}
        | dict.fromkeys(("reason", "contribution_reason", "group_key", "receipt", "release")),
    )
    words = command("owner", "page", "--home", str(home.folder), "--json")
    page = subprocess.Popen(words, env=environment(), stdout=subprocess.PIPE, text=True)
    shared.processes.append(page)
    assert page.stdout is not None
    started = json.loads(page.stdout.readline())
    assert (started["event"], started["owner"]) == ("listening", "paged")
    with httpx.Client(trust_env=False, timeout=60, follow_redirects=True) as http:
        assert http.get(started["address"]).status_code == 200
        secret = started["address"].partition("secret=")[2]
        form = {"secret": secret, "study": "1" * 64, "decision": "refuse", "reason": "no"}
        assert http.post(started["address"].partition("?")[0], data=form).status_code == 200
    assert json.loads(page.stdout.readline()) == {"event": "decided", "study": "1" * 64, "decision": "refuse"}
    page.kill()
    page.wait()
    page.stdout.close()


def test_exit_codes_are_documented_and_unique() -> None:
    classes = [
        value
        for value in vars(tree).values()
        if isinstance(value, type) and value.__module__ == tree.__name__
    ]
    codes = {kind.__name__: kind.exit_code for kind in classes}
    assert sorted(codes.values()) == list(range(11, 20))
    page = (Path(__file__).parents[2] / "docs" / "reference" / "exit-codes.md").read_text(encoding="utf-8")
    for name, code in codes.items():
        assert f"| {code} | {name} |" in page
        assert f"{name} " in (tree.__doc__ or "")
        assert f"exit {code}" in (tree.__doc__ or "")


def test_without_the_optional_part(coterie: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [
        name
        for name in sys.modules
        if name.startswith(("coterie.cli.aggregator", "coterie.federation.aggregator"))
    ]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "fastapi", None)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    code, _, wrong = coterie("aggregator", "init", "x", "--url", "https://x:1", "--json")
    assert (code, wrong["error"]) == (10, "MissingExtra")
    assert "coterie[federation]" in wrong["advice"]
    code, said, _ = coterie("--help")
    assert code == 0
    assert "aggregator" in said


def test_names_of_others_do_not_steer_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    from coterie.cli.output import console, table_of

    console.print("a title \x1b]0;owned\x07 \u202ereversed")
    console.print(table_of([("\x1b[2Jcleared",)], ("title",)))
    shown = capsys.readouterr().out
    assert "owned" in shown
    assert "cleared" in shown
    assert not {"\x1b", "\x07", "\u202e"} & set(shown)
