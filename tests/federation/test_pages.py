"""The status page and the approval page, in a real headless Chromium."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from federation_world import PATIENCE, Look, people, until

from coterie.federation.owner.approval_page import approval_page


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    webdriver = pytest.importorskip("selenium.webdriver")
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.skip("Chromium is not installed: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-dev-shm-usage",
        "--ignore-certificate-errors",
    ):
        options.add_argument(argument)
    service = webdriver.ChromeService(executable_path=driver)
    opened = webdriver.Chrome(options=options, service=service)
    opened.set_page_load_timeout(120)
    try:
        yield opened
    finally:
        opened.quit()


def shows(browser: Any, selector: str, word: str) -> None:
    """A click returns before the next page is there: look until it is."""
    from selenium.common.exceptions import WebDriverException

    def there() -> bool:
        try:
            return word in browser.find_element("css selector", selector).text
        except WebDriverException:
            return False

    until(there, f"'{word}' in {selector}")


def fits_a_phone(browser: Any, name: str) -> None:
    """A phone, a tablet, a small window; light and dark: nothing scrolls sideways, neither the page nor a part of it."""
    folder = os.environ.get("COTERIE_SCREENSHOTS")
    try:
        for width, scheme in ((1000, "light"), (800, "light"), (390, "dark"), (390, "light")):
            screen = {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": True}
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
            wanted = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
            browser.execute_cdp_cmd("Emulation.setEmulatedMedia", wanted)
            wide = browser.execute_script(
                "return [...document.querySelectorAll('*')]"
                ".filter(e => getComputedStyle(e).display !== 'inline' && e.closest('thead') === null"
                " && e.scrollWidth > Math.max(e.clientWidth, 1))"
                ".map(e => e.tagName + ' ' + e.className)"
            )
            assert wide == [], (name, width)
            if folder:
                browser.save_screenshot(f"{folder}/{name}-{width}-{scheme}.png")
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_the_board_in_a_browser(shared: Any, browser: Any) -> None:
    homes = [shared.join(name) for name in ("board-a", "board-b")]
    study = shared.study(["board-a", "board-b"], title="Stay <b>& age</b>")
    homes[0].journal.decide(study.id, {"decision": "refuse", "reason": "no ethics vote"})
    Look(shared, homes[0]).once()
    shared.await_state_any(study)
    browser.get(shared.url + "/")
    assert "Stay" not in browser.page_source
    fits_a_phone(browser, "sign-in")
    token = browser.find_element("id", "token")
    token.send_keys("x" * 43)
    token.submit()
    shows(browser, "[role=alert]", "not known here")
    token = browser.find_element("id", "token")
    token.send_keys(shared.token)
    token.submit()
    shows(browser, "#studies", "FAILED")
    board = browser.find_element("id", "studies").text
    assert "Stay <b>& age</b>" in board  # as text, not as markup
    assert "FAILED" in board
    fits_a_phone(browser, "board")
    browser.find_element("link text", "Stay <b>& age</b>").click()
    shows(browser, "#state", "FAILED")
    contributions = browser.find_element("id", "contributions").text
    assert "board-a REFUSED" in contributions
    assert "no ethics vote" in contributions
    assert "contribution" in browser.find_element("id", "diary").text
    assert not browser.find_elements("css selector", "form[action^='/studies']"), "read-only"
    fits_a_phone(browser, "study")
    assert shared.token not in browser.page_source


def test_the_board_without_a_token(shared: Any) -> None:
    with shared.http() as http:
        assert "Sign in" in http.get("/").text
        assert http.get("/studies/" + "0" * 64).status_code == 303
        assert http.post("/sign-in", data={"token": "wrong" * 10}).status_code == 403
        http.cookies.set("coterie-status", "guess" * 9)
        assert "Sign in" in http.get("/").text
    assert any(entry.get("page") == "status" for entry in shared.diary("turned away"))


def test_an_owner_decides_in_a_browser(shared: Any, browser: Any) -> None:
    homes = [shared.join(name) for name in ("page-a", "page-b")]
    path = shared.give(homes[0], people(30, 1))
    homes[0].policy_file.unlink()
    study = shared.study(["page-a", "page-b"], title="Length of stay")
    refused = shared.study(["page-a", "page-b"], title="Something else")
    Look(shared, homes[0]).once()
    with approval_page(homes[0]) as (server, address):
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            root = address.split("?")[0]
            browser.get(root)
            assert "Length of stay" not in browser.page_source
            browser.get(address)
            assert browser.current_url == root, "the secret has left the address bar"
            fits_a_phone(browser, "approval")
            section = browser.find_element("id", f"study-{study.id[:12]}")
            for word in ("age, stay, ward", "idp-ls", "people: 10"):
                assert word in section.text
            section.find_element("name", "data").send_keys("/nothing/there.csv")
            section.find_element("name", "population").send_keys("people")
            section.find_element("xpath", ".//button[text()='Approve']").click()
            shows(browser, "[role=alert]", "Nothing was said to the aggregator")
            section = browser.find_element("id", f"study-{study.id[:12]}")
            section.find_element("name", "data").send_keys(str(path))
            section.find_element("name", "population").send_keys("people")
            section.find_element("name", "disjoint").click()
            section.find_element("xpath", ".//button[text()='Approve']").click()
            shows(browser, f"#study-{study.id[:12]} .decision", "approve")
            assert "take it back" in browser.find_element("id", f"study-{study.id[:12]}").text
            section = browser.find_element("id", f"study-{refused.id[:12]}")
            section.find_element("name", "reason").send_keys("not ours")
            section.find_element("xpath", ".//button[text()='Refuse']").click()
            shows(browser, f"#study-{refused.id[:12]} .decision", "refuse")
            # Another page that guesses the port has neither cookie nor secret, and another host is not answered.
            with httpx.Client(base_url=root, timeout=PATIENCE, trust_env=False) as http:
                form = {
                    "study": refused.id,
                    "decision": "approve",
                    "data": "x",
                    "population": "y",
                    "secret": "guess",
                }
                assert http.post("/", data=form).status_code == 403
                assert http.get("/", headers={"Host": "evil.example"}).status_code == 404
        finally:
            server.shutdown()
            thread.join()
    said = homes[0].journal.decision(study.id)
    assert said is not None
    assert (said["decision"], said["source"]["disjoint"]) == ("approve", True)
    Look(shared, homes[0]).once()
    assert shared.part(study, "page-a")["state"] == "APPROVED"
    assert shared.part(refused, "page-a")["state"] == "REFUSED"
