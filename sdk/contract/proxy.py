"""A proxy between an SDK and the real service that injects the faults of a case.

It reads HTTP/1.1, so that a fault can come before the service has a request or after it has done
what was asked. The README has the faults by name.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPConnection
from socketserver import StreamRequestHandler, ThreadingTCPServer
from typing import TYPE_CHECKING, Any, NamedTuple, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

HOST = "127.0.0.1"
UPSTREAM_S_MAX = 120.0
POLL_S = 0.01
REQUEST_ID = "req_0000000000000000000000000000"

Fault = dict[str, Any]


@dataclass(slots=True)
class Seen:
    """A request that came whole, and the status that it was answered with; 0 where it was not."""

    at_s: float
    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    status: int = 0


class Answer(NamedTuple):
    """What goes back."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes

    @property
    def head(self) -> bytes:
        lines = [
            f"HTTP/1.1 {self.status} Said",
            *(f"{name}: {text}" for name, text in self.headers),
        ]
        lines.append(f"Content-Length: {len(self.body)}")
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


class FaultyProxy:
    """Forwards to a port of this machine, from `with` to its end; each fault hits one request."""

    def __init__(
        self, port: int, faults: Iterable[Fault], make_scores: Callable[[int], None]
    ) -> None:
        self._upstream_port = port
        self._make_scores = make_scores
        self._lock = threading.Lock()
        self._faults: deque[Fault] = deque()
        self._seen: list[Seen] = []
        self.ended = threading.Event()
        self._listener = _Listener(self)
        self.url = f"http://{HOST}:{self._listener.server_address[1]}"
        self.inject(faults)

    def __enter__(self) -> Self:
        refused_s = 0.0
        if self._faults and self._faults[0]["do"] == "refuse":
            refused_s = self._faults.popleft()["for_s"]
        if not refused_s:
            self._listener.server_activate()  # before anybody knows of it, and calls
        self._serving = threading.Thread(target=self._serve, args=(refused_s,))
        self._serving.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self._serving.join()
        self._listener.server_close()

    def inject(self, faults: Iterable[Fault]) -> None:
        """Let faults hit the next requests, after those that are still to come."""
        with self._lock:
            for fault in faults:
                self._faults.extend([fault] * fault.get("times", 1))

    def take_seen(self) -> list[Seen]:
        """The requests since this was asked the last time."""
        with self._lock:
            seen, self._seen = self._seen, []
        return seen

    def next_fault(self, when: str = "") -> Fault | None:
        """The fault of a request or, of those for a connection that was just made, this one's."""
        with self._lock:
            if when and not (self._faults and self._faults[0].get("when") == when):
                return None
            return self._faults.popleft() if self._faults else {"do": "pass"}

    def saw(self, seen: Seen) -> None:
        with self._lock:
            self._seen.append(seen)

    def forward(self, seen: Seen) -> Answer:
        """Have the service do what was asked."""
        upstream = HTTPConnection(HOST, self._upstream_port, timeout=UPSTREAM_S_MAX)
        try:
            upstream.putrequest(seen.method, seen.target, skip_host=True, skip_accept_encoding=True)
            for name, text in seen.headers.items():
                if name not in {"connection", "upgrade", "http2-settings"}:
                    upstream.putheader(name, text)
            upstream.endheaders(seen.body)
            reply = upstream.getresponse()
            kept = [(n, t) for n, t in reply.getheaders() if n.lower() not in _HOP_BY_HOP]
            return Answer(reply.status, kept, reply.read())
        finally:
            upstream.close()

    def act(self, fault: Fault, seen: Seen, client: _Client) -> None:
        """Do to a request what its fault says."""
        if fault["do"] == "scores":
            self._make_scores(fault["count"])
        unseen = fault["do"] in _MAY_COME_BEFORE and fault.get("when", "before") == "before"
        answer = _NOTHING if unseen else self.forward(seen)
        name: str = fault["do"]
        getattr(client, _WAYS.get(name, name))(fault, answer)

    def _serve(self, refused_s: float) -> None:
        """Bound and not listening at first, where callers are to be refused."""
        if refused_s:
            if self.ended.wait(refused_s):
                return
            self._listener.server_activate()
        self._listener.timeout = POLL_S
        while not self.ended.is_set():
            self._listener.handle_request()


class _Client(StreamRequestHandler):
    """One connection of an SDK."""

    server: _Listener

    def handle(self) -> None:
        proxy = self.server.proxy
        if proxy.next_fault("connected") is not None:
            self.reset()
            return
        with suppress(OSError):  # the client has left: it had enough, or the case is over
            while (request := self._read()) is not None:
                proxy.saw(request)
                self._seen = request
                fault = proxy.next_fault() or {}
                proxy.act(fault, request, self)
                if fault["do"] in _ENDING:
                    return

    def send(self, _: Fault, answer: Answer) -> None:
        self._seen.status = answer.status
        self.request.sendall(answer.head + answer.body)

    def add(self, fault: Fault, answer: Answer) -> None:
        more = json.loads(answer.body) | fault["json"]
        self.send(fault, answer._replace(body=json.dumps(more).encode()))

    def answer(self, fault: Fault, _: Answer) -> None:
        self.send(fault, _said(fault))

    def reset(self, *_: object) -> None:
        self.request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.request.close()

    def stall(self, *_: object) -> None:
        """Say nothing until the client leaves."""
        self.request.settimeout(POLL_S)
        while not self.server.proxy.ended.is_set():
            with suppress(TimeoutError):
                if not self.request.recv(1):
                    break

    def drip(self, fault: Fault, answer: Answer) -> None:
        self.request.sendall(answer.head)
        for byte in answer.body:
            if self.server.proxy.ended.wait(fault["every_s"]):
                break
            self.request.sendall(bytes([byte]))

    def cut(self, fault: Fault, answer: Answer) -> None:
        whole = answer.head + answer.body
        self.request.sendall(whole[: 20 if fault["at"] == "head" else -len(answer.body) // 2])

    def garbage(self, *_: object) -> None:
        self.request.sendall(b"\x00\xff\xfe these bytes are no HTTP \r\n\r\n" * 4)

    def _read(self) -> Seen | None:
        line = self.rfile.readline().decode("latin-1")
        if not line.strip():
            return None
        method, target, _ = line.split(" ", 2)
        headers = {}
        while (line := self.rfile.readline().decode("latin-1")).strip():
            name, _, text = line.partition(":")
            headers[name.strip().lower()] = text.strip()
        body = self.rfile.read(int(headers.get("content-length", "0")))
        return Seen(time.monotonic(), method, target, headers, body)


class _Listener(ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, proxy: FaultyProxy) -> None:
        self.proxy = proxy
        super().__init__((HOST, 0), _Client, bind_and_activate=False)
        self.server_bind()

    def shutdown_request(self, request: Any) -> None:
        """Close, and no more: a reset must stay one."""
        request.close()


_HOP_BY_HOP = frozenset({"connection", "content-length", "keep-alive", "transfer-encoding"})
_WAYS: dict[str, str] = {"pass": "send", "scores": "send"}
_MAY_COME_BEFORE = frozenset({"answer", "reset", "stall"})
_NOTHING = Answer(0, [], b"")
_ENDING = frozenset({"reset", "stall", "drip", "cut", "garbage"})


def _said(fault: Fault) -> Answer:
    """An answer that the service never gave."""
    headers = [("Request-Id", REQUEST_ID), *fault.get("headers", {}).items()]
    if "problem" in fault:
        body = _problem(fault["problem"], fault["status"])
        return Answer(
            fault["status"], [("Content-Type", "application/problem+json"), *headers], body
        )
    if "json" in fault:
        body = json.dumps(fault["json"]).encode()
        return Answer(fault["status"], [("Content-Type", "application/json"), *headers], body)
    return Answer(
        fault["status"],
        [("Content-Type", "text/html"), *fault.get("headers", {}).items()],
        fault["text"].encode(),
    )


def _problem(code: str, status: int) -> bytes:
    problem: Mapping[str, Any] = {
        "type": f"urn:alama:problem:{code}",
        "title": "Injected",
        "status": status,
        "detail": "The proxy of the contract suite has said so.",
        "instance": "/v1/score",
        "code": code,
        "request_id": REQUEST_ID,
    }
    return json.dumps(problem).encode()
