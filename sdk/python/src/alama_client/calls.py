"""What can be asked, and how an answer is read: everything of a call but the network.

`Alama` and `AsyncAlama` both send these.
"""

from __future__ import annotations

import json
import uuid
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import quote

from alama_client import errors, retries
from alama_client.answers import (
    Explanation,
    Health,
    ListedScore,
    LoanResult,
    NewWebhookEndpoint,
    OutcomeResult,
    OwnKey,
    Review,
    Score,
    StoredScore,
    TestSent,
    WebhookEndpoint,
    read,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

T = TypeVar("T")
A = TypeVar("A", bound="Mapping[str, object]")

PAGE_MAX = 100
GOOD = frozenset({200, 201, 202, 204})


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer as it came; the names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One thing to ask. Its bytes and its key are the same however often it is sent."""

    method: str
    path: str
    reader: Callable[[Any], T]
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    idempotency_key: str | None = None
    repeatable: bool = True
    """Whether it does no harm to send it again when nobody knows what became of it."""
    answers: frozenset[int] = GOOD
    """The statuses of what was asked for."""

    def headers(self) -> dict[str, str]:
        named = {} if self.body is None else {"content-type": "application/json"}
        if self.idempotency_key is not None:
            named["idempotency-key"] = self.idempotency_key
        return named

    def read(self, reply: Reply) -> T:
        """Give what was asked for, or raise what came instead."""
        try:
            said = json.loads(reply.body) if reply.body else None
            if reply.status in self.answers:
                return self.reader(said)
        except (KeyError, TypeError, ValueError) as error:
            if reply.status in GOOD:
                raise errors.ConnectionFailed("what came is no answer of Alama") from error
            said = None
        raise errors.problem_of(
            reply.status,
            said if isinstance(said, dict) else {},
            reply.headers.get("request-id"),
            retries.seconds(reply.headers.get("retry-after")),
        )


def header(name: str, text: object) -> str:
    """Give a text that can be sent as a header, or raise `InvalidArgument`; never with the text."""
    if not (isinstance(text, str) and text.strip() and text.isprintable()):
        raise errors.InvalidArgument(
            f"the {name} is empty, or has characters that cannot be printed, or is no text"
        )
    return text


def words(name: str, given: str | Iterable[str]) -> tuple[str, ...]:
    """Give a list of words; one word stands for a list of one."""
    try:
        return tuple(map(str.strip, (given,) if isinstance(given, str) else given))
    except TypeError as error:  # nothing that can be listed, or something in it that is no text
        raise errors.InvalidArgument(f"{name} is a word or a list of words") from error


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some of a list, and where it goes on."""

    items: tuple[T, ...]
    next_cursor: str | None


def score(
    application: Mapping[str, object],
    expand: str | Iterable[str],
    language: str | None,
    idempotency_key: str | None,
) -> Call[Score]:
    key = str(uuid.uuid4()) if idempotency_key is None else idempotency_key
    return Call(
        "POST",
        "/v1/score",
        lambda said: read(Score, said),
        _query(expand=",".join(words("expand", expand)), language=language),
        _json(application),
        header("idempotency key", key),
    )


def score_row(
    application: A,
    expand: Iterable[str],
    language: str | None,
    key_of: Callable[[A], str] | None,
) -> Call[Score]:
    """Score one of many, under the key that `key_of` has for it."""
    if key_of is None:
        return score(application, expand, language, None)
    try:
        key = key_of(application)
    except Exception as error:
        raise errors.InvalidArgument(f"key_of has raised {type(error).__name__}") from error
    return score(application, expand, language, header("key that key_of gave", key))


def explain(
    application: Mapping[str, object],
    target: str | None,
    ways: int | None,
    locked: str | Iterable[str],
    language: str | None,
) -> Call[Explanation]:
    return Call(
        "POST",
        "/v1/explain",
        lambda said: read(Explanation, said),
        _query(
            target=target, ways=ways, locked=",".join(words("locked", locked)), language=language
        ),
        _json(application),
    )


def health() -> Call[Health]:
    return Call("GET", "/v1/health", lambda said: read(Health, said), answers=GOOD | {503})


def key() -> Call[OwnKey]:
    return Call("GET", "/v1/key", lambda said: read(OwnKey, said))


def get_score(request_id: str) -> Call[StoredScore]:
    return Call("GET", f"/v1/scores/{_part(request_id)}", lambda said: read(StoredScore, said))


def list_scores(limit: int, cursor: str | None, *, waiting: bool) -> Call[Page[ListedScore]]:
    return Call(
        "GET",
        "/v1/scores",
        lambda said: Page(
            tuple(read(ListedScore, each) for each in said["data"]), said["next_cursor"]
        ),
        _query(limit=limit, cursor=cursor, waiting="true" if waiting else None),
    )


def record_outcomes(outcomes: Iterable[Mapping[str, object]]) -> Call[tuple[OutcomeResult, ...]]:
    try:
        listed = list(outcomes)
    except TypeError as error:
        raise errors.InvalidArgument("outcomes is a list of outcomes") from error
    return Call(
        "POST",
        "/v1/outcomes",
        lambda said: tuple(read(OutcomeResult, each) for each in said["results"]),
        body=_json({"outcomes": listed}),
    )


def outcome(
    request_id: str, kind: str, on: object, more: Mapping[str, object]
) -> dict[str, object]:
    """Write one outcome as it is sent; a date may be a date."""
    return _dated({"request_id": request_id, "outcome": kind, "date": on, **more})


def record_loans(events: Iterable[Mapping[str, object]]) -> Call[tuple[LoanResult, ...]]:
    try:
        listed = [_dated(each) for each in events]
    except (AttributeError, TypeError) as error:
        raise errors.InvalidArgument("events is a list of what happened to loans") from error
    return Call(
        "POST",
        "/v1/loans",
        lambda said: tuple(read(LoanResult, each) for each in said["results"]),
        body=_json({"loans": listed}),
    )


def _dated(said: Mapping[str, object]) -> dict[str, object]:
    """Write something as it is sent, where a date may be a date."""
    return {n: v.isoformat() if isinstance(v, date) else v for n, v in said.items()}


def review(request_id: str, decision: str, reason: str, name: str, note: str) -> Call[Review]:
    said = {"decision": decision, "reason": reason, "name": name}
    return Call(
        "POST",
        f"/v1/scores/{_part(request_id)}/review",
        lambda said: read(Review, said),
        body=_json(said | {"note": note} if note else said),
    )


def make_endpoint(
    url: str, kinds: str | Iterable[str], description: str
) -> Call[NewWebhookEndpoint]:
    return Call(
        "POST",
        "/v1/webhook_endpoints",
        lambda said: read(NewWebhookEndpoint, said),
        body=_json({"url": url, "kinds": words("kinds", kinds), "description": description}),
        repeatable=False,
    )


def list_endpoints() -> Call[tuple[WebhookEndpoint, ...]]:
    return Call(
        "GET",
        "/v1/webhook_endpoints",
        lambda said: tuple(read(WebhookEndpoint, each) for each in said["data"]),
    )


def delete_endpoint(endpoint_id: str) -> Call[None]:
    return Call("DELETE", f"/v1/webhook_endpoints/{_part(endpoint_id)}", lambda _: None)


def test_endpoint(endpoint_id: str) -> Call[TestSent]:
    return Call(
        "POST",
        f"/v1/webhook_endpoints/{_part(endpoint_id)}/test",
        lambda said: read(TestSent, said),
    )


def _query(**given: str | int | None) -> dict[str, str]:
    return {name: str(value) for name, value in given.items() if value not in (None, "")}


def _json(body: Mapping[str, object]) -> bytes:
    try:
        return _written(dict(body))
    except Exception as error:  # a mapping of the caller's may raise anything
        raise errors.InvalidArgument(f"{_unwritten(body)} cannot be sent as JSON") from error


def _written(body: dict[Any, object]) -> bytes:
    return json.dumps(body, separators=(",", ":"), allow_nan=False, default=_number).encode()


def _unwritten(body: Mapping[Any, object]) -> str:
    """The first field that is at fault; never its value."""
    with suppress(Exception):
        for name, value in body.items():
            try:
                _written({name: value})
            except (TypeError, ValueError, RecursionError):
                return name if isinstance(name, str) else f"a name that is a {type(name).__name__}"
    return f"what is given (a {type(body).__name__})"


def _number(value: object) -> float:
    """Write an amount that was kept as a decimal."""
    if isinstance(value, Decimal):
        return float(value)
    raise TypeError(f"{type(value).__name__} cannot be sent as JSON")


def _part(text: str) -> str:
    return quote(header("id", text), safe="")
