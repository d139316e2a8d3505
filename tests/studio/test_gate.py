"""Who may speak to the studio: the browser that has the one-time address, from the studio's own pages. Nobody else."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from studio_client import made_project, visiting
from test_release_killed import Machine

from coterie.studio.auth import COOKIE, StudioHome

World = tuple[httpx.Client, StudioHome]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with visiting(tmp_path_factory.mktemp("gate") / "home") as (client, home):
        client.follow_redirects = False
        yield client, home


@pytest.fixture
def stranger(world: World) -> Iterator[httpx.Client]:
    """Another browser of the same machine: no cookie."""
    with httpx.Client(base_url=world[0].base_url, timeout=60, trust_env=False) as client:
        yield client


def token(home: StudioHome) -> str:
    running = home.running
    assert running is not None
    return home.token(running["boot"])


def test_the_address_lets_in_once(world: World, stranger: httpx.Client) -> None:
    fresh = token(world[1])
    entered = stranger.get("/", params={"token": fresh})
    assert entered.status_code == 303
    assert entered.headers["location"] == "/", "the token leaves the address bar"
    cookie = entered.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert stranger.get("/").status_code == 200
    assert stranger.get("/", params={"token": fresh}).headers["location"] == "/", "one who is in stays in"
    stranger.cookies.clear()
    again = stranger.get("/", params={"token": fresh})
    assert again.status_code == 403
    assert "used before" in again.text
    assert "set-cookie" not in again.headers


def test_a_wrong_token(world: World, stranger: httpx.Client) -> None:
    _, home = world
    nonce, _, seal = token(home).partition(".")
    of_another_server = home.token("an earlier boot")
    wrong = ["", "x", ".", f"{nonce}.", f"{nonce}.{seal[:-1]}0x", f"{nonce}x.{seal}", of_another_server]
    for text in wrong:
        answer = stranger.get("/", params={"token": text})
        assert answer.status_code == 403, text
        assert "set-cookie" not in answer.headers
        assert home.session not in answer.text


def test_without_the_cookie(world: World, stranger: httpx.Client) -> None:
    client, home = world
    project = made_project(home)
    own = {"Origin": str(client.base_url).rstrip("/")}
    for path in (
        "/",
        f"/p/{project.id}/load",
        f"/p/{project.id}/jobs/load",
        "/open?path=/etc/passwd",
        "/nothing",
    ):
        answer = stranger.get(path)
        assert answer.status_code == 403, path
        assert project.id not in answer.text
    for path in ("/new", f"/p/{project.id}/forget", f"/p/{project.id}/release/confirm"):
        assert stranger.post(path, headers=own).status_code == 403
    assert project.folder.exists()
    stranger.cookies.set(COOKIE, "guess")
    assert stranger.get("/").status_code == 403
    assert stranger.get("/", headers={"Cookie": f"{COOKIE}=\x7f; ;;=;"}).status_code == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "https://127.0.0.1"},
        {"Origin": ""},
        {},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_another_pages_form(world: World, stranger: httpx.Client, headers: dict[str, str]) -> None:
    """Whatever cookie the browser sends along."""
    _, home = world
    project = made_project(home)
    stranger.cookies.set(COOKIE, home.session)
    for method in ("POST", "PUT", "DELETE"):
        answer = stranger.request(method, f"/p/{project.id}/forget", headers=headers)
        assert answer.status_code == 403
        assert "from another page" in answer.text
    assert project.folder.exists()


def test_our_own_form(world: World, stranger: httpx.Client) -> None:
    _, home = world
    stranger.cookies.set(COOKIE, home.session)
    port = stranger.base_url.port
    for headers in (
        {"Origin": f"http://127.0.0.1:{port}"},
        {"Origin": f"http://localhost:{port}"},
        {"Sec-Fetch-Site": "same-origin"},
    ):
        project = made_project(home)
        assert stranger.post(f"/p/{project.id}/forget", headers=headers).status_code == 303
        assert not project.folder.exists()


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example", "[::1]"]
)
def test_another_host(world: World, host: str) -> None:
    """A name of an attacker that resolves to this machine."""
    answer = world[0].get("/", headers={"Host": host})
    assert answer.status_code == 421
    assert "Projects" not in answer.text
    assert world[0].get("/static/studio.css", headers={"Host": host}).status_code == 421


@pytest.mark.parametrize(
    "path",
    [
        "/p/../load",
        "/p/..%2f..%2f/load",
        "/p/%2e%2e/load",
        "/p/..%5c/load",
        "/p/%00/load",
        "/p//load",
        "/p/nothing/load",
        "/p/%C2%B2%C2%B3/load",
        "/p/" + "a" * 5000 + "/load",
        "/static/../gate.py",
        "/static/%2e%2e/gate.py",
        "/static/..%2fgate.py",
        "/static//etc/passwd",
        "/static/",
    ],
)
def test_no_way_out_of_the_folder(world: World, path: str) -> None:
    client, _ = world
    request = client.build_request("GET", "/")
    answer = client.send(
        httpx.Request("GET", request.url.copy_with(raw_path=path.encode()), headers=request.headers)
    )
    assert answer.status_code == 404, answer.text[:300]
    assert "import" not in answer.text
    assert "root:" not in answer.text


def test_browsers_that_ask_for_an_icon_get_one(world: World) -> None:
    client, _ = world
    answer = client.get("/favicon.ico", follow_redirects=True)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "image/svg+xml"


def test_every_answer_has_its_headers(world: World, stranger: httpx.Client) -> None:
    client, _ = world
    for answer in (
        client.get("/"),
        client.get("/nothing"),
        client.get("/static/studio.css"),
        stranger.get("/"),
        stranger.get("/", headers={"Host": "evil.example"}),
        client.post("/new", data={"kind": "path", "path": "/none.csv"}),
    ):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "same-origin"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert client.get("/").headers["cache-control"] == "no-store"


def test_static_files_need_no_cookie(stranger: httpx.Client) -> None:
    for name in ("studio.css", "studio.js", "icon.svg"):
        assert stranger.get(f"/static/{name}").status_code == 200


def test_no_page_loads_anything_from_elsewhere(world: World) -> None:
    client, home = world
    project = made_project(home)
    for path in ("/", f"/p/{project.id}/load", f"/p/{project.id}/release", "/static/studio.css"):
        text = client.get(path).text
        assert "//cdn" not in text
        assert 'src="http' not in text
        assert "url(http" not in text


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    machine = Machine(StudioHome(tmp_path_factory.mktemp("machine") / "home"))
    yield machine
    machine.end(signal.SIGKILL)


def printed(home: StudioHome, *more: str) -> Any:
    words = [sys.executable, "-c", "from coterie.cli import main; main()", "studio", "--no-browser", "--json"]
    return subprocess.run(
        [*words, "--home", str(home.folder), *more], capture_output=True, text=True, timeout=300, check=False
    )


def test_started_twice_and_restarted(machine: Machine) -> None:
    root = str(machine.client.base_url).rstrip("/")
    # A second command of the same folder ends at once, with a new address of the server that runs.
    address, unused = (json.loads(printed(machine.home).stdout)["address"] for _ in range(2))
    assert address != unused
    assert address.startswith(f"{root}/?token=")
    with httpx.Client(timeout=60, trust_env=False) as client:
        assert client.get(address).status_code == 303
        assert client.get(root).status_code == 200
    assert httpx.get(address, timeout=60, trust_env=False).status_code == 403, "good for one visit"
    other = printed(machine.home, "--port", "1")
    assert other.returncode == 6
    assert "runs already" in other.stderr
    # An open page goes on after a restart: the same port, the same session. An unused address of before does not.
    machine.end(signal.SIGKILL)
    machine.start()
    assert str(machine.client.base_url).rstrip("/") == root
    assert machine.client.get("/").status_code == 200
    assert httpx.get(unused, timeout=60, trust_env=False).status_code == 403


def test_only_this_machine(machine: Machine) -> None:
    port = machine.client.base_url.port
    assert port is not None
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing: asks which address this machine has
            own = probe.getsockname()[0]
        except OSError:
            pytest.skip("this machine has no network")
    if own.startswith("127."):
        pytest.skip("this machine has no address but its own")
    with pytest.raises(OSError, match="refused"):
        socket.create_connection((own, port), timeout=60)


def test_the_folder_is_its_owners(machine: Machine) -> None:
    for path in machine.home.folder.rglob("*"):
        assert path.stat().st_mode & 0o077 == 0 or path.parent.stat().st_mode & 0o077 == 0
    assert machine.home.folder.stat().st_mode & 0o077 == 0
    assert (machine.home.folder / "session").stat().st_mode & 0o077 == 0


def test_a_fault_inside_is_told_by_its_kind_only(
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The text of an exception may hold a value of the data: it reaches neither the page nor the terminal."""

    def broken(*_: object) -> object:
        raise ValueError("salary 91,234 of Jane")

    monkeypatch.setattr("coterie.studio.steps.load.Project.all", broken)
    answer = world[0].get("/")
    assert answer.status_code == 500
    assert "ValueError" in answer.text
    said = capfd.readouterr()
    for text in (answer.text, said.out, said.err, caplog.text):
        assert "Jane" not in text
    assert answer.headers["content-security-policy"]


def test_another_pages_link_opens_no_file(world: World, stranger: httpx.Client, tmp_path: Path) -> None:
    """A page of another server on this machine is of the same site, so the browser sends our cookie with its links."""
    _, home = world
    file = tmp_path / "people.csv"
    file.write_text("age\n" + "".join(f"{age}\n" for age in range(20, 40)))
    stranger.cookies.set(COOKIE, home.session)
    before = len(list(home.projects.iterdir()))
    for seal in ("", "0" * 64, "\u00e9", home.seal_of("/another/file.csv")):
        answer = stranger.get("/open", params={"path": str(file), "seal": seal})
        assert answer.status_code == 400
        assert "nothing was opened" in answer.text
        assert f'value="{file}"' in answer.text, "one click away for a person"
    assert stranger.get("/open", params={"path": '"><script>alert(1)</script>'}).text.count("<script>") == 0
    assert len(list(home.projects.iterdir())) == before
    stranger.cookies.clear()
    entered = stranger.get("/", params={"token": token(home), "open": str(file)})
    opened = stranger.get(entered.headers["location"])
    assert opened.status_code == 303
    assert opened.headers["location"].endswith("/load")
    assert len(list(home.projects.iterdir())) == before + 1
    again = stranger.get(entered.headers["location"])
    assert again.headers["location"] == opened.headers["location"], "loaded again, it is the same project"
