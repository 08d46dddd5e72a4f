"""What stands between a recipe and those it talks to, and kills it at the worst moments."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Self

import httpx

from tests.ports import HOST

RUN_S_MAX = 300.0
_PASSED_ON = ("authorization", "content-type", "idempotency-key")
_HOOK = "/hook"


class Program:
    """A program that every change kills once: when it was made, and before anybody heard of it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._killing = False
        self._known: set[object] = set()
        self._process: subprocess.Popen[str] | None = None
        self._killed: subprocess.Popen[str] | None = None

    def start(
        self,
        command: Sequence[str | Path],
        where: Path,
        environment: Mapping[str, str],
        *,
        killing: bool = False,
    ) -> None:
        self._killing = killing
        self._process = subprocess.Popen(
            command,
            cwd=where,
            env=os.environ | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    @property
    def lives(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        if self._process is not None:
            self._process.communicate()

    def ended(self) -> tuple[int, str]:
        """Wait for its end: exit code, and what it has said."""
        assert self._process is not None
        try:
            said, _ = self._process.communicate(timeout=RUN_S_MAX)
        finally:
            self.kill()
        return self._process.returncode, said

    def kill(self) -> None:
        if self._process is not None and self.lives:
            self._process.kill()

    def changed(self, *change: object) -> bool:
        """Whether a change that it has made, the same as often as it is sent, has killed it."""
        with self._lock:
            if not self._killing or change in self._known:
                return False
            self._known.add(change)
            self._killed = self._process
            self.kill()
            return True

    @property
    def is_killed(self) -> bool:
        """Whether a change has killed it, and it was not started again."""
        return self._killing and self._process is self._killed


class Wire:
    """Passes requests on to a service, and webhooks on to a program.

    The program is killed when a change was made and before it hears of that: what it sent was done,
    and it does not know. The first webhook that it takes is one: the sender never hears of it.
    """

    def __init__(self, service_url: str, program: Program, program_port: int) -> None:
        self._service = service_url
        self._program = program
        self._hook = f"http://{HOST}:{program_port}/alama"
        self._client = httpx.Client(trust_env=False, timeout=120)
        self.forged: list[int] = []
        """What it has answered to webhooks that nobody has signed."""
        self.taken: list[str] = []
        """The ids of the webhooks that it has taken, those again that it took again."""
        self._server = ThreadingHTTPServer((HOST, 0), type("Handler", (_Handler,), {"wire": self}))
        self._turn = threading.Lock()
        self.url = f"http://{HOST}:{self._server.server_port}"
        self.hook_url = f"{self.url}{_HOOK}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._client.close()

    def answer(self, asked: _Handler, body: bytes) -> httpx.Response | None:
        """Pass a request on; None where nobody is left to hear the answer."""
        if asked.path == _HOOK:
            return self._passed_to_program(asked, body)
        if asked.command == "GET":
            return self._passed_on(asked, body)
        # One after the other: of many at once all would be made, and kill it once.
        with self._turn:
            if self._program.is_killed:
                return None
            reply = self._passed_on(asked, body)
            change = (asked.command, asked.path, body)
            return None if reply.is_success and self._program.changed(*change) else reply

    def _passed_on(self, asked: _Handler, body: bytes) -> httpx.Response:
        headers = {name: asked.headers[name] for name in _PASSED_ON if name in asked.headers}
        return self._client.request(
            asked.command, self._service + asked.path, headers=headers, content=body
        )

    def _passed_to_program(self, asked: _Handler, body: bytes) -> httpx.Response | None:
        try:
            forged = self._client.post(self._hook, json={"type": "score.created"})
            reply = self._client.post(self._hook, headers=dict(asked.headers), content=body)
        except httpx.TransportError:
            return None
        self.forged.append(forged.status_code)
        if not reply.is_success:
            return reply
        self.taken.append(asked.headers["webhook-id"])
        return None if self._program.changed(_HOOK) else reply


class _Handler(BaseHTTPRequestHandler):
    wire: Wire
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._pass_on()

    def do_POST(self) -> None:
        self._pass_on()

    def do_DELETE(self) -> None:
        self._pass_on()

    def log_message(self, *_: object) -> None:
        pass

    def _pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        reply = self.wire.answer(self, body)
        if reply is None:
            self.close_connection = True
            return
        self.send_response(reply.status_code)
        self.send_header("content-type", reply.headers.get("content-type", "text/plain"))
        if reply.status_code != httpx.codes.NO_CONTENT:
            self.send_header("content-length", str(len(reply.content)))
        self.end_headers()
        self.wfile.write(reply.content)
