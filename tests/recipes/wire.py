"""What stands between a recipe and those it talks to, and kills it at the worst moments."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Self

import httpx

from tests.ports import HOST

RUN_S_MAX = 120.0
NEVER = 1_000_000
_PASSED_ON = ("authorization", "content-type", "idempotency-key")
_HOOK = "/hook"


class Wire:
    """Passes requests on to a service, and webhooks on to the program.

    A program is killed after a change has been made and before it hears of that: what it sent was
    done, and it does not know. Or when it has taken a webhook: the sender never hears of it.
    """

    def __init__(self, service_url: str, program_port: int) -> None:
        self._service = service_url
        self._hook = f"http://{HOST}:{program_port}/alama"
        self._client = httpx.Client(trust_env=False, timeout=30)
        self._lock = threading.Lock()
        self._program: subprocess.Popen[str] | None = None
        self._changes_left = NEVER
        self._hooks_left = NEVER
        self.forged: list[int] = []
        """What the program answered to a webhook that nobody has signed, before each score."""
        self.taken: list[str] = []
        """The ids of the webhooks that it has taken, those again that it took again."""
        self._server = ThreadingHTTPServer((HOST, 0), type("Handler", (_Handler,), {"wire": self}))
        self.url = f"http://{HOST}:{self._server.server_port}"
        self.hook_url = f"{self.url}{_HOOK}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._client.close()

    def run(
        self,
        command: Sequence[str | Path],
        where: Path,
        environment: Mapping[str, str],
        *,
        changes: int = NEVER,
        hooks: int = NEVER,
    ) -> tuple[int, str]:
        """Run a program that dies after so many changes, or webhooks: exit code and output."""
        self._changes_left, self._hooks_left = changes, hooks
        with subprocess.Popen(
            command,
            cwd=where,
            env=os.environ | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,  # npm starts others, which are killed with it
        ) as self._program:
            try:
                said, _ = self._program.communicate(timeout=RUN_S_MAX)
            finally:
                self._kill()
        return self._program.returncode, said

    def answer(self, asked: _Handler, body: bytes) -> httpx.Response | None:
        """Pass a request on; None where nobody is left to hear the answer."""
        if asked.path == _HOOK:
            return self._passed_to_program(asked, body)
        if asked.command == "POST" and asked.path.startswith("/v1/score"):
            self.forged.append(self._client.post(self._hook, json={"type": "x"}).status_code)
        headers = {name: asked.headers[name] for name in _PASSED_ON if name in asked.headers}
        reply = self._client.request(
            asked.command, self._service + asked.path, headers=headers, content=body
        )
        if asked.command != "GET" and reply.is_success:
            with self._lock:
                self._changes_left -= 1
                if self._changes_left <= 0:
                    self._kill()
                    return None
        return reply

    def _passed_to_program(self, asked: _Handler, body: bytes) -> httpx.Response | None:
        headers = {name: text for name, text in asked.headers.items() if name != "host"}
        try:
            reply = self._client.post(self._hook, headers=headers, content=body)
        except httpx.TransportError:
            return None
        with self._lock:
            if reply.is_success:
                self.taken.append(asked.headers["webhook-id"])
                self._hooks_left -= 1
            if self._hooks_left <= 0:
                self._kill()
                return None
        return reply

    def _kill(self) -> None:
        if self._program is not None and self._program.poll() is None:
            os.killpg(self._program.pid, signal.SIGKILL)


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
