"""The studio in a real headless Chromium: one process of each for all tests, and as new for every one of them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from studio_driving import Page, Studio


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One browser per test run: starting it costs seconds. `page` cleans it between tests."""
    webdriver = pytest.importorskip("selenium.webdriver")
    program, service = shutil.which("chromium"), shutil.which("chromedriver")
    if program is None or service is None:
        pytest.skip("Chromium is not installed: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    folder = tmp_path_factory.mktemp("browser")
    for argument in (
        "--headless=new",
        "--kiosk",  # no tabs and buttons of its own to paint
        "--no-sandbox",
        "--disable-dev-shm-usage",
        f"--user-data-dir={folder}",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "SEVERE"})
    opened = webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path=service))
    opened.set_page_load_timeout(120)
    opened.set_script_timeout(120)
    try:
        yield opened
    finally:
        opened.quit()


@pytest.fixture
def start_studio(tmp_path: Path) -> Iterator[Callable[..., Studio]]:
    """start_studio("--largest-upload", "1"): a studio with options; ended after the test."""
    pytest.importorskip("fastapi")
    started: list[Studio] = []

    def start(*arguments: str) -> Studio:
        started.append(Studio(tmp_path / f"studio-home-{len(started)}", *arguments))
        return started[-1]

    yield start
    for studio in started:
        studio.kill()


@pytest.fixture(scope="session")
def everybodys_studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """One studio per test run: its start, and that of its worker, cost more than most tests."""
    pytest.importorskip("fastapi")
    started = Studio(tmp_path_factory.mktemp("studio") / "home")
    yield started
    started.kill()


@pytest.fixture
def studio(everybodys_studio: Studio) -> Studio:
    """A studio as just started. A test may stop it, kill it and start it again."""
    return everybodys_studio.renew()


@pytest.fixture
def browser(driver: Any, everybodys_studio: Studio, tmp_path: Path) -> Iterator[Any]:
    """The browser as new: one quiet tab at 1280 px, light, no cookie; downloads go to tmp_path/downloads."""
    from selenium.common.exceptions import WebDriverException

    driver.execute_cdp_cmd("Storage.clearDataForOrigin", {"origin": "*", "storageTypes": "all"})
    driver.execute_cdp_cmd("Network.clearBrowserCookies", {})
    downloads = {"behavior": "allow", "downloadPath": str(tmp_path / "downloads")}
    driver.execute_cdp_cmd("Browser.setDownloadBehavior", downloads)
    first = driver.current_window_handle
    _light_desk(driver)
    driver.get_log("browser")
    yield driver
    for handle in driver.window_handles:
        if handle != first:
            driver.switch_to.window(handle)
            driver.close()
    driver.switch_to.window(first)
    # A picture of the studio, not an empty page: from there to its pages, Chromium would start a process.
    with suppress(WebDriverException):  # the test has stopped the studio
        driver.get(f"{everybodys_studio.root}/static/icon.svg")


@pytest.fixture
def page(browser: Any, studio: Studio) -> Page:
    """A tab that has come in by the studio's address and shows the front page."""
    return Page(browser, studio.root).open(studio.address)


@pytest.fixture
def screenshot(browser: Any) -> Callable[[str], None]:
    """screenshot("load-dark") keeps the whole page as $COTERIE_ARTEFACTS/load-dark.png; without that folder, nothing."""
    folder = os.environ.get("COTERIE_ARTEFACTS")
    return lambda name: Page(browser, "").screenshot(Path(folder) / f"{name}.png") if folder else None


MOST_BYTES = 1_500_000  # of a page with all that it loads
OTHER = {"dark": "light", "light": "dark"}
# Axe's rules whose answer depends on colours. Nothing else does, so the other theme needs no other rule.
COLOURS = ("color-contrast", "link-in-text-block")


@pytest.fixture
def axe(page: Page) -> Callable[[], None]:
    """axe() fails with what axe-core finds on the page that is open, at 390 and 1280 pixels, in both themes."""
    if find_spec("selenium_axe_python") is None:
        pytest.skip("axe-core is not installed: pip install selenium-axe-python")

    def check() -> None:
        for size, scheme in (("phone", "dark"), ("desk", "light")):
            page.size(size)
            for theme, rules in ((OTHER[scheme], COLOURS), (scheme, ())):
                page.theme(theme)
                found = page.complaints(*rules)
                assert not found, "\n".join([f"{size}, {theme}:", *found])

    return check


@pytest.fixture
def everywhere(
    page: Page, axe: Callable[[], None], screenshot: Callable[[str], None]
) -> Callable[[str], None]:
    """The page that is open fits, is accessible, can keep still, loads little and only from the studio, and logs no error.

    It is kept as pictures of both themes.
    """

    def check(name: str) -> None:
        for size in ("phone", "desk"):
            page.size(size)
            assert page.too_wide() <= 0, (name, size)
            for scheme in OTHER if "COTERIE_ARTEFACTS" in os.environ else ():
                page.theme(scheme)
                screenshot(f"{name}-{size}-{scheme}")
        axe()
        page.theme("light", motion="reduce")
        assert page.moving() == [], name
        page.theme("light")
        script = """return [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
            .map(one => [one.name, one.decodedBodySize])"""
        loaded = page.driver.execute_script(script)
        assert [place for place, _ in loaded if not place.startswith((f"{page.root}/", "data:"))] == [], name
        assert sum(size for _, size in loaded) < MOST_BYTES, name
        assert page.console() == []

    return check


def _light_desk(driver: Any) -> None:
    page = Page(driver, "")
    page.size("desk")
    page.theme("light")
