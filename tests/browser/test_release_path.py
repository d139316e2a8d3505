"""From a file to a verified certificate as a person does it, and everything that must not release twice."""

from __future__ import annotations

import shlex
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from studio_driving import Page, Studio, until

from coterie.studio.auth import StudioHome
from coterie.studio.project import Project
from coterie.studio.release_plan import ReleasePlan
from release_world import ledger, ready_project, spent
from shown_lines import run_lines

Shot = Callable[[str], None]
GO_ON = "Go on: see everything before it happens"


def project_of(page: Page, studio: Studio) -> Project:
    return Project(studio.home / "projects" / page.path.split("/")[2])


def verified(data: Path) -> None:
    """By the command, as a recipient would."""
    words = ["coterie", "certificate", "verify", str(data), f"{data}.certificate.json"]
    run_lines(data.parent, ("Command", shlex.join(words)))


@pytest.fixture
def ready(page: Page, studio: Studio, tmp_path: Path) -> Project:
    ledger(tmp_path)
    return ready_project(StudioHome(studio.home), tmp_path, people=20_000)


def to_confirmation(page: Page, project: Project, name: str = "out") -> None:
    page.open(f"/p/{project.id}/release")
    page.fill("Name", name)
    page.fill("Population", "people")
    page.submit(GO_ON)
    page.sees("Release this?")
    page.one("#understood").click()


def test_a_double_click(page: Page, ready: Project, tmp_path: Path, screenshot: Shot) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    to_confirmation(page, ready)
    ActionChains(page.driver).double_click(page.button("Release now")).perform()
    until(lambda: "Releasing" in page.text or "Verified" in page.text, "the release")
    screenshot("releasing")
    page.sees("Verified")
    page.driver.back()  # to the confirmation, and once more
    page.open(f"/p/{ready.id}/release/confirm")
    page.sees("Verified")
    page.driver.refresh()
    page.sees("Verified")
    assert spent(tmp_path) == 1
    assert len(Project(ready.folder).state.released) == 1


def test_two_tabs(page: Page, browser: Any, ready: Project, studio: Studio, tmp_path: Path) -> None:
    to_confirmation(page, ready)
    first = browser.current_window_handle
    browser.switch_to.new_window("tab")
    other = Page(browser, studio.root)
    other.open(f"/p/{ready.id}/release/confirm")
    other.one("#understood").click()
    browser.switch_to.new_window("tab")
    old = browser.current_window_handle
    third = Page(browser, studio.root)
    third.open(f"/p/{ready.id}/release/confirm")
    third.one("#understood").click()
    browser.switch_to.window(first)
    page.submit("Release now")
    browser.switch_to.window(browser.window_handles[1])
    other.submit("Release now")
    other.sees("Verified")
    browser.switch_to.window(first)
    page.sees("Verified")
    assert spent(tmp_path) == 1
    to_confirmation(page, ready, "second")
    page.sees("spends ε = 1 again")
    browser.switch_to.window(old)  # still shows the confirmation of the first release
    third.submit("Release now")
    assert "older plan" in third.problem()
    assert spent(tmp_path) == 1
    assert not (tmp_path / "second.csv").exists()


def test_killed_in_the_middle(
    page: Page, ready: Project, studio: Studio, tmp_path: Path, screenshot: Shot
) -> None:
    """The page that is open finds the studio again, and says what became of the release."""
    to_confirmation(page, ready)
    page.click("Release now")
    until(lambda: ReleasePlan.read(ready).state != "planned", "the release under way")  # type: ignore[union-attr]
    studio.kill()
    studio.start()
    page.open(f"/p/{ready.id}/release/outcome")
    until(lambda: "Nothing was published" in page.text or "Verified" in page.text, "what became of it")
    screenshot("release-after-a-kill")
    charged = spent(tmp_path)
    assert charged == (tmp_path / "out.csv").exists()
    if not charged:
        page.click("Begin anew")
        to_confirmation(page, ready)
        page.submit("Release now")
    page.sees("Verified")
    assert spent(tmp_path) == 1
    verified(tmp_path / "out.csv")


def test_restarted_between_plan_and_confirmation(
    page: Page, ready: Project, studio: Studio, tmp_path: Path
) -> None:
    to_confirmation(page, ready)
    studio.restart()
    page.submit("Release now")
    page.sees("Verified")
    assert spent(tmp_path) == 1


def test_more_than_is_left(page: Page, ready: Project, tmp_path: Path, screenshot: Shot) -> None:
    assert ready.state.choice is not None
    ready.change(choice=ready.state.choice.model_copy(update={"epsilon": "11"}))
    page.open(f"/p/{ready.id}/release")
    page.fill("Name", "mine")
    page.fill("Population", "people")
    page.submit(GO_ON)
    assert "has epsilon 10 left of 10; this release asks for 11" in page.problem()
    assert page.field("Name").get_attribute("value") == "mine"
    screenshot("release-too-much")
    assert spent(tmp_path) == 0


def test_with_the_keyboard_only(page: Page, ready: Project, tmp_path: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    page.open(f"/p/{ready.id}/release")
    until(lambda: _tab_to(page, "population"), "the field for the population")
    page.press("people", Keys.ENTER)  # Enter goes on, and makes no ledger
    page.sees("Release this?")
    until(lambda: _tab_to(page, "understood"), "the box")
    page.press(Keys.SPACE, Keys.TAB, Keys.ENTER)
    page.sees("Verified")
    assert spent(tmp_path) == 1


def _tab_to(page: Page, identity: str) -> bool:
    from selenium.webdriver.common.keys import Keys

    page.press(Keys.TAB)
    return bool(page.focused.get_attribute("id") == identity)


class _Elsewhere(BaseHTTPRequestHandler):
    """Another page of the same machine, with a form that sends itself to the studio."""

    def do_GET(self) -> None:
        action = self.path.partition("?")[2]
        page = f'<form method="post" action="{action}"><button>x</button></form><script>document.forms[0].submit()</script>'
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(page.encode())

    def log_message(self, *_: object) -> None: ...


def test_another_page_cannot_press_our_buttons(page: Page, studio: Studio, ready: Project) -> None:
    """Another port of this machine is the same site to a browser, so it sends our cookie along."""
    # A thread for each connection: Chromium opens some ahead of need, and one that says nothing would block all others.
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Elsewhere)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        page.open(f"http://127.0.0.1:{server.server_port}/?{studio.root}/p/{ready.id}/forget")
        page.sees("This request comes from another page")
        assert ready.folder.exists()
    finally:
        server.shutdown()
        server.server_close()


def test_a_wrong_and_a_used_address(browser: Any, studio: Studio) -> None:
    stranger = Page(browser, studio.root)
    stranger.open("/")
    stranger.sees("The studio does not know this browser")
    stranger.open("/?token=guess")
    stranger.sees("The token in this address is wrong or was used before")
    stranger.open(studio.address)
    stranger.sees("Projects on this machine")
    assert "token" not in browser.current_url
    browser.delete_all_cookies()
    stranger.open(studio.address)
    stranger.sees("The token in this address is wrong or was used before")
    stranger.open(studio.new_address())
    stranger.sees("Projects on this machine")
