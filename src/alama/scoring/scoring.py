"""Score an application, once for each idempotency key, and answer when it is kept.

The order is the promise: nothing is answered that is not durable. What a crash takes away was never
acknowledged, and a client that asks again under the same idempotency key gets one score, not two.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from alama.core.application import Application
from alama.core.asked import assumed
from alama.core.assess import Assessment, assess
from alama.core.chain import SALT_BYTES, digest
from alama.core.lending.policy import Decision
from alama.core.tally import seen
from alama.platform.errors import Erased
from alama.platform.events import Event, ScoreGiven, score_created
from alama.platform.http.exchange import Arrival, taken_ms
from alama.platform.ids import RandomPool
from alama.platform.timeouts import run_with_timeout
from alama.scoring.directory import ActiveModel, Caller
from alama.scoring.records import (
    Earlier,
    Entry,
    IdempotencyInFlight,
    IdempotencyKeyReused,
    IdempotencyRow,
    ScoreRow,
    Sealed,
    Unsealed,
    pack,
)
from alama.scoring.replay import open_reply
from alama.scoring.sandbox import Sandbox, may_name_fixture

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from alama.core.intake import Intake
    from alama.platform.book import Book
    from alama.scoring.group_commit import Ledger
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
    """An idempotency key, and the request that it stands for, each as a hash."""

    key_digest: bytes
    request_digest: bytes


class Answer(NamedTuple):
    """The reply, byte for byte, and whether it was given before."""

    reply: bytes
    replayed: bool


Render = Callable[[Given], bytes]
"""Puts what was concluded into the words of the interface."""


def only_once(idempotency_key: bytes, body: bytes, query: bytes) -> Once:
    """Name a request that must not be answered twice."""
    request = hashlib.sha256(len(query).to_bytes(4, "big") + query + body)
    return Once(hashlib.sha256(idempotency_key).digest(), request.digest())


class Scoring:
    """The use case behind POST /v1/score. One instance lives in one event loop."""

    def __init__(self, intake: Intake, ledger: Ledger, vault: Vault) -> None:
        self._intake = intake
        self._ledger = ledger
        self._vault = vault
        self._sandbox = Sandbox(intake)
        self._in_flight: set[tuple[Book, bytes]] = set()

    async def score(
        self, caller: Caller, arrival: Arrival, body: bytes, render: Render, once: Once | None
    ) -> Answer:
        """Assess, keep, answer; or give the earlier answer to the same request."""
        if once is None:
            if may_name_fixture(caller, body):
                body = await self._sandbox.stand_in(caller, body)
            reply, kept = self._conclude(caller, arrival, body, render, None)
            await kept
            return Answer(reply, replayed=False)
        # A body, or a key that is somebody's number, can be guessed: keep no plain hash of it.
        once = Once(*map(caller.ring.fingerprint, once))
        flight = (caller.book, once.key_digest)
        if flight in self._in_flight:
            raise IdempotencyInFlight
        self._in_flight.add(flight)
        try:
            if may_name_fixture(caller, body):
                body = await self._sandbox.stand_in(caller, body)
            reply, kept = self._conclude(caller, arrival, body, render, once)
            earlier = await kept
        finally:
            self._in_flight.discard(flight)
        if earlier is None:
            return Answer(reply, replayed=False)
        if earlier.applicant is not None and earlier.applicant.erased_us is not None:
            raise Erased(earlier.applicant.erased_us)  # and nobody knows the request any more
        if earlier.request_digest != once.request_digest:
            raise IdempotencyKeyReused
        # On a thread: the key may be one that another process has made a moment ago.
        reply = await run_with_timeout(lambda: open_reply(self._vault, caller.book, earlier))
        return Answer(reply, replayed=True)

    def _conclude(
        self, caller: Caller, arrival: Arrival, body: bytes, render: Render, once: Once | None
    ) -> tuple[bytes, Awaitable[Earlier | None]]:
        """Give the reply, and what will be done when it may be sent."""
        active = caller.active_model()
        application = self._intake.read(body)
        active.policy.refuse_forbidden(application)
        assessment = assess(active.model, active.policy, application, active.holds)
        if active.day.bounded and assessment.decision is Decision.APPROVED:
            active.day.add(assessment.offer.limit, assessment.offer.expected_loss)
        given = Given(arrival.request_id, taken_ms(arrival), application, assessment, active)
        reply = render(given)
        salt = _salts.draw()
        record = pack(Sealed(body, assessment, salt))
        reference = self._intake.reference_of(application)
        subject = None if reference is None else _subject(caller, reference)
        unsealed = Unsealed(subject, caller.ring, record, reply if once else None)
        score = _score_row(caller, arrival, given)
        idempotency = _idempotency_row(caller, arrival, once) if once else None
        covered = digest(salt, score.in_clear, record)
        event = _event(score) if active.announces else None
        counted = seen(assessment, assumed(active.policy, application, assessment.card))
        entry = Entry(score, idempotency, covered, unsealed, counted, event)
        return reply, self._ledger.append(entry)


def _subject(caller: Caller, reference: str) -> bytes:
    return caller.ring.subject(caller.book.mode._value_, reference)


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
    )


def _event(score: ScoreRow) -> Event:
    given = ScoreGiven(
        score.mode,
        score.request_id,
        score.score,
        score.tier,
        score.decision,
        score.model_id,
        score.policy_id,
    )
    return score_created(score.lender, given, score.created_us)


def _idempotency_row(caller: Caller, arrival: Arrival, once: Once) -> IdempotencyRow:
    return IdempotencyRow(
        lender=caller.book.lender,
        mode=caller.book.mode.value,
        operation=OPERATION,
        key_digest=once.key_digest,
        request_digest=once.request_digest,
        request_id=arrival.request_id,
        created_us=arrival.at_us,
        seal_key_id=None,
        reply=b"",
        applicant_key_id=None,
    )
