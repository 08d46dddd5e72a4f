"""Tables of webhooks at their widest, on narrow and wide terminals: ids stay whole."""

from __future__ import annotations

import os
from io import StringIO

import pytest
from rich.console import Console, RenderableType

from alama.platform import ids
from alama.platform.book import Book, Mode
from alama.platform.events import PREFIX, Event, EventKind
from alama.webhooks import cli as webhooks_cli
from alama.webhooks.records import (
    ATTEMPT_PREFIX,
    COUNTED_MAX,
    ENDPOINT_PREFIX,
    Attempt,
    DisabledReason,
    Endpoint,
    Secrets,
    SendError,
    Waiting,
)

NOW_US = 1_790_000_000_000_000
MINUTE_US = 60_000_000
URL = "https://integration.eu-west-1.example.com/api/v2/tenants/umoja-sacco/webhooks/alama"
ANSWER = "<html>\n<head><title>503 Service Temporarily Unavailable</title></head>" * 9
WIDTHS = [80, 100, 120, 160]


def new_id(prefix: str) -> str:
    return ids.sortable(prefix, NOW_US, os.urandom(ids.RANDOM_BYTES))


def endpoint(**told: object) -> Endpoint:
    of = {"id": new_id(ENDPOINT_PREFIX), "book": Book("demo", Mode.TEST), "url": URL, "kinds": ()}
    rest = {"description": "", "created_us": NOW_US, "secrets": Secrets("vk_1", b"")}
    return Endpoint(**(of | rest | told))  # type: ignore[arg-type]


def attempt(status: int | None, error: str | None, answer: str) -> Attempt:
    of = (new_id(ATTEMPT_PREFIX), "demo", "test", new_id(ENDPOINT_PREFIX), new_id(PREFIX))
    return Attempt(*of, 11, NOW_US, 14_999, status, error, answer)


def drawn(table: RenderableType, width: int) -> str:
    console = Console(file=StringIO(), width=width)
    console.print(table)
    written = console.file
    assert isinstance(written, StringIO)
    lines = written.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    return "\n".join(lines)


@pytest.mark.parametrize("width", WIDTHS)
def test_of_endpoints_in_every_state_the_ids_stay_whole_and_urls_have_the_width(
    width: int,
) -> None:
    found = [
        endpoint(kinds=tuple(EventKind), description="the ledger"),
        endpoint(failing_since_us=NOW_US),
        endpoint(disabled_us=NOW_US, disabled_reason=DisabledReason.REQUESTED),
        endpoint(url="https://x.example/"),
    ]
    waiting = {
        found[0].id: Waiting(COUNTED_MAX, NOW_US + 59 * MINUTE_US, is_overdue=False),
        found[1].id: Waiting(1, NOW_US - 9 * MINUTE_US, is_overdue=True),
        found[3].id: Waiting(2, None, is_overdue=False),
    }
    shown = drawn(webhooks_cli.endpoint_table(found, waiting, NOW_US, width), width)
    assert all(one.id in shown for one in found)
    for words in ("10,000+", "in 59 min", "overdue", "on the way", "nothing", "(requested)"):
        assert words in shown
    assert "the ledger" in shown
    if width >= len(URL) + 2:
        assert URL in shown
    else:
        assert f"  {URL[: width - 3]}…" in shown.splitlines()


def test_short_endpoints_stand_in_one_line_each_and_no_column_is_empty() -> None:
    found = [endpoint(url="https://x.example/a"), endpoint(url="https://x.example/b")]
    shown = drawn(webhooks_cli.endpoint_table(found, {}, NOW_US, 100), 100)
    assert len(shown.splitlines()) == 2 + len(found)
    assert "description" not in shown
    found[0] = endpoint(url="https://x.example/a", description="the ledger")
    assert "the ledger" in drawn(webhooks_cli.endpoint_table(found, {}, NOW_US, 100), 100)


@pytest.mark.parametrize("width", WIDTHS)
def test_attempts_without_answers_have_no_column_for_them(width: int) -> None:
    found = [attempt(204, None, ""), attempt(None, SendError.TIMEOUT, "")]
    shown = drawn(webhooks_cli.attempt_table(found, width), width)
    assert "answer" not in shown
    assert len(shown.splitlines()) == 2 + len(found)


@pytest.mark.parametrize("width", [80, 96])
def test_an_answer_below_its_attempt_has_the_whole_width_and_says_where_it_was_cut(
    width: int,
) -> None:
    shown = drawn(webhooks_cli.attempt_table([attempt(503, None, ANSWER)], width), width)
    *_, last = shown.splitlines()
    assert len(last) == width
    assert last.startswith("  <html> <head><title>503 ")
    assert last.endswith("…")


def test_a_short_answer_stands_beside_its_attempt() -> None:
    shown = drawn(webhooks_cli.attempt_table([attempt(500, None, "no luck")], 90), 90)
    assert shown.splitlines()[-1].endswith("15.0 s  no luck")


@pytest.mark.parametrize("width", WIDTHS)
def test_of_attempts_the_events_and_why_they_failed_stay_whole(width: int) -> None:
    failed = [attempt(None, error, "") for error in SendError]
    found = [*failed, attempt(503, None, ANSWER)]
    shown = drawn(webhooks_cli.attempt_table(found, width), width)
    assert all(one.event_id in shown for one in found)
    assert all(error in shown for error in SendError)
    assert "15.0 s" in shown
    assert "<html> <head>" in shown
    # A head, a line, and no attempt takes more than two.
    assert len(shown.splitlines()) <= 3 + 2 * len(found)


@pytest.mark.parametrize("width", WIDTHS)
def test_of_events_the_ids_and_kinds_stay_whole(width: int) -> None:
    subject = "sha256:" + "1e3b6326" * 8
    found = [
        Event(new_id(PREFIX), "demo", "test", kind, subject, NOW_US, b"") for kind in EventKind
    ]
    shown = drawn(webhooks_cli.event_table(found, width), width)
    assert all(one.id in shown for one in found)
    assert all(kind in shown for kind in EventKind)
    assert "2026-09-21 14:13:20" in shown
