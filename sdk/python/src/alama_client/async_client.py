"""`AsyncAlama`, the client for asyncio: `Alama` says what each method does."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack

import httpx

from alama_client import calls
from alama_client.calls import Call, Reply
from alama_client.client import (
    AT_ONCE,
    BaseClient,
    Options,
    OutcomeDetails,
    Scored,
    at_least_one,
    failure,
)
from alama_client.errors import AlamaError
from alama_client.retries import TOO_MANY_REQUESTS, Pace

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
    from datetime import date

    from alama_client.answers import (
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
    from alama_client.client import AnApplication

T = TypeVar("T")


class AsyncAlama(BaseClient):
    """A client of Alama for asyncio. Close it, or use it in an `async with`."""

    def __init__(
        self,
        base_url: str,
        key: str | None = None,
        *,
        http: httpx.AsyncClient | None = None,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(base_url, key, options)
        self._http = http or httpx.AsyncClient()
        self._owns_http = http is None
        self._sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        if self._owns_http:
            await self._http.aclose()

    async def score(
        self,
        application: AnApplication,
        *,
        expand: Expand | Iterable[Expand] = (),
        language: Language | None = None,
        idempotency_key: str | None = None,
    ) -> Score:
        return await self._run(calls.score(application, expand, language, idempotency_key))

    async def score_many(
        self,
        applications: Iterable[AnApplication],
        *,
        in_order: bool = True,
        expand: Expand | Iterable[Expand] = (),
        language: Language | None = None,
        key_of: Callable[[AnApplication], str] | None = None,
        at_once: int = AT_ONCE,
    ) -> AsyncIterator[Scored]:
        pace, wanted = Pace(self._now), calls.words("expand", expand)
        at_once = at_least_one(at_once)

        async def one(index: int, application: AnApplication) -> Scored:
            try:
                call = calls.score_row(application, wanted, language, key_of)
                score = await self._run(call, pace)
            except AlamaError as error:
                return Scored(index, application, None, error)
            return Scored(index, application, score, None)

        pending: deque[asyncio.Task[Scored]] = deque()
        try:
            for index, application in enumerate(applications):
                pending.append(asyncio.create_task(one(index, application)))
                while len(pending) >= at_once:
                    yield await _next(pending, in_order=in_order)
            while pending:
                yield await _next(pending, in_order=in_order)
        finally:
            for task in pending:
                task.cancel()
            await asyncio.gather(*pending, return_exceptions=True)

    async def explain(
        self,
        application: AnApplication,
        *,
        target: str | None = None,
        ways: int | None = None,
        locked: str | Iterable[str] = (),
        language: Language | None = None,
    ) -> Explanation:
        return await self._run(calls.explain(application, target, ways, locked, language))

    async def health(self) -> Health:
        return await self._run(calls.health())

    async def key(self) -> OwnKey:
        return await self._run(calls.key())

    async def get_score(self, request_id: str) -> StoredScore:
        return await self._run(calls.get_score(request_id))

    async def list_scores(
        self, *, waiting: bool = False, page_size: int = calls.PAGE_MAX
    ) -> AsyncIterator[ListedScore]:
        cursor = None
        while True:
            page = await self._run(calls.list_scores(page_size, cursor, waiting=waiting))
            for each in page.items:
                yield each
            if (cursor := page.next_cursor) is None:
                return

    async def record_outcome(
        self,
        request_id: str,
        outcome: OutcomeKind,
        date: str | date,
        **more: Unpack[OutcomeDetails],
    ) -> OutcomeResult:
        said = calls.outcome(request_id, outcome, date, more)
        (result,) = await self._run(calls.record_outcomes([said]))
        return result

    async def record_outcomes(
        self, outcomes: Iterable[Mapping[str, object]]
    ) -> tuple[OutcomeResult, ...]:
        return await self._run(calls.record_outcomes(outcomes))

    async def record_loans(self, events: Iterable[Mapping[str, object]]) -> tuple[LoanResult, ...]:
        return await self._run(calls.record_loans(events))

    async def review(
        self,
        request_id: str,
        decision: ReviewDecision,
        reason: ReviewReason,
        *,
        name: str,
        note: str = "",
    ) -> Review:
        return await self._run(calls.review(request_id, decision, reason, name, note))

    async def make_endpoint(
        self, url: str, *, kinds: str | Iterable[str] = (), description: str = ""
    ) -> NewWebhookEndpoint:
        return await self._run(calls.make_endpoint(url, kinds, description))

    async def list_endpoints(self) -> tuple[WebhookEndpoint, ...]:
        return await self._run(calls.list_endpoints())

    async def delete_endpoint(self, endpoint_id: str) -> None:
        await self._run(calls.delete_endpoint(endpoint_id))

    async def test_endpoint(self, endpoint_id: str) -> TestSent:
        return await self._run(calls.test_endpoint(endpoint_id))

    async def _run(self, call: Call[T], pace: Pace | None = None) -> T:
        await self._await_turn(pace)
        tries = self._tries(call)
        while True:
            try:
                return call.read(await self._send(call, tries.timeout(), pace))
            except AlamaError as error:
                refused = pace is not None and error.status == TOO_MANY_REQUESTS
                await self._sleep(tries.wait(error, for_free=refused))
            await self._await_turn(pace)

    async def _await_turn(self, pace: Pace | None) -> None:
        if pace is not None:
            wait_s = pace.take_turn()
            while wait_s > 0:
                await self._sleep(wait_s)
                wait_s = pace.closed_s()

    async def _send(self, call: Call[Any], timeout: float, pace: Pace | None) -> Reply:  # noqa: ASYNC109  of one attempt
        reply = None
        try:
            request = self._request(self._http, call, timeout)
            async with asyncio.timeout(timeout):
                response = await self._http.send(request, follow_redirects=False)
            reply = Reply(response.status_code, response.headers, response.content)
        except (httpx.HTTPError, TimeoutError) as error:
            raise failure(error) from error
        finally:
            if pace is not None:
                pace.heard(reply)
        return reply


async def _next(pending: deque[asyncio.Task[Scored]], *, in_order: bool) -> Scored:
    """Take the first that is done, or of all the first."""
    if in_order:
        return await pending.popleft()
    done, _ = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
    first = done.pop()
    pending.remove(first)
    return first.result()
