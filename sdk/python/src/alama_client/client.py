"""`Alama`, the client that waits for its answers; `AsyncAlama` is its twin for asyncio."""

from __future__ import annotations

import time
from collections import deque
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, TypedDict, TypeVar, Unpack

import httpx

from alama_client import calls
from alama_client.calls import Call, Reply
from alama_client.errors import AlamaError, ConnectionFailed, InvalidArgument, TimedOut
from alama_client.retries import TOO_MANY_REQUESTS, Pace, Tries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from datetime import date

    from alama_client.answers import (
        Application,
        Expand,
        Explanation,
        Health,
        Language,
        ListedScore,
        LoanResult,
        NewWebhookEndpoint,
        OutcomeKind,
        OutcomeResult,
        OwnKey,
        Review,
        ReviewDecision,
        ReviewReason,
        Score,
        StoredScore,
        TestSent,
        WebhookEndpoint,
    )

    AnApplication = Application | Mapping[str, object]

T = TypeVar("T")

VERSION = "0.1.0"
TIMEOUT_S = 10.0
TOTAL_TIMEOUT_S = 60.0
RETRIES = 4
AT_ONCE = 8
"""How many requests `score_many` has on their way."""


class Options(TypedDict, total=False):
    """How a client behaves; times are in seconds."""

    timeout: float
    """Of one attempt: 10."""
    total_timeout: float
    """Of a call with all its retries and waits: 60."""
    retries: int
    """Attempts after the first: 4."""
    traceparent: Callable[[], str | None]
    """Gives the trace context of the moment (W3C), which is then passed on."""


class OutcomeDetails(TypedDict, total=False):
    """What more may be said of a loan; docs/outcomes.md says when."""

    disbursed_amount: float | None
    repaid_amount: float | None
    defaulted_on: str | date | None
    corrects: bool


@dataclass(frozen=True, slots=True)
class Scored:
    """One row of `score_many`: its score, or what kept it from having one."""

    index: int
    application: AnApplication
    score: Score | None
    error: AlamaError | None

    def result(self) -> Score:
        """The score, or raise the error."""
        if self.score is None:
            raise self.error or AlamaError("neither a score nor an error")
        return self.score


class BaseClient:
    """What both clients are made with."""

    def __init__(self, base_url: str, key: str | None, options: Options) -> None:
        self._base_url = _address(base_url)
        self._headers = {"accept": "application/json", "user-agent": f"alama-client/{VERSION}"}
        if key is not None:
            self._headers["authorization"] = f"Bearer {calls.header('API key', key)}"
        self._timeout = options.get("timeout", TIMEOUT_S)
        self._total_timeout = options.get("total_timeout", TOTAL_TIMEOUT_S)
        self._retries = options.get("retries", RETRIES)
        self._traceparent = options.get("traceparent", lambda: None)
        self._now: Callable[[], float] = time.monotonic

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._base_url!r})"

    def _tries(self, call: Call[Any]) -> Tries:
        return Tries(call, self._now, self._retries, self._timeout, self._total_timeout)

    def _request(
        self, http: httpx.Client | httpx.AsyncClient, call: Call[Any], timeout: float
    ) -> httpx.Request:
        if http.is_closed:
            raise InvalidArgument("the client is closed")
        headers = self._headers | call.headers()
        try:
            if traceparent := self._traceparent():
                headers["traceparent"] = calls.header("traceparent", traceparent)
            return http.build_request(
                call.method,
                self._base_url + call.path,
                params=call.query,
                headers=[(name.encode(), text.encode()) for name, text in headers.items()],
                content=call.body,
                extensions={"timeout": _TimeLeft(timeout)},
            )
        except InvalidArgument:
            raise
        except Exception as error:  # `traceparent` may raise anything
            words = f"the request cannot be written: {type(error).__name__}"
            raise InvalidArgument(words) from error


def _address(base_url: str) -> str:
    """Give the address that paths are added to, or raise `InvalidArgument`."""
    try:
        url = httpx.URL(base_url)
        is_one = url.scheme in {"https", "http"} and url.host.encode("idna") != b""
    except (httpx.InvalidURL, TypeError, ValueError):
        is_one = False
    if not is_one:
        raise InvalidArgument(
            "the address of Alama begins with https:// or http:// and names a host"
        )
    return str(base_url).rstrip("/")


def at_least_one(at_once: int) -> int:
    if at_once < 1:
        raise InvalidArgument("at_once is 1 or more")
    return at_once


class _TimeLeft(dict[str, float]):
    """The seconds that are left of an attempt: connecting, writing and reading share them."""

    def __init__(self, timeout: float) -> None:
        super().__init__()
        self._deadline = time.monotonic() + timeout

    def get(self, _name: str, _default: object = None) -> float:
        return max(0.001, self._deadline - time.monotonic())


def failure(error: httpx.HTTPError | TimeoutError) -> ConnectionFailed:
    """What httpx says, in our words; its own error is the cause."""
    late = isinstance(error, httpx.TimeoutException | TimeoutError)
    failed = TimedOut("no answer in time") if late else ConnectionFailed(str(error) or "no answer")
    failed.was_sent = not isinstance(error, _NEVER_SENT)
    return failed


_NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


class Alama(BaseClient):
    """A client of Alama. Safe for threads; close it, or use it in a `with`.

    `http` is an httpx client of your own, for proxies or certificates; close that one yourself.
    """

    def __init__(
        self,
        base_url: str,
        key: str | None = None,
        *,
        http: httpx.Client | None = None,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(base_url, key, options)
        self._http = http or httpx.Client()
        self._owns_http = http is None
        self._sleep: Callable[[float], None] = time.sleep

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._owns_http:
            self._http.close()

    def score(
        self,
        application: AnApplication,
        *,
        expand: Expand | Iterable[Expand] = (),
        language: Language | None = None,
        idempotency_key: str | None = None,
    ) -> Score:
        """Score an application, once, however often it has to be sent.

        An `idempotency_key` of your own, such as the id of the loan, makes that hold over restarts
        of your program too, for 72 hours.
        """
        return self._run(calls.score(application, expand, language, idempotency_key))

    def score_many(
        self,
        applications: Iterable[AnApplication],
        *,
        in_order: bool = True,
        expand: Expand | Iterable[Expand] = (),
        language: Language | None = None,
        key_of: Callable[[AnApplication], str] | None = None,
        at_once: int = AT_ONCE,
    ) -> Iterator[Scored]:
        """Score many, as fast as the key may: each once, in order or as they come.

        `applications` is read as it is needed, so it may be a file of millions. `key_of` gives each
        an idempotency key of your own, so that a run that was broken off can be done again. A row
        that fails, or cannot even be sent, is told in its place and harms no other.
        """
        pace, wanted = Pace(self._now), calls.words("expand", expand)

        def one(index: int, application: AnApplication) -> Scored:
            try:
                score = self._run(calls.score_row(application, wanted, language, key_of), pace)
            except AlamaError as error:
                return Scored(index, application, None, error)
            return Scored(index, application, score, None)

        pool = ThreadPoolExecutor(at_least_one(at_once), "alama-score-many")
        pending: deque[Future[Scored]] = deque()
        try:
            for index, application in enumerate(applications):
                pending.append(pool.submit(one, index, application))
                while len(pending) >= 2 * at_once:  # the next are at hand when one is done
                    yield _next(pending, in_order=in_order)
            while pending:
                yield _next(pending, in_order=in_order)
        finally:
            pool.shutdown(cancel_futures=True)

    def explain(
        self,
        application: AnApplication,
        *,
        target: str | None = None,
        ways: int | None = None,
        locked: str | Iterable[str] = (),
        language: Language | None = None,
    ) -> Explanation:
        """Say why an application is decided so, and what would lead to the target. Stores nothing.

        `target` is `APPROVED`, a tier or a score; `ways` is how many ways there are wanted, at
        most; `locked` are fields that must stay as they are.
        """
        return self._run(calls.explain(application, target, ways, locked, language))

    def health(self) -> Health:
        """Say whether Alama can serve; needs no key."""
        return self._run(calls.health())

    def key(self) -> OwnKey:
        """Say what the key is that this client has; never the key itself."""
        return self._run(calls.key())

    def get_score(self, request_id: str) -> StoredScore:
        """Read a score back, with what was sent and what came of it."""
        return self._run(calls.get_score(request_id))

    def list_scores(
        self, *, waiting: bool = False, page_size: int = calls.PAGE_MAX
    ) -> Iterator[ListedScore]:
        """Give all scores, the newest first, page by page; or those that wait for a person."""
        cursor = None
        while True:
            page = self._run(calls.list_scores(page_size, cursor, waiting=waiting))
            yield from page.items
            if (cursor := page.next_cursor) is None:
                return

    def record_outcome(
        self,
        request_id: str,
        outcome: OutcomeKind,
        date: str | date,
        **more: Unpack[OutcomeDetails],
    ) -> OutcomeResult:
        """Say what became of a loan. The same may be said twice, late and in any order.

        A refusal raises nothing: it is the `result`, such as `before_the_loan`, with a `message`.
        """
        (result,) = self._run(
            calls.record_outcomes([calls.outcome(request_id, outcome, date, more)])
        )
        return result

    def record_outcomes(
        self, outcomes: Iterable[Mapping[str, object]]
    ) -> tuple[OutcomeResult, ...]:
        """Say what became of up to 1,000 loans; each gets a result of its own, in order."""
        return self._run(calls.record_outcomes(outcomes))

    def record_loans(self, events: Iterable[Mapping[str, object]]) -> tuple[LoanResult, ...]:
        """Say what was lent and paid back, up to 1,000 events; each gets a result, in order.

        An event is a dict as it is sent, such as `applicant_ref`, `loan`, `kind`, `date` and
        `amount`; docs/loans.md has them all. The same may be said twice, late and in any order.
        """
        return self._run(calls.record_loans(events))

    def review(
        self,
        request_id: str,
        decision: ReviewDecision,
        reason: ReviewReason,
        *,
        name: str,
        note: str = "",
    ) -> Review:
        """Keep what an officer decided on a score. The first review stands."""
        return self._run(calls.review(request_id, decision, reason, name, note))

    def make_endpoint(
        self, url: str, *, kinds: str | Iterable[str] = (), description: str = ""
    ) -> NewWebhookEndpoint:
        """Have events sent to a URL; without kinds, all of them. Keep the secret.

        Not sent again when its answer is lost: look in `list_endpoints`, and delete an endpoint
        whose secret nobody has.
        """
        return self._run(calls.make_endpoint(url, kinds, description))

    def list_endpoints(self) -> tuple[WebhookEndpoint, ...]:
        """Give all endpoints, without their secrets."""
        return self._run(calls.list_endpoints())

    def delete_endpoint(self, endpoint_id: str) -> None:
        """Send nothing more to an endpoint."""
        self._run(calls.delete_endpoint(endpoint_id))

    def test_endpoint(self, endpoint_id: str) -> TestSent:
        """Have an event of the kind `webhook.test` sent to this endpoint alone."""
        return self._run(calls.test_endpoint(endpoint_id))

    def _run(self, call: Call[T], pace: Pace | None = None) -> T:
        self._await_turn(pace)
        tries = self._tries(call)
        while True:
            try:
                return call.read(self._send(call, tries.timeout(), pace))
            except AlamaError as error:
                refused = pace is not None and error.status == TOO_MANY_REQUESTS
                self._sleep(tries.wait(error, for_free=refused))
            self._await_turn(pace)

    def _await_turn(self, pace: Pace | None) -> None:
        if pace is not None:
            wait_s = pace.take_turn()
            while wait_s > 0:
                self._sleep(wait_s)
                wait_s = pace.closed_s()

    def _send(self, call: Call[Any], timeout: float, pace: Pace | None) -> Reply:
        deadline = time.monotonic() + timeout
        reply = None
        try:
            request = self._request(self._http, call, timeout)
            response = self._http.send(request, stream=True, follow_redirects=False)
            try:
                parts = []
                for part in response.iter_bytes():
                    parts.append(part)
                    if time.monotonic() > deadline:
                        raise TimedOut("the answer did not come to its end in time")
            finally:
                response.close()
            reply = Reply(response.status_code, response.headers, b"".join(parts))
        except httpx.HTTPError as error:
            raise failure(error) from error
        finally:
            if pace is not None:
                pace.heard(reply)
        return reply


def _next(pending: deque[Future[Scored]], *, in_order: bool) -> Scored:
    """Take the first that is done, or of all the first."""
    if in_order:
        return pending.popleft().result()
    done = next(iter(wait(pending, return_when=FIRST_COMPLETED).done))
    pending.remove(done)
    return done.result()
