"""Who is calling, and which model and policy answer them.

Looked up in the database and remembered for a second, so that a revoked key, a new model or a new
policy reaches every process within that second, and the hot path asks nobody.
"""

from __future__ import annotations

import asyncio
from functools import lru_cache
from itertools import takewhile
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from alama.core import document, memory
from alama.core import model as models
from alama.core.errors import AlamaError
from alama.core.intake import Intake
from alama.core.lending import draft, policy_text
from alama.core.lending.circumstances import USUAL, Circumstances
from alama.core.lending.policy import Rule
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.model import ReadyModel
from alama.core.own_fields import reading
from alama.core.product import PRODUCT
from alama.lenders import keys
from alama.lenders.own_fields import own_fields_by_id
from alama.lenders.records import Key, OnboardingIncomplete
from alama.platform.book import Book, Mode, Scope
from alama.platform.errors import (
    KeyExpired,
    KeyRefused,
    ModelUnavailable,
    ScopeMissing,
    StoreUnavailable,
)
from alama.platform.timeouts import FRESH_US, run_with_timeout
from alama.scoring.holds import Day, SoFar
from alama.scoring.lists import NO_LISTS, Lists
from alama.vault.ring import Ring

if TYPE_CHECKING:
    from collections.abc import Callable

    from alama.core.application import Application
    from alama.core.assess import Proven
    from alama.core.model import Model
    from alama.lenders.store import Registry
    from alama.platform.clock import Stopwatch, Time
    from alama.scoring.store import Scores
    from alama.vault.vault import Vault


_MODELS_MAX: Final = 64
_UNKNOWN_MAX: Final = 10_000
"""How many unknown keys are remembered: a client that goes on with one asks the database once."""


_FREE_DAY: Final = Day()
"""Nothing holds in it, and nobody counts."""

_INTAKE: Final = Intake(PRODUCT)
"""Reads what everybody may send."""


class ActiveModel(NamedTuple):
    """What answers in a book, and why everything is left to a person there, if it is.

    `always` are rules that hold whatever the day brings. They belong to the model: keys of one book
    may be answered by different ones for the second in which a new model reaches them, while all of
    them share the day. The intake reads what may be sent: also the lender's own fields, where it
    has any, and `fields_id` then names them; and a product, where the policy has any.
    """

    model: ReadyModel
    policy: ReadyPolicy
    day: Day = _FREE_DAY
    always: tuple[Rule, ...] = ()
    lists: Lists = NO_LISTS
    proven: Proven | UnsetType = UNSET
    """What the figures of this one request stand on, where it came with evidence."""
    unclaimed: bytes | None = None
    """What that evidence is remembered by where it names nobody: who comes first with it has it."""
    intake: Intake = _INTAKE
    fields_id: str | None = None

    @property
    def holds(self) -> tuple[Rule, ...]:
        """Why every decision is left to a person at this moment."""
        return self.always + self.day.holds

    def for_application(self, application: Application) -> ActiveModel:
        """Give what answers an application: the product that it asks for, where there are any."""
        product = application.product
        if product is None or product == self.policy.product:
            return self
        return self._replace(policy=self.policy.for_product(product))

    def around(
        self, subject: bytes | None, region: str | None, draw: float | None, at_us: int
    ) -> Circumstances:
        """Give what decides at this moment beside the application."""
        holds, listed = self.holds, self.lists.rule(subject, at_us)
        policy = self.policy
        rooms = self.day.rooms(region, policy.product, policy.limit_max) if policy.caps else ()
        if not holds and listed is None and not rooms and draw is None:
            return USUAL
        return Circumstances(holds, listed, rooms, draw)


class Caller(msgspec.Struct, frozen=True):
    """A key that was recognised.

    Without an active model the book cannot be scored in yet; an error says why its model or policy
    cannot be used. The key is good all the same, and opens the scores that are stored. The ring
    seals what is scored.
    """

    key: Key
    book: Book
    active: ActiveModel | AlamaError | None
    ring: Ring

    @property
    def key_id(self) -> str:
        return self.key.id

    def subject(self, applicant_ref: str) -> bytes:
        """Give what an applicant is found by in the book of the key."""
        return self.ring.subject(self.book.mode._value_, applicant_ref)

    def may(self, scope: Scope) -> None:
        """Raise `ScopeMissing` unless the key has the scope."""
        if scope not in self.key.scopes:
            raise ScopeMissing(scope)

    def draw(self, active: ActiveModel, subject: bytes | None, request_id: str) -> float | None:
        """Draw the lot of an application; None where the policy explores nothing, or today no more.

        Whoever asks again draws the same under one policy: nobody wins by asking often. A request
        that names nobody draws for itself.
        """
        if active.policy.exploration is None or not active.day.draws:
            return None
        who = subject or request_id.encode()
        return self.ring.draw(active.policy.id.encode() + b"|" + who)

    def active_model(self) -> ActiveModel:
        """Give the active model, or raise `OnboardingIncomplete` or `ModelUnavailable`."""
        if self.active is None:
            raise OnboardingIncomplete("no model has been trained on its history and approved")
        if isinstance(self.active, AlamaError):
            # Not the error itself: raised for every request, it would hold on to what they sent.
            raise ModelUnavailable(self.active)
        return self.active


class _Remembered(msgspec.Struct, frozen=True):
    caller: Caller
    until_us: int


class Directory:
    """Recognises keys. One instance lives in one event loop."""

    def __init__(
        self,
        registry: Registry,
        scores: Scores,
        clock: Time,
        stopwatch: Stopwatch,
        pepper: bytes,
        builtin: Callable[[], Model],
        vault: Vault,
    ) -> None:
        """Keep what a look-up needs; `builtin` gives the model of test keys.

        What the clock trusts says whether a key has expired; the stopwatch says how long ago it was
        looked up: were the clock set back, a revoked key would be remembered for as long again.
        """
        self._registry = registry
        self._scores = scores
        self._clock = clock
        self._stopwatch = stopwatch
        self._pepper = pepper
        self._builtin = builtin
        self._vault = vault
        # By the key itself, as it was sent: its hash would cost more than all else that is done
        # here. It is forgotten soon after the second for which the answer stands.
        self._remembered: dict[str, _Remembered] = {}
        self._unknown_until_us: dict[bytes, int] = {}
        self._looking: dict[bytes, asyncio.Task[Caller]] = {}
        self._used_us: dict[str, int] = {}
        self._days: dict[Book, tuple[str, Day]] = {}
        self._so_far = SoFar()
        self._lists: dict[Book, Lists] = {}
        self._ready = lru_cache(_MODELS_MAX)(self._make_ready)

    async def caller(self, text: str) -> Caller:
        """Recognise a key, or raise what stands in its way."""
        now_us, stopwatch_us = self._clock(), self._stopwatch()
        remembered = self._remembered.get(text)
        if remembered is not None and stopwatch_us < remembered.until_us:
            caller = remembered.caller
        else:
            caller = await self._ask_for(text, stopwatch_us)
        if caller.key.expired(self._clock.trusted()):
            raise KeyExpired("this key has expired", hint="ask for a new one, or rotate it in time")
        self._used_us[caller.key.id] = now_us
        return caller

    def warm(self) -> list[tuple[Book, AlamaError]]:
        """Make ready what answers in each book, so that no caller waits for it.

        Gives the books where it cannot be used, and why; the others can be served all the same.
        """
        failed = []
        for lender in self._registry.lenders()[:_MODELS_MAX]:
            for mode in Mode:
                book = Book(lender.id, mode)
                active = self._active_or_fault(book)
                if isinstance(active, AlamaError):
                    failed.append((book, active))
        return failed

    def take_key_use(self) -> dict[str, int]:
        """Give when keys were last used, since this was asked the last time."""
        used, self._used_us = self._used_us, {}
        return used

    def give_back_key_use(self, used_us: dict[str, int]) -> None:
        """Take back what could not be written down; what came since is newer."""
        self._used_us = used_us | self._used_us

    async def _ask_for(self, text: str, stopwatch_us: int) -> Caller:
        digest = keys.digest(self._pepper, text)
        if stopwatch_us < self._unknown_until_us.get(digest, stopwatch_us):
            raise _refusal()
        keys.check(text)
        return await self._look_up_once(text, digest)

    async def _look_up_once(self, text: str, digest: bytes) -> Caller:
        # Many requests may find the memory stale at once: the first asks, the others wait for it.
        task = self._looking.get(digest)
        if task is None:
            task = asyncio.create_task(self._look_up(text, digest))
            self._looking[digest] = task
            task.add_done_callback(lambda _: self._looking.pop(digest, None))
        return await asyncio.shield(task)

    async def _look_up(self, text: str, digest: bytes) -> Caller:
        until_us = self._stopwatch() + FRESH_US
        caller = await run_with_timeout(lambda: self._read(digest))
        self._remembered.pop(text, None)
        self._forget_stale()
        if caller is None:
            self._remember_unknown(digest, until_us)
            raise _refusal()
        self._remembered[text] = _Remembered(caller, until_us)
        return caller

    def _forget_stale(self) -> None:
        """Keep no key in memory that nobody uses; the first in line was looked up the first."""
        now_us, remembered = self._stopwatch(), self._remembered
        for text in list(takewhile(lambda key: remembered[key].until_us <= now_us, remembered)):
            del remembered[text]

    def _remember_unknown(self, digest: bytes, until_us: int) -> None:
        unknown = self._unknown_until_us
        unknown.pop(digest, None)  # to the end: the first in line is always the oldest
        if len(unknown) >= _UNKNOWN_MAX:
            del unknown[next(iter(unknown))]
        unknown[digest] = until_us

    def _read(self, digest: bytes) -> Caller | None:
        """Read who has a key; None if nobody does, or it was revoked."""
        key = self._registry.key_of(digest)
        if key is None or key.revoked_us is not None:
            return None
        ring = self._vault.ring(key.lender)
        return Caller(key, key.book, self._active_or_fault(key.book), ring)

    def _active_or_fault(self, book: Book) -> ActiveModel | AlamaError | None:
        try:
            return self.active_model(book)
        except StoreUnavailable:  # which says nothing about the model
            raise
        except AlamaError as error:
            return error

    def active_model(self, book: Book) -> ActiveModel | None:
        """Give what answers in a book, or raise why it cannot; None: nothing is deployed yet.

        That happens to live books alone, before their onboarding; one that is in shadow meanwhile
        is answered by the built-in model, and every decision is left to a person.
        """
        model_id, policy_id = self._registry.deployed(book) or (None, None)
        always: tuple[Rule, ...] = ()
        if model_id is None and book.mode is Mode.LIVE:
            if not self._registry.in_shadow(book):
                return None
            always = (Rule.SHADOW,)
        currency = self._registry.lender(book.lender).currency
        own = _Own(book.lender, self._registry.fields_in_force(book.lender))
        active = self._ready(model_id, policy_id, currency, own)
        pause = self._registry.pause_of(book)
        policy = active.policy.policy
        # One for all keys of a book: each of them may have a part in reaching a bound. Those that
        # are answered by another policy for a second yet keep the day of that one.
        policy_id, day = self._days.get(book, ("", _FREE_DAY))
        if policy_id != policy.id:
            _, day = self._days[book] = (policy.id, Day())
        so_far = self._so_far.of(self._scores.approved, book, policy, self._clock())
        day.settle(policy, pause, so_far)
        lists = self._scores.lists(book, self._lists.get(book, NO_LISTS))
        self._lists[book] = lists
        return active._replace(day=day, always=always, lists=lists)

    def _make_ready(
        self, model_id: str | None, policy_id: str | None, currency: str, own: _Own
    ) -> ActiveModel:
        now_us = self._clock()
        if model_id is None:
            model = self._builtin()
            self._registry.keep_model(model.id, document.encode(model), now_us)
        else:
            model = models.stored(self._registry.model(model_id), model_id)
        if policy_id is None:
            text = draft.default_text(currency)
            policy = policy_text.read(text)
            self._registry.keep_policy(policy.id, text, now_us)
        else:
            policy = policy_text.decode(self._registry.policy(policy_id), policy_id)
        fields = own_fields_by_id(self._registry, *own)
        ready = ReadyModel(reading(model, fields), policy.currency)
        active = ActiveModel(ready, ReadyPolicy(policy, ready))
        products = active.policy.products
        if fields.fields:
            active = active._replace(fields_id=own.fields_id)
        elif not products and memory.NAMES.isdisjoint(ready.catalogue.position):
            return active
        return active._replace(intake=Intake(ready.catalogue, products=products))


class _Own(NamedTuple):
    """Whose own fields, and the id of those in force; None: the lender never had any."""

    lender: str
    fields_id: str | None


def _refusal() -> KeyRefused:
    return KeyRefused("this key is not known here, or was revoked")
