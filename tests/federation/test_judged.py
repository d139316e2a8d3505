"""What somebody tries who wants to break it, against real processes: replays, copied keys, a look into the database."""

from __future__ import annotations

import base64
import os
import shutil
import signal
import subprocess
from typing import Any

import pyarrow as pa
from federation_world import command, environment, people, until

from coterie.federation.documents.signed import canonical
from coterie.federation.owner.client import Client
from coterie.federation.owner.home import OwnerHome
from coterie.federation.secrets.blinding import normalised, pseudonyms
from coterie.federation.secrets.keys import SEALING, SIGNING


def test_a_recorded_request_is_worth_nothing_even_after_a_restart(federation: Any) -> None:
    home = federation.join("recorded")
    federation.join("other")
    study = federation.study(["recorded", "other"])
    target, body = f"/v1/studies/{study.id}/progress", canonical({"state": "WITHDRAWN"})
    with Client(home.url, home.aggregator, home.tls, home.keys, session="the-recorded-process") as client:
        headers = client.signed_headers("POST", target, body)

    def sent() -> int:
        with federation.http() as http:
            return http.post(target, content=body, headers=headers).status_code

    assert sent() == 200
    assert sent() == 401
    federation.kill_server()
    federation.serve()
    assert sent() == 401
    assert federation.part(study, "recorded")["state"] == "WITHDRAWN"
    assert federation.diary("turned away")


def test_a_copied_folder(shared: Any) -> None:
    """Of two processes with one key one goes on and one waits and says so; both diaries have it."""
    home = shared.join("original")
    first = shared.run_owner(home)
    until(lambda: (home.folder / "session").exists(), "the first process")

    def polls() -> bool:
        with shared.aggregator.database.reading() as connection:
            found = connection.exec_driver_sql("SELECT session FROM owners WHERE name = 'original'").scalar()
        return found is not None

    until(polls, "the first process to be heard")
    copy = shared.root / "copy"
    first.send_signal(signal.SIGSTOP)  # or files of its database would come and go while they are copied
    os.waitpid(first.pid, os.WUNTRACED)
    shutil.copytree(home.folder, copy, ignore=shutil.ignore_patterns("run.log"))
    first.send_signal(signal.SIGCONT)
    words = command("owner", "run", "--home", str(copy), "--json")
    second = subprocess.Popen(words, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    shared.processes.append(second)
    folders = (home.folder, copy)

    def told() -> Any:
        return [f for f in folders if OwnerHome.open(f).journal.noted("turned away")]

    [turned_away, *_] = until(told, "one of them to be told")
    [line, *_] = OwnerHome.open(turned_away).journal.noted("turned away")
    assert "Another process acts with this owner" in line["reason"]
    assert first.poll() is second.poll() is None, "it waits: the other may have been killed"
    assert [line for line in shared.diary("second process") if line["owner"] == "original"]
    for process in (first, second):
        process.kill()
        process.wait()


def test_two_owners_with_one_key(shared: Any, coterie: Any, tmp_path: Any) -> None:
    home = shared.join("keyholder")
    (tmp_path / "home").mkdir()
    for name in (SIGNING, SEALING):
        shutil.copy(home.folder / name, tmp_path / "home" / name)
    invitation = tmp_path / "second.invitation"
    invitation.write_text(shared.invitation("second").to_text())
    join = ("owner", "join", invitation, "--json", "--home")
    code, _, wrong = coterie(*join, tmp_path / "home")
    assert (code, "another owner's already" in wrong["problem"]) == (11, True), wrong
    assert coterie(*join, tmp_path / "new")[0] == 0, "the invitation was not spent"


def test_what_the_aggregator_keeps_of_a_vertical_study(federation: Any) -> None:
    """Neither an id, nor a pseudonym, nor the group key, nor a raw value: not in the database, not in its log."""
    homes = [federation.join(name) for name in ("clinic", "registry")]
    raw = people(60, 7)
    marked = raw.set_column(
        2,
        "stay",
        pa.array([number + 0.123456789 for number in range(60)])[:60].take(
            pa.array([number % 50 for number in range(60)])
        ),
    )
    federation.give(homes[0], raw.select(["patient", "age", "ward"]))
    federation.give(homes[1], marked.select(["patient", "stay"]))
    study = federation.study(
        {"clinic": ["age", "ward"], "registry": ["stay"]},
        fragmentation="vertical", identifier="patient", lead="clinic",
    )  # fmt: skip
    federation.finish(study, homes)
    folder = federation.aggregator.folder
    until(lambda: not list((folder / "chunks").iterdir()), "the parts to be forgotten")
    key = (homes[0].study(study.id) / "group.key").read_bytes()
    ids = [normalised(name) for name in raw.column("patient").to_pylist()]
    names = [bytes(value) for value in pseudonyms(ids, key, study.id).values.to_pylist()]
    hidden = [*(text.encode() for text in ids), *names, *(name.hex().encode() for name in names), key]
    hidden += [base64.b64encode(key), key.hex().encode(), b".123456789", b"PRIVATE KEY-----"]
    for path in folder.rglob("*"):
        if path.is_file() and path.suffix not in (".pem", ".key"):
            held = path.read_bytes()
            assert not [text for text in hidden if text in held or text in held.lower()], path.name
    assert not list((folder / "work").iterdir())

    def erased() -> bool:
        with federation.aggregator.database.reading() as connection:
            return connection.exec_driver_sql("SELECT shuffle_key FROM studies").scalar() is None

    assert erased()
