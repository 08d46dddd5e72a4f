"""Score an application, once for each idempotency key, and answer when it is kept.

The order is the promise: nothing is answered that is not durable. What a crash takes away was never
acknowledged, and a client that asks again under the same idempotency key gets one score, not two.

Who asks again while the first is being answered waits for it. In another process nobody waits here:
there the commit finds the answer of the first.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
from msgspec import UNSET

from alama.core.application import Application, remembering
from alama.core.asked import assumed
from alama.core.assess import Assessment, assess
from alama.core.chain import SALT_BYTES, digest
from alama.core.intake import members
from alama.core.lending.circumstances import Segment
from alama.core.lending.policy import Decision
from alama.core.memory import DAY_HOURS
from alama.core.tally import seen
from alama.memory.borrower import after_asking, hour_of, remembered, standing_of
from alama.memory.store import UNMET, Known, RecentBorrowers, Stand
from alama.platform.errors import Erased, StoreUnavailable
from alama.platform.http.exchange import Arrival, taken_ms
from alama.platform.ids import RandomPool
from alama.platform.timeouts import run_with_timeout
from alama.scoring.directory import ActiveModel, Caller
from alama.scoring.holds import Approved, NoRoom
from alama.scoring.records import (
    EVIDENCE,
    NOBODY,
    Asking,
    Earlier,
    Entry,
    IdempotencyInFlight,
    IdempotencyKeyReused,
    IdempotencyRow,
    Question,
    ScoreRow,
    Sealed,
    Told,
    UnknownScore,
    Unsealed,
    pack,
)
from alama.scoring.replay import open_reply, open_score
from alama.scoring.sandbox import Sandbox, is_fixture, may_name_fixture

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from alama.platform.book import Book
    from alama.scoring.group_commit import Ledger
    from alama.scoring.records import StoredScore
    from alama.vault.vault import Vault


OPERATION: Final = "score"

_salts: Final = RandomPool(SALT_BYTES)


class Given(msgspec.Struct, frozen=True, gc=False):
    """What has been concluded, ready to be put into words."""

    request_id: str
    processing_ms: int
    application: Application
    assessment: Assessment
    active: ActiveModel


class Once(NamedTuple):
    """An idempotency key, and the request that it stands for, each as a hash.

    `queries` are the ways in which what was asked for may have been written when it was hashed.
    """

    key_digest: bytes
    request_digest: bytes
    queries: tuple[bytes, ...]


class Answer(NamedTuple):
    """The reply, byte for byte, and whether it was given before."""

    reply: bytes
    replayed: bool


Render = Callable[[Given], bytes]
"""Puts what was concluded into the words of the interface."""


Stored = Callable[["Book", str], "StoredScore"]
"""Finds a score that was given, or raises `UnknownScore`."""

IN_FLIGHT_WAIT_S: Final = 1.0
"""How long a request waits for an earlier one with its idempotency key to be answered."""


class _Told(NamedTuple):
    """What was answered to a request, for those who wait with the same."""

    request_digest: bytes
    reply: bytes


def only_once(idempotency_key: bytes, body: bytes, query: bytes, *otherwise: bytes) -> Once:
    """Name a request that must not be answered twice; its query may have been written otherwise."""
    key = hashlib.sha256(idempotency_key).digest()
    return Once(key, _request_digest(body, query), (query, *otherwise))


def _request_digest(body: bytes, query: bytes) -> bytes:
    return hashlib.sha256(len(query).to_bytes(4, "big") + query + body).digest()


def _said(body: bytes) -> dict[str, object]:
    """Give what a body says: neither order nor space counts, nor a null, and 24.0 equals 24."""
    return {name: value for name, value in members(body) if value is not None}


_Flight = tuple["Book", bytes]
"""A book, and an idempotency key in it as it is kept."""

_Who = tuple["Book", bytes]
"""A book, and what an applicant is found by in it."""

BORROWERS_MAX: Final = 5_000
"""Whom a process remembers, some kilobytes each: of the others it reads first."""

IDLE_S: Final = 300.0
"""Whoever has not asked for so long, or at most twice as long, only the database remembers."""

DECIDED_AT_MOST: Final = 100
"""Times that one request is decided on: each time another request was kept meanwhile."""


class _Asked(msgspec.Struct, gc=False):
    """One request as it is decided on; `counted` is what the day knows of its approval."""

    caller: Caller
    arrival: Arrival
    body: bytes
    application: Application
    render: Render
    once: Once | None
    counted: tuple[Segment, Approved] | None = None


class Scoring:
    """The use case behind POST /v1/score. One instance lives in one event loop."""

    def __init__(self, ledger: Ledger, vault: Vault, stored: Stored) -> None:
        self._ledger = ledger
        self._vault = vault
        self._stored = stored
        self._sandbox = Sandbox()
        self._in_flight: dict[_Flight, asyncio.Future[_Told | None]] = {}
        self._borrowers = RecentBorrowers(BORROWERS_MAX)
        self._turns: dict[_Who, asyncio.Future[None]] = {}

    async def score(
        self, caller: Caller, arrival: Arrival, body: bytes, render: Render, once: Once | None
    ) -> Answer:
        """Assess, keep, answer; or give the earlier answer to the same request."""
        if once is None:
            if may_name_fixture(caller, body):
                body = await self._sandbox.stand_in(caller, body)
            reply, _ = await self._kept(caller, arrival, body, render, None)
            return Answer(reply, replayed=False)
        # A body, or a key that is somebody's number, can be guessed: keep no plain hash of it.
        fingerprint = caller.ring.fingerprint
        key, request, queries = once
        once = Once(fingerprint(key), fingerprint(request), queries)
        flight = (caller.book, once.key_digest)
        told = await self._awaited(flight, once)
        if told is not None:
            return Answer(told.reply, replayed=True)
        landed = self._in_flight[flight] = asyncio.get_running_loop().create_future()
        try:
            if may_name_fixture(caller, body):
                body = await self._sandbox.stand_in(caller, body)
            answer = await self._score_once(caller, arrival, body, render, once)
            told = _Told(once.request_digest, answer.reply)
        finally:
            del self._in_flight[flight]
            landed.set_result(told)
        return answer

    async def _awaited(self, flight: _Flight, once: Once) -> _Told | None:
        """Wait while others answer under the key; give what they said to the same request.

        None: nobody is at it any more, and whoever asks takes the place at once.
        `IdempotencyInFlight` if that takes too long.
        """
        now_s = asyncio.get_running_loop().time
        until_s = now_s() + IN_FLIGHT_WAIT_S
        while (landing := self._in_flight.get(flight)) is not None:
            await asyncio.wait([landing], timeout=until_s - now_s())
            if not landing.done():
                raise IdempotencyInFlight
            told = landing.result()
            if told is not None and told.request_digest == once.request_digest:
                return told
        return None

    async def _score_once(
        self, caller: Caller, arrival: Arrival, body: bytes, render: Render, once: Once
    ) -> Answer:
        reply, earlier = await self._kept(caller, arrival, body, render, once)
        if earlier is None:
            return Answer(reply, replayed=False)
        if earlier.applicant is not None and earlier.applicant.erased_us is not None:
            raise Erased(earlier.applicant.erased_us)  # and nobody knows the request any more
        # On a thread: the key may be one that another process has made a moment ago.
        first = await run_with_timeout(lambda: self._first_reply(caller, body, once, earlier))
        return Answer(first, replayed=True)

    def _first_reply(self, caller: Caller, body: bytes, once: Once, earlier: Earlier) -> bytes:
        """Open the reply that was given to the same request, or raise `IdempotencyKeyReused`."""
        is_same = earlier.request_digest == once.request_digest
        if not (is_same or self._says_the_same(caller, body, once, earlier)):
            raise IdempotencyKeyReused
        return open_reply(self._vault, caller.book, earlier)

    def _says_the_same(self, caller: Caller, body: bytes, once: Once, earlier: Earlier) -> bool:
        """Look whether an earlier request is the same in other bytes: its body is kept, sealed.

        The hash stays one of the bytes, which costs least and knows what was kept before; only
        where it differs is there more to do.
        """
        try:
            stored = self._stored(caller.book, earlier.request_id)
        except UnknownScore:  # deleted meanwhile
            return False
        first = open_score(self._vault, stored).application
        digests = [caller.ring.fingerprint(_request_digest(first, one)) for one in once.queries]
        return earlier.request_digest in digests and _said(first) == _said(body)

    async def _kept(
        self, caller: Caller, arrival: Arrival, body: bytes, render: Render, once: Once | None
    ) -> tuple[bytes, Earlier | None]:
        """Give the reply once it is kept, or the earlier answer that stands instead."""
        active = caller.active_model()
        application = active.intake.read(body)
        active.policy.refuse_forbidden(application)
        reference = active.intake.reference_of(application)
        asked = _Asked(caller, arrival, body, application, render, once)
        if reference is None or is_fixture(caller, reference):
            subject = None if reference is None else caller.subject(reference)
            return await self._decided(asked, subject, None)
        who = (caller.book, caller.subject(reference))
        await self._turn(who)
        mine = self._turns[who] = asyncio.get_running_loop().create_future()
        try:
            return await self._decided(asked, who[1], who)
        except BaseException:
            self._borrowers.drop(who)
            raise
        finally:
            del self._turns[who]
            mine.set_result(None)

    async def _turn(self, who: _Who) -> None:
        """Wait until nobody else of this process asks for the borrower.

        Those of other processes are told by the commit that they have decided by too little.
        """
        while (others := self._turns.get(who)) is not None:
            await asyncio.wait([others])

    async def forget(self, who: tuple[Book, bytes]) -> None:
        """Forget a borrower who was erased, once nobody of this process asks for them any more."""
        await self._turn(who)
        self._borrowers.drop(who)

    async def forget_the_idle(self) -> None:
        """Forget who has not asked for a while, until this is cancelled.

        So of whoever was erased by another process nothing stays here for longer than twice that.
        """
        while True:
            await asyncio.sleep(IDLE_S)
            self._borrowers.age()

    async def _decided(
        self, asked: _Asked, subject: bytes | None, who: _Who | None
    ) -> tuple[bytes, Earlier | None]:
        """Decide by what is known of a borrower and of the caps, and again where more is by then.

        `who` is remembered, if anybody is.
        """
        known = None if who is None else self._borrowers.get(who) or await self._met(who)
        for _ in range(DECIDED_AT_MOST):
            reply, kept = self._conclude(asked, subject, known)
            fate = await kept
            if isinstance(fate, NoRoom):
                asked.caller.active_model().day.take(fate.day)
                asked.counted = None
                continue
            if not isinstance(fate, Stand):
                return reply, fate
            assert who is not None
            self._borrowers.put(who, fate.known)
            if fate.kept:
                return reply, None
            known = fate.known
            _take_back(asked)
        raise StoreUnavailable("others keep asking for the same borrower, or the same cap")

    async def _met(self, who: _Who) -> Known:
        """Ask how a borrower stands whom this process does not know: to decide twice is dearer."""
        book, subject = who
        told = await self._ledger.append(Question(book.lender, book.mode.value, subject))
        return told.known if isinstance(told, Stand) else UNMET

    def _conclude(
        self, asked: _Asked, subject: bytes | None, known: Known | None
    ) -> tuple[bytes, Awaitable[Told]]:
        """Give the reply, and what will be done when it may be sent."""
        caller, arrival, once = asked.caller, asked.arrival, asked.once
        application = asked.application
        active = caller.active_model().for_application(application)
        hour = hour_of(arrival.at_us)
        standing = None
        if known is not None:
            standing = known.standing
            if standing is None or standing.day != hour // DAY_HOURS:
                standing = standing_of(known.borrower, hour // DAY_HOURS)
            now = remembered(known.borrower, hour, standing)
            application = remembering(application, now, active.model.catalogue)
        draw = caller.draw(active, subject, arrival.request_id)
        region = active.policy.region_of(application.values)
        around = active.around(subject, region, draw, arrival.at_us)
        assessment = assess(active.model, active.policy, application, around)
        if active.proven is not UNSET:
            assessment = msgspec.structs.replace(assessment, proven=active.proven)
        decision, limit = assessment.decision, assessment.offer.limit
        if active.day.bounded and decision is Decision.APPROVED:
            asked.counted = _counted(assessment, region)
            active.day.add(*asked.counted)
        given = Given(arrival.request_id, taken_ms(arrival), application, assessment, active)
        reply = asked.render(given)
        salt = _salts.draw()
        record = pack(Sealed(asked.body, assessment, salt, active.fields_id or UNSET))
        unsealed = Unsealed(subject, caller.ring, record, reply if once else None)
        score = _score_row(caller, arrival, given)
        idempotency = _row(caller, arrival, OPERATION, *once[:2]) if once else None
        claim = None
        if active.unclaimed is not None:
            claim = _row(caller, arrival, EVIDENCE, active.unclaimed, _claimant(caller, subject))
        covered = digest(salt, score.in_clear, record)
        counted = seen(assessment, assumed(active.policy, application, assessment.card))
        asking = None
        if known is not None and standing is not None:
            after = after_asking(known.borrower, hour, decision, limit, arrival.request_id)
            asking = Asking(known, after, standing)
        entry = Entry(
            score,
            idempotency,
            covered,
            unsealed,
            counted,
            region=region,
            asking=asking,
            claim=claim,
            bounds=active.policy.policy if asked.counted else None,
        )
        return reply, self._ledger.append(entry)


def _counted(said: Assessment, region: str | None) -> tuple[Segment, Approved]:
    offer = said.offer
    one = Approved(1, offer.limit, offer.expected_loss, int(said.explored))
    return Segment(region, said.tier, said.product), one


def _take_back(asked: _Asked) -> None:
    """Have the day forget an approval that was not kept: it must not stand in its own way."""
    if asked.counted is not None:
        segment, one = asked.counted
        asked.caller.active_model().day.add(segment, one.negative)
        asked.counted = None


def _score_row(caller: Caller, arrival: Arrival, given: Given) -> ScoreRow:
    said, offer, active = given.assessment, given.assessment.offer, given.active
    # In the order of the columns: to name them makes a row three times as dear.
    return ScoreRow(
        caller.book.lender,
        caller.book.mode._value_,  # `value` is slow on Python 3.11
        arrival.request_id,
        arrival.at_us,
        caller.key.id,
        active.model.model.id,
        active.policy.id,
        said.score,
        said.tier,
        said.default_probability,
        said.decision._value_,
        float(offer.limit),
        offer.term_days,
        offer.apr,
        given.processing_ms,
        offer.expected_loss if offer.limit else 0.0,
        None,
        b"",
        None,
        said.propensity,
        said.product,
    )


def _claimant(caller: Caller, subject: bytes | None) -> bytes:
    return NOBODY if subject is None else caller.ring.fingerprint(subject)


def _row(
    caller: Caller, arrival: Arrival, operation: str, key_digest: bytes, request_digest: bytes
) -> IdempotencyRow:
    return IdempotencyRow(
        lender=caller.book.lender,
        mode=caller.book.mode.value,
        operation=operation,
        key_digest=key_digest,
        request_digest=request_digest,
        request_id=arrival.request_id,
        created_us=arrival.at_us,
        seal_key_id=None,
        reply=b"",
        applicant_key_id=None,
    )
