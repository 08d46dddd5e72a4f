"""Webhook endpoints, attempts and events as lists in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from alama.platform.terminal import terminal
from alama.platform.terminal.tables import GAP, Lines, Stacked, cut
from alama.webhooks.records import COUNTED_MAX, Attempt, Endpoint, Waiting

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.table import Table

    from alama.platform.events import Event

    Shown: TypeAlias = Table | Stacked


_ANSWER_WIDTH_MIN: Final = 24
"""An answer that has less room than this beside an attempt stands below it."""

_NO_ANSWER: Final = "no answer"
_SECOND_MS: Final = 1_000


def endpoints(
    found: Sequence[Endpoint], waiting: Mapping[str, Waiting], now_us: int, width: int
) -> Shown:
    """Lay out endpoints in the order given; `width` is that of the terminal."""
    states = [_state(one) for one in found]
    waits = [_waits(waiting.get(one.id), now_us) for one in found]
    beside = Lines(
        ("endpoint", "url", "kinds", "state", "waiting", "description"),
        [
            (one.id, one.url, _kinds(one), state, ", ".join(wait), one.description)
            for one, state, wait in zip(found, states, waits, strict=True)
        ],
    ).without_empty()
    if beside.width <= width:
        return beside.table()
    rows = [
        # What is next goes without saying: there is no room to say it.
        (one.id, state, ", ".join(each.removeprefix("next ") for each in wait))
        for one, state, wait in zip(found, states, waits, strict=True)
    ]
    below = [(one.url, " ".join(one.kinds) or "all kinds", one.description) for one in found]
    return Stacked(Lines(("endpoint", "state", "waiting"), rows), below)


def endpoint_facts(one: Endpoint, waiting: Waiting | None, now_us: int) -> list[tuple[str, str]]:
    """Tell all about an endpoint but its secrets."""
    until_us = one.secrets.previous_until_us
    rows = [
        ("endpoint", one.id),
        ("of", f"{one.book.lender}, {one.book.mode.value} mode"),
        ("url", one.url),
        ("kinds", _kinds(one)),
        ("description", one.description or "none"),
        ("created", f"{terminal.minute(one.created_us)} UTC"),
        ("state", _state_in_words(one)),
        ("waiting", _waits_in_words(waiting, now_us)),
    ]
    if until_us is not None and now_us < until_us:
        rows.append(("old secret", f"signs too until {terminal.minute(until_us)} UTC"))
    return rows


def attempts(found: Sequence[Attempt], width: int) -> Shown:
    """Lay out attempts in the order given; `width` is that of the terminal."""
    heads = ("at (UTC)", "event", "try", "result", "took")
    answers = [" ".join(one.answer.split()) for one in found]
    lines = Lines(heads, [_attempt(one, _result(one)) for one in found], (2, 4))
    if not any(answers) and lines.width <= width:
        return lines.table()
    room = width - lines.width - GAP
    if any(answers) and room >= min(_ANSWER_WIDTH_MIN, max(map(len, answers))):
        rows = [
            (*row, cut(answer, room).plain) for row, answer in zip(lines.rows, answers, strict=True)
        ]
        return Lines((*heads, "answer"), rows, lines.right).table()
    if lines.width <= width:
        return Stacked(lines, [(answer,) for answer in answers])
    rows = [_attempt(one, _NO_ANSWER if one.status is None else str(one.status)) for one in found]
    # Whoever gave no answer has said nothing either.
    below = [(one.error or answer,) for one, answer in zip(found, answers, strict=True)]
    return Stacked(Lines(heads, rows, lines.right), below)


def _attempt(one: Attempt, result: str) -> tuple[str, ...]:
    return terminal.second(one.started_us), one.event_id, str(one.number), result, _took(one)


def events(found: Sequence[Event], width: int) -> Shown:
    """Lay out events in the order given; `width` is that of the terminal."""
    rows = [(one.id, terminal.second(one.created_us), one.kind) for one in found]
    subjects = [(one.subject_id,) for one in found]
    heads = ("event", "at (UTC)", "kind")
    of = [(*row, *subject) for row, subject in zip(rows, subjects, strict=True)]
    beside = Lines((*heads, "of"), of)
    return beside.table() if beside.width <= width else Stacked(Lines(heads, rows), subjects)


def _kinds(one: Endpoint) -> str:
    return " ".join(one.kinds) or "all"


def _state(one: Endpoint) -> str:
    if one.disabled_us is not None:
        return f"disabled ({one.disabled_reason})"
    if one.failing_since_us is not None:
        return f"failing since {terminal.day(one.failing_since_us)}"
    return "active"


def _state_in_words(one: Endpoint) -> str:
    if one.disabled_us is not None:
        return f"disabled since {terminal.minute(one.disabled_us)} UTC ({one.disabled_reason})"
    if one.failing_since_us is not None:
        return f"failing since {terminal.minute(one.failing_since_us)} UTC"
    return "active"


def _waits(waiting: Waiting | None, now_us: int) -> tuple[str, ...]:
    if waiting is None:
        return ("nothing",)
    count = f"{waiting.count:,}{'+' if waiting.count >= COUNTED_MAX else ''}"
    if waiting.is_overdue:
        return count, "overdue"
    if waiting.next_us is None:
        return count, "on the way"
    if waiting.next_us <= now_us:
        return count, "due now"
    return count, f"next in {terminal.span(waiting.next_us - now_us)}"


def _waits_in_words(waiting: Waiting | None, now_us: int) -> str:
    if waiting is None:
        return "nothing"
    count, when = _waits(waiting, now_us)
    return f"{count} {'event' if waiting.count == 1 else 'events'}, {when}"


def _result(one: Attempt) -> str:
    return (one.error or "") if one.status is None else str(one.status)


def _took(one: Attempt) -> str:
    if one.took_ms < _SECOND_MS:
        return f"{one.took_ms} ms"
    return f"{one.took_ms / _SECOND_MS:.1f} s"
