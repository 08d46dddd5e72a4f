"""A fake Alama for your tests: in this process, without a server, and without waiting.

    fake = FakeAlama()
    fake.answer(decision="DECLINED", score=480, when=lambda a: a["monthly_inflow"] < 5_000)
    fake.fail(TooManyRequests, times=2)
    my_loan_system(fake.client())
    assert len(fake.scores) == 1

It answers in the shapes of Alama, and keeps idempotency keys as Alama does. It judges nobody.
"""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Self

import httpx

from alama_client.async_client import AsyncAlama
from alama_client.client import Alama
from alama_client.errors import (
    AlamaError,
    AlreadyReviewed,
    ConnectionFailed,
    IdempotencyKeyReused,
    NotFound,
    Problem,
    TimedOut,
    UnknownScore,
    UnknownWebhookEndpoint,
    WebhookEndpointDisabled,
)
from alama_client.webhooks import sign_webhook

if TYPE_CHECKING:
    from typing import Unpack

    from alama_client.client import Options

Json = dict[str, Any]
Condition = Callable[[Mapping[str, Any]], bool]

BASE_URL = "https://alama.invalid"
NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
"""When everything happens, a second after the other."""
MODEL = "sha256:" + "0" * 64
OWN_KEY: Json = {
    "id": "key_fake",
    "lender": "fake",
    "currency": "KES",
    "mode": "test",
    "scopes": ["scores:read", "scores:write"],
    "created_at": "2026-01-01T00:00:00Z",
    "expires_at": None,
    "rate_limit": 1_000,
    "burst": 2_000,
}
MORE: Json = {
    "base_score": 640.0,
    "reasons": [],
    "model": MODEL,
    "policy": MODEL,
    "offer": {
        "currency": "KES",
        "default_probability": 0.025,
        "price": {"expected_loss": 15.2, "running_cost": 8.0, "funding": 10.0, "margin": 3.3},
        "fee": 600.0,
        "expected_loss": 250.0,
        "rules": [],
        "apr_definition": "simple",
        "aprs": {"simple": 36.5, "nominal": 36.5, "effective": 42.57},
        "capped_by": [],
        "counter_offers": None,
    },
    "schedule": {
        "currency": "KES",
        "amount": 10_000,
        "received": 10_000,
        "fee": 600,
        "tax": 0,
        "interest": 0,
        "total": 10_600,
        "payments": [
            {"due_in_days": 60, "amount": 10_600, "principal": 10_000, "interest": 0, "fee": 600}
        ],
    },
    "offers": [],
}
"""What `expand` adds to a score."""
NOT_LISTED = (
    *MORE,
    "shap_values",
    "processing_ms",
    "mode",
    "key_id",
    "application",
    "review",
    "outcome",
)


@dataclass(frozen=True, slots=True)
class FakeRequest:
    """A request as it came; a retry is one more."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes = field(repr=False)

    def json(self) -> Any:  # noqa: ANN401  JSON is what it is
        return json.loads(self.body) if self.body else None


class FakeAlama:
    """Alama as far as its clients see it, kept in memory."""

    secret = "whsec_" + base64.b64encode(b"a secret of 32 bytes, all fake ..").decode()
    """Signs webhooks."""

    def __init__(self) -> None:
        self.requests: list[FakeRequest] = []
        """All that came, in order."""
        self.scores: dict[str, Json] = {}
        """What was stored, by `request_id`."""
        self.waited_s = 0.0
        """How long the clients would have waited: for them the time has passed."""
        self.outcomes: list[Json] = []
        self.loans: list[Json] = []
        """Events, in the order told."""
        self.endpoints: dict[str, Json] = {}
        self._rules: list[tuple[Condition, Json]] = []
        self._failures: list[type[AlamaError] | tuple[type[Problem], float]] = []
        self._replays: dict[str, tuple[bytes, Json]] = {}
        self._count = 0
        self._lock = threading.RLock()

    # ------------------------------------------------------------------------------- what you say

    def client(self, **options: Unpack[Options]) -> Alama:
        """Give a client that speaks with this, and never waits."""
        transport = httpx.MockTransport(self._handle)
        client = Alama(
            BASE_URL, "alama_test_fake", http=httpx.Client(transport=transport), **options
        )
        client._now, client._sleep = self._now, self._sleep  # noqa: SLF001  one of ours
        return client

    def async_client(self, **options: Unpack[Options]) -> AsyncAlama:
        """Give a client for asyncio that speaks with this, and never waits."""
        http = httpx.AsyncClient(transport=httpx.MockTransport(self._handle))
        client = AsyncAlama(BASE_URL, "alama_test_fake", http=http, **options)
        client._now, client._sleep = self._now, self._sleep_soon  # noqa: SLF001  one of ours
        return client

    def answer(self, *, when: Condition = lambda _: True, **members: object) -> Self:
        """Give applications these members of a score; what is said last is looked at first."""
        self._rules.insert(0, (when, members))
        return self

    def fail(self, error: type[AlamaError], *, times: int = 1, retry_after: float = 0) -> Self:
        """Let the next requests fail: with a problem, or by `ConnectionFailed` or `TimedOut`."""
        if issubclass(error, Problem):
            self._failures += [(error, retry_after)] * times
        else:
            self._failures += [error] * times
        return self

    def webhook(self, kind: str, **data: object) -> tuple[dict[str, str], bytes]:
        """Give the headers and the body of an event, signed with `secret`."""
        event_id, at = self._new_id("evt_")
        body = {"type": kind, "timestamp": at, "data": {"mode": "test", **data}}
        told = json.dumps(body).encode()
        return sign_webhook(told, event_id, self.secret), told

    # ------------------------------------------------------------------------------- what it does

    def _handle(self, request: httpx.Request) -> httpx.Response:
        seen = FakeRequest(
            request.method,
            request.url.raw_path.decode().partition("?")[0],
            dict(request.url.params),
            dict(request.headers),
            request.content,
        )
        try:
            with self._lock:
                self.requests.append(seen)
                if self._failures:
                    self._fail(request)
                status, said = self._route(seen)
        except Problem as problem:
            said = problem.args[1]
            headers = (
                {"retry-after": f"{problem.retry_after:g}"}
                if problem.retry_after is not None
                else {}
            )
            return httpx.Response(problem.status, json=said, headers=headers)
        return httpx.Response(status, json=said) if said is not None else httpx.Response(status)

    def _fail(self, request: httpx.Request) -> None:
        failure = self._failures.pop(0)
        if isinstance(failure, tuple):
            raise _problem(*failure)
        if issubclass(failure, TimedOut):
            raise httpx.ReadTimeout("fake", request=request)
        assert issubclass(failure, ConnectionFailed), failure
        raise httpx.ReadError("fake", request=request)

    def _route(  # noqa: C901, PLR0911, PLR0912  one line for each path
        self, seen: FakeRequest
    ) -> tuple[int, Json | None]:
        match (seen.method, *seen.path.strip("/").split("/")[1:]):
            case "POST", "score":
                return 200, self._score(seen)
            case "POST", "explain":
                return 200, self._explain(seen.json())
            case "GET", "health":
                return 200, {"status": "ok", "version": "fake", "model": MODEL}
            case "GET", "key":
                return 200, OWN_KEY
            case "GET", "scores":
                return 200, self._page(seen.query)
            case "GET", "scores", request_id:
                return 200, self._stored(request_id)
            case "POST", "scores", request_id, "review":
                return 201, self._review(request_id, seen.json())
            case "POST", "outcomes":
                return 200, self._outcomes(seen.json()["outcomes"])
            case "POST", "loans":
                return 200, self._loans(seen.json()["loans"])
            case "POST", "webhook_endpoints":
                return 201, self._endpoint(seen.json())
            case "GET", "webhook_endpoints":
                return 200, {"data": [_without(each, "secret") for each in self.endpoints.values()]}
            case "DELETE", "webhook_endpoints", endpoint_id:
                if self.endpoints.pop(endpoint_id, None) is None:
                    raise _problem(UnknownWebhookEndpoint)
                return 204, None
            case "POST", "webhook_endpoints", endpoint_id, "test":
                return 202, self._test(endpoint_id)
        raise _problem(NotFound)

    def _score(self, seen: FakeRequest) -> Json:
        key = seen.headers.get("idempotency-key", "")
        if key in self._replays:
            body, given = self._replays[key]
            if body != seen.body:
                raise _problem(IdempotencyKeyReused)
            return given
        request_id, at = self._new_id("req_")
        application = seen.json()
        kept = MORE | self._judge(application) | {"request_id": request_id, "processing_ms": 1}
        more = {"created_at": at, "mode": "test", "key_id": "key_fake", "application": application}
        self.scores[request_id] = (
            _without(kept, "reasons", "schedule", "offers")
            | more
            | {"review": None, "outcome": None}
        )
        expanded = seen.query.get("expand", "").split(",")
        score = _without(kept, *MORE.keys() - set(expanded))
        self._replays[key] = seen.body, score
        return score

    def _judge(self, application: Mapping[str, Any]) -> Json:
        said: Json = {
            "score": 700,
            "tier": "A",
            "default_probability": 0.025,
            "decision": "APPROVED",
            "recommended_limit": 10_000,
            "recommended_term_days": 60,
            "recommended_apr": 36.5,
            "shap_values": [],
        }
        rules = (members for when, members in self._rules if when(application))
        return said | next(rules, {})

    def _explain(self, application: Mapping[str, Any]) -> Json:
        request_id, _ = self._new_id("req_")
        return {
            "rules": [],
            "counter_offers": None,
            "base_score": 640.0,
            "reasons": [],
            "recourse": "already_met",
            "counterfactuals": [],
            "binding": [],
            "notice": None,
            "language": "en",
            "target": "APPROVED",
            "model": MODEL,
            "policy": MODEL,
            "request_id": request_id,
            "processing_ms": 1,
        } | self._judge(application)

    def _page(self, query: Mapping[str, str]) -> Json:
        newest = sorted(self.scores, reverse=True)
        older = [one for one in newest if one < query.get("cursor", "~")]
        if query.get("waiting") == "true":
            older = [one for one in older if _waits(self.scores[one])]
        limit = int(query.get("limit", "20"))
        page = older[:limit]
        return {
            "data": [_without(self.scores[one], *NOT_LISTED) for one in page],
            "next_cursor": page[-1] if len(older) > limit else None,
        }

    def _stored(self, request_id: str) -> Json:
        if request_id not in self.scores:
            raise _problem(UnknownScore)
        return self.scores[request_id]

    def _review(self, request_id: str, said: Json) -> Json:
        score = self._stored(request_id)
        given = score["decision"]
        review = {
            "note": "",
            **said,
            "request_id": request_id,
            "reviewed_at": _moment(0),
            "given_decision": given,
            "overrides": {said["decision"], given} == {"APPROVED", "DECLINED"},
        }
        if score["review"] not in (None, review):
            raise _problem(AlreadyReviewed)
        score["review"] = review
        return review

    def _outcomes(self, outcomes: list[Json]) -> Json:
        self.outcomes += outcomes
        unknown = {"result": "unknown_score", "message": "The fake has given no such score."}
        results = [
            {"request_id": each["request_id"]}
            | (
                {"result": "recorded", "is_default": each["outcome"] != "repaid"}
                if each["request_id"] in self.scores
                else unknown
            )
            for each in outcomes
        ]
        return {"results": results}

    def _loans(self, events: list[Json]) -> Json:
        results = [
            {"loan": each["loan"], "result": "unchanged" if each in self.loans else "recorded"}
            for each in events
        ]
        self.loans += events
        return {"results": results}

    def _endpoint(self, said: Json) -> Json:
        endpoint_id, at = self._new_id("we_")
        made = {
            **said,
            "id": endpoint_id,
            "enabled": True,
            "created_at": at,
            "failing_since": None,
            "disabled_at": None,
            "disabled_reason": None,
            "pending": {"count": 0, "next_attempt_at": None},
            "secret": self.secret,
        }
        self.endpoints[endpoint_id] = made
        return made

    def _test(self, endpoint_id: str) -> Json:
        if endpoint_id not in self.endpoints:
            raise _problem(UnknownWebhookEndpoint)
        if not self.endpoints[endpoint_id]["enabled"]:
            raise _problem(WebhookEndpointDisabled)
        event_id, _ = self._new_id("evt_")
        return {"event": event_id}

    def _now(self) -> float:
        return self.waited_s

    def _sleep(self, wait_s: float) -> None:
        with self._lock:
            self.waited_s += wait_s

    async def _sleep_soon(self, wait_s: float) -> None:
        self._sleep(wait_s)

    def _new_id(self, prefix: str) -> tuple[str, str]:
        """An id that sorts after those before, and a time that comes after theirs."""
        self._count += 1
        chance = hashlib.sha256(str(self._count).encode()).hexdigest()[:14]
        return f"{prefix}{self._count:014x}{chance}", _moment(self._count)


def _problem(error: type[Problem], retry_after: float | None = None) -> Problem:
    said = {"code": error.code, "detail": "The fake was told so.", "request_id": "req_" + "0" * 28}
    return error(error.status, said, None, retry_after)


def _moment(seconds: int) -> str:
    return (NOON + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


def _waits(score: Json) -> bool:
    return score["decision"] == "REVIEW" and score["review"] is None


def _without(said: Json, *names: str) -> Json:
    return {each: value for each, value in said.items() if each not in names}
