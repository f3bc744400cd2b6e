"""A real browser for tests: headless Chromium, driven through a pipe by the Chrome DevTools Protocol.

Source of the protocol: https://chromedevtools.github.io/devtools-protocol/ ; messages are JSON ended by a zero byte, read by the
browser from file descriptor 3 and written to 4.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
WAIT = 120.0  # seconds for an answer


def installed() -> str | None:
    return next((path for path in map(shutil.which, NAMES) if path), None)


def required() -> str:
    """Return the browser's path, or skip the test visibly."""
    path = installed()
    if path is None or sys.platform == "win32":
        pytest.skip("no Chromium is installed: tests in a real browser (Debian: apt-get install chromium)")
    return path


class Browser:
    """A browser with one page."""

    def __init__(self, size: tuple[int, int] = (1400, 1000)) -> None:
        self.folder = tempfile.mkdtemp(prefix="scanviz-browser-")
        to_browser, self._from_us = os.pipe()
        self._to_us, from_browser = os.pipe()

        def connect() -> None:
            # Both first to high numbers: one of them might be 3 or 4 already.
            reading, writing = os.dup(to_browser), os.dup(from_browser)
            high = [os.dup(each) for each in (reading, writing)]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        options = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--remote-debugging-pipe",
            "--hide-scrollbars",
        ]
        options += [f"--user-data-dir={self.folder}", f"--window-size={size[0]},{size[1]}", "--no-first-run"]
        self._process = subprocess.Popen(
            [required(), *options, "about:blank"],
            preexec_fn=connect,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._number, self._unread, self.messages = 0, b"", []  # type: tuple[int, bytes, list[dict[str, Any]]]
        target = next(
            each for each in self.send("Target.getTargets")["targetInfos"] if each["type"] == "page"
        )
        self._session = self.send("Target.attachToTarget", targetId=target["targetId"], flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(WAIT)
        os.close(self._from_us)
        os.close(self._to_us)
        shutil.rmtree(self.folder, ignore_errors=True)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command to the page."""
        return self.send(method, self._session, **parameters)

    def send(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        os.write(self._from_us, json.dumps(message).encode() + b"\0")
        return self._answer(self._number)

    def _answer(self, number: int) -> dict[str, Any]:
        until = time.monotonic() + WAIT
        while time.monotonic() < until:
            while b"\0" in self._unread:
                line, _, self._unread = self._unread.partition(b"\0")
                found = json.loads(line)
                if found.get("id") == number:
                    assert "error" not in found, found["error"]
                    return found["result"]
                self.messages.append(found)
            got = os.read(self._to_us, 1 << 16)
            assert got, "the browser has gone"
            self._unread += got
        raise AssertionError(f"the browser did not answer in {WAIT:.0f} s")

    def open(self, path: Path, fragment: str = "") -> None:
        """Open a file and wait until it has loaded."""
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=f"{path.absolute().as_uri()}{fragment}")
        self.wait_for("document.readyState === 'complete' && location.protocol === 'file:'")

    def wait_for(self, condition: str) -> None:
        until = time.monotonic() + WAIT
        while not self.evaluate(condition):
            assert time.monotonic() < until, f"never true: {condition}"
            time.sleep(0.02)

    def evaluate(self, script: str) -> Any:
        """Return the value of an expression in the page."""
        found = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def press(self, key: str, code: str = "") -> None:
        """Press and let go of a key."""
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        number = {
            "Enter": 13,
            "Tab": 9,
            "Escape": 27,
            "ArrowLeft": 37,
            "ArrowUp": 38,
            "ArrowRight": 39,
            "ArrowDown": 40,
        }
        extra = {"windowsVirtualKeyCode": number[key]} if key in number else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, code=code or key, **text, **extra)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=code or key, **extra)

    def click(self, selector: str) -> None:
        """Click in the middle of an element with the mouse."""
        x, y = self.evaluate(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView({{block: 'center'}});"
            " const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def texts(self, selector: str) -> list[str]:
        return self.evaluate(
            f"[...document.querySelectorAll({json.dumps(selector)})].map((e) => e.textContent)"
        )

    def screenshot(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def problems(self) -> list[str]:
        """Return what went wrong in the page so far: exceptions, errors in the log, refused scripts."""
        self.evaluate("0")
        found = [message for message in self.messages if message.get("method") == "Runtime.exceptionThrown"]
        logged = [
            message["params"]["entry"]
            for message in self.messages
            if message.get("method") == "Log.entryAdded"
        ]
        return [json.dumps(each)[:400] for each in found] + [
            each["text"] for each in logged if each["level"] in ("error", "warning")
        ]

    def requests(self) -> list[str]:
        """Return the addresses that were asked for."""
        sent = (message for message in self.messages if message.get("method") == "Network.requestWillBeSent")
        return [each["params"]["request"]["url"] for each in sent]
