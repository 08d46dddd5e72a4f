"""What `alama remote` makes of every answer, and of none."""

from __future__ import annotations

import json
import socketserver
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from alama.app.remote import client as clients
from alama.app.remote.client import ATTEMPTS, Call, Client, Failed, Refused, Unreachable
from alama.platform.http.status import Health
from alama.scoring import scores_api
from alama.webhooks import events_api
from alama.webhooks.events_api import EventPage
from tests.certificates import Authority
from tests.ports import HOST, free_port

KEY = "alama_test_" + "K" * 36
GET = Call("GET", "/v1/health")
TLS_BEGINS = b"\x16"
PAGE = b"<html><title>Bad gateway</title></html>"


def answer(status: int, body: bytes, *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status} Said", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def problem(status: int, code: str, *headers: str, **more: Any) -> bytes:
    told = {"code": code, "detail": "What happened.", "request_id": "req_1", **more}
    return answer(status, json.dumps(told).encode(), *headers)


OK = answer(200, b'{"status": "ok", "added": 1}')


class Scripted(socketserver.ThreadingTCPServer):
    """Answers one request after the other with what it was given; empty: hangs up."""

    daemon_threads = True

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        super().__init__((HOST, 0), Handler)
        self.tls = tls
        self.script: list[bytes] = []
        self.requests: list[bytes] = []
        scheme = "http" if tls is None else "https"
        self.url = f"{scheme}://{HOST}:{self.server_address[1]}"

    def get_request(self) -> tuple[Any, Any]:
        plain, address = super().get_request()
        if self.tls is None:
            return plain, address
        # Shaken hands with by the thread that reads.
        return self.tls.wrap_socket(plain, True, False), address  # noqa: FBT003  as `ssl` has it

    def handle_error(self, *_: Any) -> None:
        """A client that hangs up is no news."""


class Handler(socketserver.StreamRequestHandler):
    server: Scripted

    def handle(self) -> None:
        head = self.rfile.read(1)
        if head == TLS_BEGINS:
            self.wfile.write(self.server.script.pop(0))
            return
        while not head.endswith(b"\r\n\r\n"):
            head += self.rfile.readline() or b"\r\n\r\n"
        length = next(
            (
                int(line[15:])
                for line in head.lower().split(b"\r\n")
                if line[:15] == b"content-length:"
            ),
            0,
        )
        self.server.requests.append(head + self.rfile.read(length))
        self.wfile.write(self.server.script.pop(0))


def serving(server: Scripted) -> Iterator[Scripted]:
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def server() -> Iterator[Scripted]:
    yield from serving(Scripted())


Waited = list[float]
Ask = Callable[..., Health]


@pytest.fixture
def waited() -> Waited:
    return []


@pytest.fixture
def ask(server: Scripted, waited: Waited) -> Ask:
    def asked(*script: bytes, call: Call = GET) -> Health:
        server.script[:] = script
        return Client(server.url, KEY, waited.append).ask(call, Health)

    return asked


def test_an_answer_is_read_whatever_a_later_version_has_added(ask: Ask, server: Scripted) -> None:
    assert ask(OK).status == "ok"
    (request,) = server.requests
    assert f"Authorization: Bearer {KEY}".encode() in request


def test_a_rate_is_waited_for_as_long_as_the_service_says(
    ask: Ask, waited: Waited, capsys: pytest.CaptureFixture[str]
) -> None:
    limited = problem(429, "too_many_requests", "Retry-After: 7")
    assert ask(limited, problem(503, "busy", "Retry-After: 1"), OK).status == "ok"
    assert waited == [7, 1]
    assert capsys.readouterr().err.splitlines() == [
        "the service says too_many_requests; trying again in 7 s",
        "the service says busy; trying again in 1 s",
    ]


def test_waiting_ends(ask: Ask, waited: Waited, server: Scripted) -> None:
    with pytest.raises(Refused, match="busy"):
        ask(*[problem(503, "busy", "Retry-After: 1")] * ATTEMPTS)
    assert len(server.requests) == ATTEMPTS
    with pytest.raises(Refused, match="model_unavailable"):
        ask(problem(503, "model_unavailable", "Retry-After: 61"))
    assert len(waited) == ATTEMPTS - 1


@pytest.mark.parametrize("status", [408, 500, 502, 503, 504])
def test_what_nobody_knows_the_end_of_is_sent_again_only_where_that_does_no_harm(
    ask: Ask, server: Scripted, waited: Waited, status: int
) -> None:
    assert ask(answer(status, PAGE), OK).status == "ok"
    assert len(waited) == 1
    post = Call("POST", "/v1/webhook_endpoints", body=b"{}", repeatable=False)
    with pytest.raises(Refused):
        ask(answer(status, PAGE), call=post)
    assert ask(problem(429, "too_many_requests"), OK, call=post).status == "ok"
    assert len(server.requests) == 5


def test_an_answer_that_is_lost_is_asked_for_again_under_the_same_key(
    ask: Ask, server: Scripted
) -> None:
    call = Call("POST", "/v1/score", body=b"{}", headers={"Idempotency-Key": "one"})
    with pytest.raises(Unreachable, match="broke off") as raised:  # never heard from before
        ask(b"", call=call)
    assert raised.value.may_be_done
    assert ask(problem(503, "busy"), b"", OK, call=call).status == "ok"
    assert len(server.requests) == 4
    assert len(set(server.requests)) == 1


def test_what_may_be_done_stays_so_whatever_is_answered_later(ask: Ask) -> None:
    post = Call("POST", "/v1/score", body=b"{}", headers={"Idempotency-Key": "one"})
    limited, refused = problem(429, "too_many_requests"), problem(404, "unknown_score")
    for script, may_be_done in (
        ([refused], False),
        ([limited, refused], False),
        ([limited] * ATTEMPTS, False),
        ([answer(502, PAGE), refused], True),
        ([limited, b"", *[limited] * (ATTEMPTS - 2)], True),
        ([answer(500, PAGE)] * ATTEMPTS, True),
        ([answer(524, PAGE)], True),
        ([answer(503, PAGE)] * ATTEMPTS, True),
        ([problem(503, "busy")] * ATTEMPTS, False),
        ([answer(200, PAGE)], True),
    ):
        with pytest.raises(Failed) as raised:
            ask(*script, call=post)
        assert raised.value.may_be_done is may_be_done


def test_pages_are_as_long_as_the_service_gives_them() -> None:
    assert clients.PAGE_MAX == scores_api.PAGE_MAX == events_api.PAGE_MAX


def test_pages_end_where_one_is_empty(server: Scripted, waited: Waited) -> None:
    """What goes on for ever without a line is no answer of Alama."""
    page = answer(200, b'{"data": [], "next_cursor": "req_1"}')
    server.script[:] = [page] * 3
    client = Client(server.url, KEY, waited.append)
    assert len(list(client.pages("/v1/events", EventPage, {}, None, 5))) == 1


def test_what_is_refused_is_told_with_its_fields_its_request_and_what_to_do(ask: Ask) -> None:
    broken = [{"pointer": "/mm_months", "code": "wrong_type", "detail": "must be a whole number"}]
    with pytest.raises(Refused) as raised:
        ask(
            problem(
                422, "invalid_application", detail="1 rule is broken: see errors.", errors=broken
            )
        )
    assert str(raised.value).splitlines() == [
        "invalid_application: 1 rule is broken:",
        "  mm_months must be a whole number",
        "  request req_1",
    ]
    assert raised.value.hint
    with pytest.raises(Refused, match="new_code: What happened") as raised:
        ask(problem(418, "new_code"))
    assert raised.value.hint is None


def test_no_line_of_an_error_is_forged(ask: Ask, capsys: pytest.CaptureFixture[str]) -> None:
    forged = "x\r\nerror: forged"
    told = problem(400, forged, detail=forged, errors=[{"pointer": forged, "detail": forged}])
    for script in (told, answer(301, b"", "Location: http://x\r\n error: forged")):
        with pytest.raises(Refused) as raised:
            ask(script)
        assert not [line for line in str(raised.value).splitlines() if line.strip()[:5] == "error"]
    assert ask(problem(503, forged), OK).status == "ok"
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_what_is_not_alama_is_told_apart(ask: Ask) -> None:
    for script, said in (
        (answer(404, PAGE), "answered 404, and not as Alama does"),
        (answer(200, PAGE), "something that Alama .* does not know"),
        (answer(200, b'{"status": 5}'), "something that Alama .* does not know"),
        (answer(301, b"", "Location: https://login.example/"), "elsewhere: https://login.example/"),
        *((answer(code, b"", "Location: http://[::1/"), "elsewhere") for code in (302, 303, 308)),
        (
            answer(200, b'{"status": "ok", "added": "\xff"}'),
            "something that Alama .* does not know",
        ),
        (answer(200, b"[" * 2_000_000), "something that Alama .* does not know"),
        (answer(400, b'{"code": "\xff"}'), "answered 400, and not as Alama does"),
        (answer(400, b"[" * 2_000_000), "answered 400, and not as Alama does"),
        (b"SSH-2.0-OpenSSH\r\n", "broke off"),
    ):
        with pytest.raises((Refused, Unreachable), match=said) as raised:
            ask(script)
        assert raised.value.hint
        assert KEY not in str(raised.value)


def test_the_key_follows_nobody_elsewhere(ask: Ask, server: Scripted) -> None:
    with pytest.raises(Refused):
        ask(answer(307, b"", f"Location: {server.url}/elsewhere"), OK)
    assert len(server.requests) == 1


def test_an_address_that_never_answered_is_told_at_once(waited: Waited) -> None:
    with pytest.raises(Unreachable, match=r"cannot reach .*: Connection refused"):
        Client(f"http://{HOST}:{free_port()}", KEY, waited.append).fetch(GET)
    assert waited == []


def test_silence_is_told(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "TIMEOUT_S", 0.05)
    hang = threading.Event()
    monkeypatch.setattr(Handler, "handle", lambda _self: hang.wait(5))
    with pytest.raises(Unreachable, match="did not answer within"):
        ask()
    hang.set()


@pytest.mark.parametrize("line", [b"HTTP/1.1 100 Continue\r\n\r\n", b"H"])
def test_an_answer_that_does_not_end_is_told(
    ask: Ask, monkeypatch: pytest.MonkeyPatch, line: bytes
) -> None:
    monkeypatch.setattr(clients, "DEADLINE_S", 0.2)
    over = threading.Event()

    def drip(handler: Handler) -> None:
        while not over.wait(0.02):
            handler.wfile.write(line)

    monkeypatch.setattr(Handler, "handle", drip)
    with pytest.raises(Unreachable, match="had not answered in full") as raised:
        ask()
    over.set()
    assert raised.value.may_be_done


def test_half_an_answer_is_asked_for_again(ask: Ask, server: Scripted) -> None:
    body = b'{"status": "ok"}' + b" " * 100
    for status in (200, 400):
        with pytest.raises(Unreachable, match="broke off"):
            ask(answer(status, body)[:-100])
    assert ask(problem(503, "busy"), answer(200, body)[:-100], OK).status == "ok"
    assert len(server.requests) == 5


def test_a_certificate_is_trusted_where_the_system_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = Authority(tmp_path)
    for server in serving(Scripted(authority.server("localhost"))):
        url = server.url.replace(HOST, "localhost")
        server.script[:] = [OK]
        with pytest.raises(Unreachable, match=r"certificate of .* is not to be trusted"):
            Client(url, KEY).fetch(GET)
        monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
        assert Client(url, KEY).ask(GET, Health).status == "ok"
        with pytest.raises(Unreachable, match="not to be trusted"):  # another name than it has
            Client(server.url, KEY).fetch(GET)


def test_a_service_without_tls_is_told(server: Scripted) -> None:
    server.script[:] = [answer(400, PAGE)]
    with pytest.raises(Unreachable, match="no TLS with") as raised:
        Client(server.url.replace("http:", "https:"), KEY).fetch(GET)
    assert not raised.value.may_be_done


def test_no_proxy_sees_a_key_that_goes_without_tls(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", f"http://{HOST}:{free_port()}")
    assert ask(OK).status == "ok"
