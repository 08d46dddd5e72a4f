"""The doctor and the service of this machine: whether it runs, and what it says of itself."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from alama import __version__
from alama.operations.doctor import check_proxy, check_service
from alama.operations.findings import Finding
from alama.platform.settings import Settings
from tests.ports import HOST, free_port
from tests.unit.operations.fronts import NAME, Said, Standing
from tests.unit.operations.patients import BROKEN, LOOK, OK

ALIVE = {"/livez": Said(200, b'{"status":"ok"}')}


def seen(port: int, host: str = NAME) -> Finding:
    return check_service.examine(Settings(home="nowhere", host=host, port=port))


def said(code: int, **body: str) -> Said:
    return Said(code, json.dumps(body).encode())


def test_a_service_that_is_not_running_is_to_be_started_or_asked_elsewhere() -> None:
    one = seen(free_port(), HOST)
    assert one.mark is LOOK
    assert one.seen.startswith("not running here")
    assert one.todo == "start it, or run the doctor where it runs"


@pytest.mark.parametrize(
    ("ready", "mark", "told"),
    [
        (said(200, status="ok", version=__version__), OK, "ready to score"),
        (said(200, status="ok", version="0.0.1"), LOOK, "version 0.0.1"),
        (said(503, status="unavailable", reason="database away"), BROKEN, "database away"),
        (Said(200, b"<h1>It works!</h1>"), BROKEN, "another program"),
        (Said(200, b"[]"), BROKEN, "another program"),
    ],
)
def test_a_service_that_runs_is_judged_by_what_it_says(ready: Said, mark: str, told: str) -> None:
    with Standing(ALIVE | {"/readyz": ready}) as standing:
        one = seen(standing.port)
    assert one.mark == mark
    assert told in one.seen
    assert standing.asked == ["/livez", "/readyz"]


def test_one_that_takes_connections_and_never_answers_is_broken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(check_proxy, "TIMEOUT_S", 0.2)
    with socket.create_server((HOST, 0)) as mute:
        one = seen(mute.getsockname()[1], HOST)
    assert one.mark is BROKEN
    assert "does not answer" in one.seen


def test_who_listens_on_every_address_is_asked_on_that_of_this_machine() -> None:
    with socket.create_server((HOST, 0)) as taken:
        port = taken.getsockname()[1]
    assert f"{HOST}, port {port}" in seen(port, "0.0.0.0").seen  # noqa: S104  as in a container
    assert "::1, port" in seen(port, "::").seen


def test_the_service_is_asked_where_it_says_that_it_listens(tmp_path: Path) -> None:
    settings = Settings(home=str(tmp_path), host=HOST, port=free_port())
    ready = said(200, status="ok", version=__version__)
    with (
        Standing(ALIVE | {"/readyz": ready}) as standing,
        check_service.noted(tmp_path, check_service.Address(HOST, standing.port)),
    ):
        one = check_service.examine(settings)
    assert one.mark is OK
    assert one.seen == f"it runs on {HOST}, port {standing.port}, and is ready to score"


def test_a_note_of_one_that_was_killed_leads_to_the_settings(tmp_path: Path) -> None:
    (tmp_path / check_service.NAME).write_text(f"{HOST} {free_port()}\n")
    with Standing(ALIVE | {"/readyz": said(200, status="ok", version=__version__)}) as standing:
        one = check_service.examine(Settings(home=str(tmp_path), host=HOST, port=standing.port))
    assert one.mark is OK
    assert f"port {standing.port}" in one.seen


@pytest.mark.parametrize("text", ["", "x", "127.0.0.1 x", "a b c", "\0" * 1_000])
def test_a_note_that_is_none_is_passed_over(tmp_path: Path, text: str) -> None:
    (tmp_path / check_service.NAME).write_text(text)
    assert check_service.note_in(tmp_path) is None
    port = free_port()
    assert (
        f"{HOST}, port {port}"
        in check_service.examine(Settings(home=str(tmp_path), host=HOST, port=port)).seen
    )


def test_a_note_is_gone_with_the_service_and_not_before_the_next_ones(tmp_path: Path) -> None:
    first, second = check_service.Address(HOST, 1), check_service.Address(HOST, 2)
    with check_service.noted(tmp_path, first):
        with check_service.noted(tmp_path, second):
            assert check_service.note_in(tmp_path) == second
        assert check_service.note_in(tmp_path) is None
    with check_service.noted(tmp_path / "missing", first):
        assert check_service.note_in(tmp_path / "missing") is None


def test_a_note_of_a_port_that_another_program_has_by_now_leads_to_the_settings(
    tmp_path: Path,
) -> None:
    with (
        Standing({"/livez": Said(404, b""), "/readyz": Said(200, b"<h1>It works!</h1>")}) as other,
        Standing(ALIVE | {"/readyz": said(200, status="ok", version=__version__)}) as standing,
    ):
        (tmp_path / check_service.NAME).write_text(f"{HOST} {other.port}\n")
        one = check_service.examine(Settings(home=str(tmp_path), host=HOST, port=standing.port))
    assert other.asked
    assert one.mark is OK
    assert f"port {standing.port}" in one.seen
