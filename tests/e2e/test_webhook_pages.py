"""The walk of docs/webhooks.md, and the receivers of docs/receiving-webhooks.md.

They are run as they stand there, at the end of real deliveries.
"""

from __future__ import annotations

import base64
import json
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
from standardwebhooks import Webhook

from alama.platform.addresses import DEVELOPMENT
from alama.platform.book import Book, Mode
from alama.platform.events import EventKind, ScoreGiven
from alama.webhooks import courier
from alama.webhooks.endpoints import Endpoints, NewEndpoint
from alama.webhooks.events import Events
from tests.databases import sqlite_url
from tests.e2e.service import Service
from tests.e2e.walks import Walk
from tests.ports import HOST, free_port
from tests.receivers import Receivers

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("webhooks")]

DOCS = Path(__file__).parents[2] / "docs"
SENDING = (DOCS / "webhooks.md").read_text("utf-8")
RECEIVING = (DOCS / "receiving-webhooks.md").read_text("utf-8")
RECEIVER = "http://127.0.0.1:9000"
BOOK = Book("demo", Mode.TEST)
WITHIN_S = 120.0
TOLERANCE_S = 300
BODY = b'{"type":"webhook.test","data":{"mode":"test"}}'
EVENT_ID = "evt_forged"
UNSTABLE = ((re.compile(r"we_[0-9a-f]{28}"), "ENDPOINT"),)


class Language(NamedTuple):
    """How the receiver of a language is saved and run."""

    name: str
    file: str
    program: str | None


LANGUAGES = (
    Language("python", "receiver.py", sys.executable),
    Language("javascript", "receiver.mjs", shutil.which("node")),
)


def blocks_of(page: str, language: str) -> list[str]:
    """What is fenced on a page."""
    return re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)


def code(language: str) -> str:
    (found,) = blocks_of(RECEIVING, language)
    return found


class Receiver:
    """A program of the page that runs, and the endpoint that is sent to it."""

    def __init__(self, language: Language, service: Service, folder: Path) -> None:
        self._service = service
        self._said = folder / "said"
        self._port = free_port()
        self._url = f"http://{HOST}:{self._port}/hook"
        self._endpoints = Endpoints.at(service.installed, DEVELOPMENT)
        shown, kept = self._endpoints.add(BOOK, NewEndpoint(self._url, (EventKind.SCORE_CREATED,)))
        self.endpoint_id = kept.id
        self.secret = base64.b64decode(shown.removeprefix("whsec_"))
        script = folder / language.file
        script.write_text(code(language.name), "utf-8")
        assert language.program is not None
        self._command = [language.program, str(script)]
        self._environment = {
            "PATH": os.environ["PATH"],
            "WEBHOOK_SECRET": shown,
            "PORT": str(self._port),
        }

    @contextmanager
    def running(self) -> Iterator[Receiver]:
        with self._said.open("wb") as output:
            process = subprocess.Popen(self._command, env=self._environment, stdout=output)
        try:
            wait_for(self._listens)
            yield self
        finally:
            process.kill()
            process.wait()

    def lines(self) -> list[str]:
        """What it has done, a line for each event."""
        return self._said.read_text("utf-8").splitlines()

    def statuses(self, event_id: str) -> list[int | None]:
        """What it has answered to the attempts to deliver an event."""
        tried = self._endpoints.attempts(BOOK, self.endpoint_id, None, 100)
        return [one.status for one in tried if one.event_id == event_id]

    def rotate(self) -> None:
        """Have another secret sign beside the one that it knows."""
        self._endpoints.rotate(BOOK, self.endpoint_id)

    def answer(self, headers: dict[str, str], body: bytes = BODY) -> int:
        """What it answers to somebody else who knows its address."""
        return httpx.post(
            self._url, content=body, headers=headers, trust_env=False, timeout=60
        ).status_code

    def _listens(self) -> bool:
        with suppress(ConnectionRefusedError), socket.create_connection((HOST, self._port)):
            return True
        return False


def wait_for(reached: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + WITHIN_S
    while not reached():
        assert time.monotonic() < deadline_s
        time.sleep(0.02)


@pytest.fixture(scope="module")
def taking() -> Iterator[Receivers]:
    """A receiver of our own; whoever sends to it ends first, and closes its connections."""
    with Receivers() as ours:
        yield ours


@pytest.fixture(scope="module")
def service(
    tmp_path_factory: pytest.TempPathFactory,
    taking: Receivers,  # noqa: ARG001  it is to outlive the service
) -> Iterator[Service]:
    home = tmp_path_factory.mktemp("receiving")
    more = {"ALAMA_DELIVERY": "inside", "ALAMA_DEVELOPMENT": "yes"}
    with Service(sqlite_url(home), home, 1, None, **more).running() as running:
        yield running


@pytest.fixture(scope="module")
def receivers(
    service: Service, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Receiver]]:
    """Those whose language is here; they start side by side."""
    with ExitStack() as held:
        yield {
            language.name: held.enter_context(
                Receiver(language, service, tmp_path_factory.mktemp(language.name)).running()
            )
            for language in LANGUAGES
            if language.program is not None
        }


@pytest.fixture(params=[language.name for language in LANGUAGES])
def receiver(receivers: dict[str, Receiver], request: pytest.FixtureRequest) -> Receiver:
    if request.param not in receivers:
        pytest.skip("node is not installed here")
    return receivers[request.param]


def test_a_score_arrives_once_though_it_is_sent_again_and_signed_by_a_second_secret(
    receiver: Receiver, service: Service
) -> None:
    # Keys are known for a second, with what their book is to tell: a new one tells at once.
    scored = service.score(key=service.key()).json()["request_id"]
    event_id = f"evt_{scored.removeprefix('req_')}"
    wait_for(lambda: receiver.statuses(event_id) == [204])
    receiver.rotate()
    assert Events.at(service.installed).resend_to(BOOK, event_id, receiver.endpoint_id) == 1
    wait_for(lambda: receiver.statuses(event_id) == [204, 204])
    assert receiver.lines().count(f"{event_id} score.created test") == 1


def test_what_is_forged_old_not_signed_or_no_json_is_refused(receiver: Receiver) -> None:
    now_s = int(time.time())

    def signed(at_s: int = now_s, secret: bytes = receiver.secret) -> dict[str, str]:
        return courier.signature_headers(EVENT_ID, BODY, [secret], at_s)

    assert receiver.answer(signed(), BODY.replace(b"test", b"live")) == 400
    assert receiver.answer(signed() | {"webhook-id": "evt_another"}) == 400
    assert receiver.answer(signed(at_s=now_s - TOLERANCE_S - 1)) == 400
    assert receiver.answer(signed(at_s=now_s + TOLERANCE_S + 60)) == 400
    assert receiver.answer(signed(secret=secrets.token_bytes(32))) == 400
    assert receiver.answer(signed() | {"webhook-signature": "v1 , v2,AA== v1,AA=="}) == 400
    assert receiver.answer({}) == 400
    no_json = b"no JSON, though it is signed"
    headers = courier.signature_headers(EVENT_ID, no_json, [receiver.secret], now_s)
    assert receiver.answer(headers, no_json) == 400
    assert receiver.answer(signed()) == 204
    # Scores of the other test may arrive meanwhile.
    done = [line for line in receiver.lines() if "score.created" not in line]
    assert done == [f"{EVENT_ID} webhook.test test"]


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.name)
@pytest.mark.parametrize("secret", ["", "whsec_"])
def test_a_receiver_that_was_given_no_secret_does_not_start(
    language: Language, secret: str, tmp_path: Path
) -> None:
    if language.program is None:
        pytest.skip("node is not installed here")
    script = tmp_path / language.file
    script.write_text(code(language.name), "utf-8")
    environment = {"PATH": os.environ["PATH"], "WEBHOOK_SECRET": secret, "PORT": "0"}
    command = [language.program, str(script)]
    ended = subprocess.run(
        command, env=environment, capture_output=True, check=False, timeout=WITHIN_S
    )
    assert ended.returncode != 0
    assert b"secret" in ended.stderr.lower()


def test_the_delivery_that_the_page_shows_was_signed_by_the_secret_that_it_shows() -> None:
    _, _, shown = RECEIVING.partition("    POST /hook HTTP/1.1\n")
    head, _, rest = shown.partition("\n\n")
    headers = dict(line.strip().split(": ", 1) for line in head.splitlines())
    body = rest.splitlines()[0].strip()
    (secret,) = re.findall(r"`(whsec_\S{40,})`", RECEIVING)
    at = datetime.fromtimestamp(int(headers["webhook-timestamp"]), tz=UTC)
    signature = Webhook(secret).sign(headers["webhook-id"], at, body)
    assert signature == headers["webhook-signature"]


def test_the_walk_from_an_endpoint_to_its_end_goes_as_the_page_says(
    service: Service, taking: Receivers, tmp_path: Path
) -> None:
    walk = Walk(SENDING.replace(RECEIVER, f"{taking.url}/ok"), UNSTABLE)
    assert len(walk.steps) == 11
    walk.go(tmp_path, service.server.environment, service.server.url)
    taken = taking.taken["/ok/hook"]
    assert taking.wait_for(lambda: len(taken) > 0, WITHIN_S), service.server.output()
    made = json.loads((tmp_path / "endpoint.json").read_bytes())
    left = Endpoints.at(service.installed, DEVELOPMENT).of(BOOK)
    assert made["id"] not in {endpoint.id for endpoint in left}
    shown, *_ = blocks_of(SENDING, "json")
    assert made.keys() == json.loads(shown).keys()
    sent, example = json.loads(taken[0].body), body_shown(EventKind.TEST)
    assert sent["data"].keys() == example["data"].keys()
    assert sent["data"]["message"] == example["data"]["message"]


def test_the_page_knows_every_kind_of_event_and_what_is_told_of_a_score() -> None:
    assert set(re.findall(r"`([a-z_]+\.[a-z_]+)`(?=:| and `)", SENDING)) >= set(EventKind)
    told = body_shown(EventKind.SCORE_CREATED)["data"]
    assert tuple(told) == ScoreGiven.__struct_fields__


def body_shown(kind: EventKind) -> dict[str, Any]:
    """The body of an event of a kind, as the page has it."""
    bodies = [json.loads(block) for block in blocks_of(SENDING, "json")]
    (found,) = [body for body in bodies if body.get("type") == kind]
    return dict(found)
