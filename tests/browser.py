"""A headless Chromium, spoken to over its debugging protocol; only what the tests of pages need."""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import websocket

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage", "--hide-scrollbars"),
    # Nothing reaches a network: every name fails, and a request by number meets a proxy that is not there.
    *("--host-resolver-rules=MAP * ~NOTFOUND", "--proxy-server=127.0.0.1:9"),
    *("--remote-debugging-port=0", "--remote-allow-origins=*"),
)
WAIT_S = 30.0

T = TypeVar("T")


def find_browser() -> str | None:
    """Return a Chromium or Chrome of this machine that starts, None if there is none; RESEED_BROWSER goes first."""
    asked = os.environ.get("RESEED_BROWSER")
    found = [asked] if asked else [path for name in BROWSERS if (path := shutil.which(name))]
    return next(filter(_starts, found), None)


def _starts(browser: str) -> bool:
    # Some systems put a script there that only says how to install one.
    try:
        done = subprocess.run([browser, "--version"], capture_output=True, timeout=WAIT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0 and b"Chrom" in done.stdout


class Page:
    """One open page. Everything it says to the console, asks of a network, and fails at is kept."""

    def __init__(self, socket: websocket.WebSocket) -> None:
        self._socket = socket
        self._number = 0
        self.console: list[str] = []
        self.requests: list[str] = []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method of the protocol and return its result."""
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": params}))
        while True:
            said = json.loads(self._socket.recv())
            if said.get("id") == self._number:
                assert "error" not in said, said
                result: dict[str, Any] = said["result"]
                return result
            self._note(said)

    def open(self, path: Path, width: int = 1280, height: int = 800) -> None:
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.run("window.before = true")  # the page that is left may be complete for a moment longer
        self.ask("Page.navigate", url=path.resolve().as_uri())
        self.until(lambda: self.run("!window.before && document.readyState") == "complete")

    def run(self, script: str) -> Any:
        """Return the value of a JavaScript expression."""
        found = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def until(self, true: Callable[[], T]) -> T:
        """Wait until a condition holds, and return what it gave."""
        end = time.monotonic() + WAIT_S
        while not (found := true()):
            assert time.monotonic() < end, "the page did not come to that"
            time.sleep(0.05)
        return found

    def click(self, x: float, y: float) -> None:
        """Press and release the mouse at a point of the window."""
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def click_on(self, selector: str) -> None:
        """Click the middle of the first element that fits."""
        box = self.run(
            f"(() => {{ const box = document.querySelector({json.dumps(selector)}).getBoundingClientRect();"
            " return [box.x + box.width / 2, box.y + box.height / 2]; })()"
        )
        self.click(*box)

    def settle(self) -> None:
        """Let animations end."""
        time.sleep(0.5)
        self.run("1")

    def shot(self, path: Path) -> None:
        """Save a picture of the window."""
        path.write_bytes(base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"]))

    def _note(self, said: dict[str, Any]) -> None:
        params = said.get("params", {})
        if said.get("method") in {"Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"}:
            self.console.append(json.dumps(params))
        elif said.get("method") == "Network.requestWillBeSent":
            url = params["request"]["url"]
            if not url.startswith(("data:", "file:", "about:")):
                self.requests.append(url)
        elif said.get("method") == "Page.javascriptDialogOpening":
            self.console.append(f"dialog: {params}")
            self._socket.send(
                json.dumps({"id": 0, "method": "Page.handleJavaScriptDialog", "params": {"accept": True}})
            )


@contextmanager
def browser_page(browser: str) -> Iterator[Page]:
    """Start a browser with an empty profile and yield its page."""
    profile = Path(tempfile.mkdtemp(prefix="reseed-browser-"))
    process = subprocess.Popen(
        [browser, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        port = _port(process, profile)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=WAIT_S) as answer:
            target = next(one for one in json.load(answer) if one["type"] == "page")
        socket = websocket.create_connection(target["webSocketDebuggerUrl"], timeout=WAIT_S)
        try:
            yield Page(socket)
        finally:
            socket.close()
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)
        shutil.rmtree(profile, ignore_errors=True)


def _port(process: "subprocess.Popen[bytes]", profile: Path) -> str:
    """Return the port of the debugging protocol, which the browser writes into its profile."""
    file, end = profile / "DevToolsActivePort", time.monotonic() + WAIT_S
    while time.monotonic() < end:
        lines = file.read_text().split() if file.is_file() else []
        if len(lines) == 2:
            return lines[0]
        assert process.poll() is None, f"the browser ended with {process.returncode}"
        time.sleep(0.05)
    raise AssertionError("the browser did not open its debugging port")
