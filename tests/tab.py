"""A tab of a real browser, driven over its debugging protocol: typed into, clicked on, watched."""

from __future__ import annotations

import asyncio
import base64
import json
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

from tests.browser import CHROMIUM, QUIET

WITHIN_S = 30.0
_TIMELESS = [option for option in QUIET if not option.startswith("--virtual-time")]


class Tab:
    """What it asked for and complained of is kept."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse, session: str) -> None:
        self._socket = socket
        self._session = session
        self._count = 0
        self.asked: list[str] = []
        self.complaints: list[str] = []

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """What the browser answers to a command; whatever it tells meanwhile is noted."""
        self._count += 1
        number = self._count + 100
        sent = {"id": number, "method": method, "params": parameters, "sessionId": self._session}
        await self._socket.send_json(sent)
        while True:
            told = await self._socket.receive_json(timeout=WITHIN_S)
            if told.get("id") == number:
                assert "error" not in told, told
                result: dict[str, Any] = told["result"]
                return result
            self._note(told.get("method", ""), told.get("params", {}))

    def _note(self, event: str, told: dict[str, Any]) -> None:
        if event == "Network.requestWillBeSent":
            self.asked.append(told["request"]["url"])
        elif event == "Log.entryAdded" and told["entry"]["level"] in {"error", "warning"}:
            self.complaints.append(f"{told['entry']['text']} ({told['entry'].get('url')})")
        elif event == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(told["exceptionDetails"]))
        elif event == "Runtime.consoleAPICalled" and told["type"] in {"error", "warning"}:
            self.complaints.append(json.dumps(told["args"]))

    async def run(self, script: str) -> Any:
        """The value of an expression, or what it promises."""
        found = await self.call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    async def until(self, script: str) -> Any:
        """The value of an expression, as soon as it is true."""
        async with asyncio.timeout(WITHIN_S):
            while not (value := await self.run(script)):
                await asyncio.sleep(0.05)
        return value

    async def open(self, url: str) -> None:
        await self.call("Page.navigate", url=url)
        await self.until(f"location.href === {url!r} && document.readyState === 'complete'")

    async def click(self, selector: str) -> None:
        """Press the mouse in the middle of an element, as a person does."""
        found = json.dumps(selector)
        await self.run(f"document.querySelector({found}).scrollIntoView({{block: 'center'}})")
        box = await self.run(f"document.querySelector({found}).getClientRects()[0].toJSON()")
        at = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
        for kind in ("mousePressed", "mouseReleased"):
            await self.call(
                "Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **at
            )

    async def type(self, text: str) -> None:
        """Type where the cursor is, and press Enter."""
        await self.call("Input.insertText", text=text)
        for kind in ("keyDown", "keyUp"):
            await self.call(
                "Input.dispatchKeyEvent",
                type=kind,
                key="Enter",
                text="\r",
                windowsVirtualKeyCode=13,
            )

    async def look(self, width: int, height: int, *, dark: bool = False) -> None:
        """Have a screen of so many pixels, light or dark."""
        await self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        await self.call("Emulation.setEmulatedMedia", features=[scheme])

    async def picture(self, path: Path) -> None:
        shot = await self.call("Page.captureScreenshot", format="png")
        path.write_bytes(base64.b64decode(shot["data"]))


@asynccontextmanager
async def tab(folder: Path) -> AsyncIterator[Tab]:
    """A tab of a browser of its own, whose profile goes into the folder."""
    assert CHROMIUM is not None
    profile = folder / "profile"
    options = [*_TIMELESS, "--remote-debugging-port=0", f"--user-data-dir={profile}"]
    with subprocess.Popen(
        [CHROMIUM, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as browser:
        try:
            port, path = await _address(profile / "DevToolsActivePort")
            async with (
                aiohttp.ClientSession() as client,
                client.ws_connect(f"ws://127.0.0.1:{port}{path}", max_msg_size=0) as socket,
            ):
                yield await _opened(socket)
        finally:
            browser.terminate()


async def _address(file: Path) -> tuple[str, str]:
    """The port and the path that the browser writes down when it is ready."""
    async with asyncio.timeout(WITHIN_S):
        while not (file.exists() and file.read_text().count("\n")):  # noqa: ASYNC240  a line
            await asyncio.sleep(0.05)
    port, path = file.read_text().split()  # noqa: ASYNC240  as above
    return port, path


async def _opened(socket: aiohttp.ClientWebSocketResponse) -> Tab:
    answers = []
    for number, (method, parameters) in enumerate(
        [("Target.createTarget", {"url": "about:blank"}), ("Target.attachToTarget", {})]
    ):
        if answers:
            parameters |= {"targetId": answers[0]["targetId"], "flatten": True}
        await socket.send_json({"id": number, "method": method, "params": parameters})
        while (told := await socket.receive_json(timeout=WITHIN_S)).get("id") != number:
            pass
        answers.append(told["result"])
    opened = Tab(socket, answers[1]["sessionId"])
    for domain in ("Page", "Network", "Log", "Runtime"):
        await opened.call(f"{domain}.enable")
    return opened
