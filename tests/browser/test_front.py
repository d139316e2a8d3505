"""The front page and the way in, in a real browser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from studio_driving import Page, Studio


def test_the_demo_is_read_and_shown(page: Page, screenshot: Callable[[str], None]) -> None:
    page.sees("Projects on this machine")
    assert page.path == "/", "the token has left the address bar"
    page.submit("Use invented people")
    page.sees("5,000 rows")
    assert page.console() == []
    screenshot("load-demo")


def test_a_restart_keeps_the_page_open(page: Page, studio: Studio, browser: Any) -> None:
    port = studio.port
    studio.restart()
    assert studio.port == port
    page.open("/")
    page.sees("Projects on this machine")
