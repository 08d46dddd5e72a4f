"""An open-loop client: requests leave by the clock, whatever the server does meanwhile.

A client that waits for an answer before it asks again slows down with the server, and so leaves out
the very requests that would have waited longest ("coordinated omission"). Here each request has its
time by a fixed rate, and its latency counts from that time, also while it waits for a connection.

One thread, one `select`: unlike `epoll` it sleeps by the microsecond, and a client that spins
instead would take the core from the database. Run as
`python -m bench.serve.openloop '{"port": 8000, ...}'`, it prints one line of JSON.
"""

from __future__ import annotations

import json
import select
import socket
import sys
import time
from collections import deque
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Final, Self

HOST: Final = "127.0.0.1"
TIMEOUT_S: Final = 10.0
"""How long answers may still come after the last request has left."""

NOBODY_YET: Final = b"nobody-yet-0"
"""Whose place in a body a new applicant takes."""

_HEAD_END: Final = b"\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Load:
    """What to send: so many requests a second, for so long, over so many connections."""

    port: int
    rate: float
    seconds: float
    connections: int
    bodies: str
    key: str
    path: str = "/v1/score"


@dataclass(frozen=True, slots=True)
class Heard:
    """What came back: microseconds from the due time to the answer, and to leaving the client."""

    latencies_us: list[int]
    late_us: list[int]
    errors: int

    def as_json(self) -> str:
        """Write one line."""
        return json.dumps(
            {"latencies_us": self.latencies_us, "late_us": self.late_us, "errors": self.errors}
        )

    @classmethod
    def from_json(cls, line: str) -> Self:
        """Read that line."""
        return cls(**json.loads(line))


class _Connection:
    """One keep-alive connection with at most one request on its way."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection((HOST, port), timeout=TIMEOUT_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.due = 0.0
        self._heard = b""

    def fileno(self) -> int:
        return self.socket.fileno()

    def send(self, request: bytes, due: float) -> None:
        self.due = due
        self._heard = b""
        self.socket.sendall(request)

    def status(self) -> int | None:
        """Take in what has come; give the status once the answer is whole."""
        part = self.socket.recv(65_536)
        if not part:
            raise ConnectionError("the server closed a connection")
        self._heard += part
        return answered(self._heard)


def answered(heard: bytes) -> int | None:
    """Give the status of an answer with a Content-Length, None while it is not whole."""
    head, found, body = heard.partition(_HEAD_END)
    if not found:
        return None
    lines = head.split(b"\r\n")
    for line in lines[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(lines[0].split()[1]) if len(body) >= int(value) else None
    raise ValueError("the answer has no Content-Length")


def requests_of(load: Load) -> list[bytes]:
    """Lay the requests ready as bytes."""
    head = (
        f"POST {load.path} HTTP/1.1\r\nHost: {HOST}:{load.port}\r\n"
        f"Authorization: Bearer {load.key}\r\nContent-Type: application/json\r\n"
    )
    bodies = Path(load.bodies).read_bytes().splitlines()
    # As many bodies as requests, where each is somebody new.
    if NOBODY_YET in bodies[0]:
        somebody = time.time_ns() // 1_000
        new = range(somebody, somebody + round(load.rate * load.seconds))
        bodies = [
            body.replace(NOBODY_YET, b"a%011d" % (number % 10**11))
            for number, body in zip(new, cycle(bodies), strict=False)
        ]
    return [b"%sContent-Length: %d\r\n\r\n%s" % (head.encode(), len(b), b) for b in bodies]


def run(load: Load) -> Heard:
    """Send the load and listen."""
    prepared = requests_of(load)
    # Taken in turn, so that none is idle for so long that a server closes it.
    idle = deque(_Connection(load.port) for _ in range(load.connections))
    everyone = tuple(idle)
    waiting: list[_Connection] = []
    heard = Heard([], [], 0)
    errors = 0
    clock = time.perf_counter
    interval, total = 1 / load.rate, round(load.rate * load.seconds)
    started = clock() + 0.05
    deadline = started + load.seconds + TIMEOUT_S
    due_times = deque(started + number * interval for number in range(total))
    while (due_times or waiting) and clock() < deadline:
        while due_times and idle and due_times[0] <= clock():
            connection = idle.popleft()
            due = due_times.popleft()
            connection.send(prepared[len(due_times) % len(prepared)], due)
            heard.late_us.append(round((clock() - due) * 1e6))
            waiting.append(connection)
        # With no connection idle the next request waits for one, and its clock runs already.
        pause = due_times[0] - clock() if due_times and idle else TIMEOUT_S
        ready, _, _ = select.select(waiting, (), (), max(0.0, pause))
        for connection in ready:
            status = connection.status()
            if status is not None:
                heard.latencies_us.append(round((clock() - connection.due) * 1e6))
                errors += status != 200
                waiting.remove(connection)
                idle.append(connection)
    for connection in everyone:
        connection.socket.close()
    return Heard(heard.latencies_us, heard.late_us, errors + len(waiting) + len(due_times))


if __name__ == "__main__":
    print(run(Load(**json.loads(sys.argv[1]))).as_json())
