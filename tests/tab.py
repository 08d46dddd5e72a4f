"""A tab of a real browser, driven over its debugging pipe: typed into, clicked on, watched."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import IO, Any

from tests.browser import CHROMIUM, QUIET

WITHIN_S = 120.0
_IN_REAL_TIME = [option for option in QUIET if not option.startswith("--virtual-time")]
# The browser reads commands from 3 and answers on 4.
_PIPED = 'exec 3<&"$0" 4>&"$1"; shift; exec "$@"'


class Tab:
    """What it asked for and complained of is kept."""

    def __init__(self, commands: IO[bytes], answers: IO[bytes]) -> None:
        self._commands = commands
        self._answers = answers
        self._session: str | None = None
        self._count = 0
        self._unread = b""
        self.asked: list[str] = []
        self.complaints: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Network", "Log", "Runtime"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """What the browser answers to a command; whatever it tells meanwhile is noted."""
        self._count += 1
        command: dict[str, Any] = {"id": self._count, "method": method, "params": parameters}
        if self._session:
            command["sessionId"] = self._session
        self._commands.write(json.dumps(command).encode() + b"\0")
        self._commands.flush()
        while (told := self._told()).get("id") != self._count:
            self._note(told.get("method", ""), told.get("params", {}))
        assert "error" not in told, told
        result: dict[str, Any] = told["result"]
        return result

    def _told(self) -> dict[str, Any]:
        while b"\0" not in self._unread:
            piece = self._answers.read1(1 << 16)  # type: ignore[attr-defined]
            assert piece, "the browser is gone"
            self._unread += piece
        message, _, self._unread = self._unread.partition(b"\0")
        told: dict[str, Any] = json.loads(message)
        return told

    def _note(self, event: str, told: dict[str, Any]) -> None:
        if event == "Network.requestWillBeSent":
            self.asked.append(told["request"]["url"])
        elif event == "Log.entryAdded" and told["entry"]["level"] in {"error", "warning"}:
            self.complaints.append(f"{told['entry']['text']} ({told['entry'].get('url')})")
        elif event == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(told["exceptionDetails"]))
        elif event == "Runtime.consoleAPICalled" and told["type"] in {"error", "warning"}:
            self.complaints.append(json.dumps(told["args"]))

    def run(self, script: str) -> Any:
        """The value of an expression."""
        found = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def until(self, script: str) -> None:
        """Wait until an expression is true."""
        while not self.run(script):
            time.sleep(0.05)

    def open(self, url: str) -> None:
        self.call("Page.navigate", url=url)
        self.until(f"location.href === {json.dumps(url)} && document.readyState === 'complete'")

    def click(self, selector: str) -> None:
        """Press the mouse in the middle of the first such element, as a person does."""
        found = f"document.querySelector({json.dumps(selector)})"
        self.run(f"{found}.scrollIntoView({{block: 'center', behavior: 'instant'}})")
        box = self.run(f"{found}.getClientRects()[0].toJSON()")
        at = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **at)

    def type(self, text: str) -> None:
        """Type where the cursor is, and press Enter."""
        self.call("Input.insertText", text=text)
        enter = {"key": "Enter", "text": "\r", "windowsVirtualKeyCode": 13}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, **enter)

    def look(self, width: int, height: int, *, dark: bool = False) -> None:
        """Have a screen of so many pixels, light or dark."""
        screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **screen)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])


@contextmanager
def tab(folder: Path) -> Iterator[Tab]:
    """A tab of a browser of its own, whose profile goes into the folder."""
    assert CHROMIUM is not None
    options = [*_IN_REAL_TIME, "--remote-debugging-pipe", f"--user-data-dir={folder / 'profile'}"]
    (reads, commands), (answers, writes) = os.pipe(), os.pipe()
    with (
        os.fdopen(commands, "wb") as to_browser,
        os.fdopen(answers, "rb") as from_browser,
        subprocess.Popen(
            ["bash", "-c", _PIPED, str(reads), str(writes), CHROMIUM, *options],  # noqa: S607
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(reads, writes),
        ) as browser,
    ):
        os.close(reads)
        os.close(writes)
        # A browser that hangs is ended, and then whoever waits for it hears that it is gone.
        limit = Timer(WITHIN_S, browser.kill)
        limit.start()
        try:
            yield Tab(to_browser, from_browser)
        finally:
            limit.cancel()
            browser.terminate()
