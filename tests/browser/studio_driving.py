"""A real studio in its own process, and hands for a real browser: find by the words that a person sees."""

from __future__ import annotations

import base64
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import httpx

from coterie.studio.app import address
from coterie.studio.auth import COOKIE, StudioHome

PATIENCE = 120.0  # seconds: the machine of a test run may be busy
_SIZES = {"desk": (1280, 900), "wide": (1920, 1080), "phone": (390, 844)}


def until(
    there: Callable[[], Any], what: str, seconds: float = PATIENCE, standing: Callable[[], str] = str
) -> Any:
    """Look until it is so; a page that is just being replaced counts as not yet."""
    from selenium.common.exceptions import WebDriverException

    ends = time.monotonic() + seconds
    while True:
        try:
            found = there()
        except WebDriverException:
            found = None
        if found:
            return found
        assert time.monotonic() < ends, f"not seen within {seconds:.0f} s: {what}\n{standing()}"
        time.sleep(0.05)


def lasting(find: Callable[[], Any]) -> Any:
    """An element that is found again when the page replaced it between finding and reading: as a person looks twice."""
    from selenium.common.exceptions import StaleElementReferenceException
    from selenium.webdriver.remote.webelement import WebElement

    def again(name: str) -> Callable[..., Any]:
        def read(element: Any, *arguments: Any) -> Any:
            while True:
                try:
                    plain = getattr(WebElement, name)
                    return plain.fget(element) if isinstance(plain, property) else plain(element, *arguments)
                except StaleElementReferenceException:
                    element._id = find().id  # `find` waits, and gives up

        return property(read) if isinstance(getattr(WebElement, name), property) else read

    names = [
        name
        for name in vars(WebElement)
        if not name.startswith("_") and name not in ("id", "parent", "session_id")
    ]
    found = find()
    return type("Lasting", (WebElement,), {name: again(name) for name in names})(found.parent, found.id)


class Studio:
    """`coterie studio` with a folder of its own. stop() asks it to end, kill() does not ask."""

    address: str  # with a one-time token
    root: str

    def __init__(self, home: Path, *arguments: str) -> None:
        self.home, self.arguments = home, arguments
        self.process: subprocess.Popen[str] | None = None
        self.start()

    def start(self, *more: str) -> str:
        """Returns the address with its one-time token."""
        line = [*self.command, *self.arguments, *more]
        # Not the state folder of the user who runs the tests, nor of the test that happens to start it.
        own = {**os.environ, "XDG_STATE_HOME": str(self.home.parent / "state")}
        self.process = subprocess.Popen(
            line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=own
        )
        assert self.process.stdout is not None
        printed = self.process.stdout.readline()
        assert printed, self._complaint()
        self.address = json.loads(printed)["address"]
        self.root = self.address.split("/?")[0]
        self.port = int(self.root.rpartition(":")[2])
        return self.address

    def renew(self) -> Studio:
        """As if just started: running, without a project, and with an address that nobody has used."""
        if self.process is not None and self.process.poll() is None:
            self._forget()
        if self.projects:  # a release that is not settled: no studio forgets that
            self.kill()
            shutil.rmtree(self.home)
        if self.process is None or self.process.poll() is not None:
            self.kill()
            self.start()
        home = StudioHome(self.home)
        running = home.running
        assert running is not None
        self.address = address(home, running["port"], running["boot"], None)
        return self

    def _forget(self) -> None:
        own, session = {"Origin": self.root}, {COOKIE: StudioHome(self.home).session}
        with httpx.Client(
            base_url=self.root, headers=own, cookies=session, timeout=PATIENCE, trust_env=False
        ) as ask:
            for project in self.projects:
                ask.post(f"/p/{project.name}/forget")

    @property
    def command(self) -> list[str]:
        start = "from coterie.cli import main; main()"
        return [sys.executable, "-c", start, "studio", "--home", str(self.home), "--no-browser", "--json"]

    def new_address(self) -> str:
        """What a second `coterie studio` of the same folder prints: a way in for another browser."""
        done = subprocess.run(self.command, capture_output=True, text=True, check=True, timeout=PATIENCE)
        fresh: str = json.loads(done.stdout)["address"]
        return fresh

    def stop(self) -> None:
        self._end(signal.SIGINT)

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def restart(self) -> str:
        self.stop()
        return self.start()

    def _end(self, with_signal: int) -> None:
        if self.process is None:
            return
        self.process.send_signal(with_signal)
        try:
            self.process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
        self.process = None

    def _complaint(self) -> str:
        assert self.process is not None
        return self.process.communicate(timeout=PATIENCE)[1]

    @property
    def projects(self) -> list[Path]:
        return sorted(path.parent for path in (self.home / "projects").glob("*/state.json"))


class Page:
    """One tab, used as a person uses it: by labels, names of buttons, and the text that stands there."""

    def __init__(self, driver: Any, root: str) -> None:
        self.driver, self.root = driver, root

    def open(self, path: str) -> Page:
        self.driver.get(path if path.startswith("http") else self.root + path)
        return self

    @property
    def text(self) -> str:
        # Asked twenty times a second: an element's `text` of WebDriver walks the whole page, twenty times slower.
        return str(self.driver.execute_script("return document.body.innerText"))

    @property
    def path(self) -> str:
        return str(self.driver.current_url).removeprefix(self.root)

    def sees(self, words: str, seconds: float = PATIENCE) -> None:
        until(lambda: words in self.text, f"'{words}'", seconds, self._standing)

    def sees_not(self, words: str, seconds: float = PATIENCE) -> None:
        until(lambda: words not in self.text, f"the end of '{words}'", seconds)

    def problem(self) -> str:
        """The sentence that says what is wrong."""

        def shown() -> list[str]:
            return [alert.text for alert in self.all("[role=alert]") if alert.is_displayed() and alert.text]

        return str(until(shown, "a problem", standing=self._standing)[0])

    def all(self, selector: str) -> list[Any]:
        found: list[Any] = self.driver.find_elements("css selector", selector)
        return found

    def one(self, selector: str) -> Any:
        return lasting(lambda: until(lambda: next(iter(self.all(selector)), None), selector))

    def button(self, words: str) -> Any:
        """A button or link by its text or its accessible name."""
        quoted = json.dumps(words, ensure_ascii=False)  # no word of ours holds a straight quote
        way = f"//*[self::button or self::a or self::summary][normalize-space()={quoted} or @aria-label={quoted}]"

        def shown() -> Any:
            found = self.driver.find_elements("xpath", way)
            return next((element for element in found if element.is_displayed()), None)

        return lasting(lambda: until(shown, f"the button '{words}'", standing=self._standing))

    def click(self, words: str) -> None:
        self._press(lambda: self.button(words))

    def click_label(self, label: str) -> None:
        """Tick a box, as by a click on its words."""
        self._press(lambda: self.field(label))

    def _press(self, find: Callable[[], Any]) -> None:
        """Bring into view and click; find it again if the page replaced it before it was in view."""

        def in_view() -> Any:
            element = find()
            self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
            return element

        until(in_view, "an element that stays while it is brought into view").click()

    def submit(self, words: str) -> None:
        """Click, and wait until the next page has come."""
        before = self.driver.find_element("tag name", "html")
        self.click(words)
        self.arrives_after(before)

    def arrives_after(self, before: Any) -> None:
        def new() -> bool:
            now = self.driver.find_element("tag name", "html")
            ready = self.driver.execute_script("return document.readyState") == "complete"
            return bool(now != before and ready)

        until(new, "the next page", standing=self._standing)

    def field(self, label: str) -> Any:
        """An input, select or text area by the text of its label or its aria-label."""
        script = """
            for (const one of document.querySelectorAll("input, select, textarea")) {
              const names = [one.getAttribute("aria-label"), ...[...(one.labels || [])].map(l => l.textContent)];
              if (names.some(name => name && name.replace(/\\s+/g, " ").trim() === arguments[0])) return one;
            }"""
        return lasting(
            lambda: until(
                lambda: self.driver.execute_script(script, label),
                f"the field '{label}'",
                standing=self._standing,
            )
        )

    def fill(self, label: str, value: str) -> None:
        self.write(self.field(label), value)

    def write(self, field: Any, text: str) -> None:
        """Over what stands there, at one stroke: the page hears of one change. WebDriver's `clear` tells it of an empty
        field first, and its keys cost a hundredth of a second each."""
        script = "const f = arguments[0]; f.scrollIntoView({block: 'center'}); f.focus(); f.select();"
        self.driver.execute_script(script, field)
        self.driver.execute_cdp_cmd("Input.insertText", {"text": text})

    def give_file(self, label: str, path: Path) -> None:
        self.field(label).send_keys(str(path))

    def choose(self, label: str, option: str) -> None:
        from selenium.webdriver.support.select import Select

        Select(self.field(label)).select_by_visible_text(option)

    def press(self, *keys: str) -> None:
        """Keys to whatever has the focus, as from a keyboard."""
        from selenium.webdriver.common.action_chains import ActionChains

        ActionChains(self.driver).send_keys(*keys).perform()

    @property
    def focused(self) -> Any:
        return self.driver.switch_to.active_element

    def theme(self, scheme: str, motion: str = "no-preference") -> None:
        """light or dark, and whether things may move (or "reduce"), as the system's settings."""
        wanted = {"prefers-color-scheme": scheme, "prefers-reduced-motion": motion}
        features = [{"name": name, "value": value} for name, value in wanted.items()]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def moving(self) -> list[str]:
        """What the style sheets animate, element by element."""
        script = """return [...document.querySelectorAll("*")].filter(one => {
            const style = getComputedStyle(one);
            return style.animationName !== "none" || style.transitionDuration.split(", ").some(time => time !== "0s");
          }).map(one => one.outerHTML.slice(0, 80))"""
        found: list[str] = self.driver.execute_script(script)
        return found

    def size(self, name: str) -> None:
        """desk (1280), wide (1920) or phone (390)."""
        self.driver.coterie_size = _SIZES[name]
        self._measure(*_SIZES[name])

    def _measure(self, width: int, height: int) -> None:
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def too_wide(self) -> int:
        """By how many pixels the page must be scrolled sideways."""
        # A phone makes the window wider instead of scrolling.
        script = "return Math.max(innerWidth, document.documentElement.scrollWidth)"
        return int(self.driver.execute_script(script)) - int(self.driver.coterie_size[0])

    def screenshot(self, path: Path) -> None:
        """The whole page, as if the window were that high."""
        width, height = self.driver.coterie_size
        self._measure(width, self.driver.execute_script("return document.documentElement.scrollHeight"))
        taken = self.driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True})
        self._measure(width, height)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(taken["data"]))

    def complaints(self, *rules: str) -> list[str]:
        """What axe-core finds against WCAG 2.2 A and AA and good practice, or these rules alone: a line each."""
        if not self.driver.execute_script("return 'axe' in window"):
            source = (files("selenium_axe_python") / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
            self.driver.execute_script(source)
        script = """
            const [rules, done] = arguments;
            const options = {resultTypes: ["violations"], ...(rules.length && {runOnly: rules})};
            axe.run(document, options).then(found => done(found.violations.map(fault =>
              `${fault.id} (${fault.impact}): ${fault.help}: ` + fault.nodes.slice(0, 3).map(n =>
                n.target.join(" ") + " " + n.any.concat(n.all).map(a => a.message).join("; ")).join(" | "))));"""
        found: list[str] = self.driver.execute_async_script(script, rules)
        return found

    def console(self) -> list[str]:
        """Errors in the browser's console, such as what the Content-Security-Policy stopped."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]

    def _standing(self) -> str:
        try:
            return f"at {self.driver.current_url}:\n{self.text[:2000]}"
        except Exception as error:  # only for a failing test's message
            return f"({type(error).__name__})"
