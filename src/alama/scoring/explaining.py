"""Explain an application: the same numbers as a score, why, and what would change the decision.

Nothing is stored. The search takes milliseconds where a score takes microseconds, so explanations
have a thread of their own, one after the other. Beside a stream of them the median of four callers
of scores went from 1.2 to 3.3 ms; with the searches in the event loop it went to 13.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import msgspec

from alama.core.application import Application, remembering
from alama.core.explanation import Explanation, explain
from alama.core.lending.policy import Decision
from alama.core.reasons.dictionary import Language
from alama.core.recourse.answer import Sought, read_goal, read_locked
from alama.core.recourse.ready import ReadyRecourse
from alama.memory.borrower import hour_of, remembered
from alama.platform.http.exchange import Arrival, taken_ms
from alama.platform.timeouts import WorkQueue, run_with_timeout
from alama.scoring.directory import ActiveModel, Caller
from alama.scoring.sandbox import Sandbox, is_fixture, may_name_fixture

if TYPE_CHECKING:
    from alama.memory.borrower import Borrower
    from alama.platform.book import Book

Recall = Callable[["Book", bytes], "Borrower"]
"""Gives what a book remembers of whoever is found by these bytes."""

TARGET_DEFAULT: Final = Decision.APPROVED.value
"""What ways lead to where nobody says."""

BUDGET_S: Final = 0.1
"""What a search may take; then the answer is what was found until then, and says so."""

WAITING_MAX: Final = 32
"""Explanations under way: the last waits a fifth of a second as a rule, three seconds at worst."""

WAITING_EACH_MAX: Final = 16
"""Of one book: nobody takes all the places."""

_READY_MAX: Final = 16
"""Policies that stay laid out for recourse: 4 MB each with the built-in model, made in 18 ms."""


class Question(msgspec.Struct, frozen=True):
    """What is asked beside the application: the goal, the fields to keep, how many ways at most.

    `target` and `locked` are as the caller wrote them; the policy of the caller reads them.
    """

    target: str
    locked: tuple[str, ...]
    limit: int
    language: Language

    def sought(self, active: ActiveModel) -> Sought:
        """Read it as the active policy does, or raise `UnknownGoal` or `UnknownField`."""
        return Sought(
            read_goal(self.target, active.policy.policy),
            read_locked(self.locked, active.model.catalogue),
            self.limit,
        )


class Explained(msgspec.Struct, frozen=True):
    """What has been found out, ready to be put into words."""

    request_id: str
    processing_ms: int
    question: Question
    application: Application
    explanation: Explanation
    active: ActiveModel


class Explaining:
    """The use case behind POST /v1/explain. One instance lives in one event loop."""

    def __init__(self, recall: Recall) -> None:
        """Take what gives what is remembered of an applicant."""
        self._recall = recall
        self._sandbox = Sandbox()
        self._queue = WorkQueue("explanations", WAITING_MAX, WAITING_EACH_MAX)
        self._ready = lru_cache(_READY_MAX)(ReadyRecourse)

    async def explain(
        self, caller: Caller, arrival: Arrival, body: bytes, question: Question
    ) -> Explained:
        """Assess, tell why and search; raise `UnknownGoal`, `UnknownField` or `Busy` besides."""
        active = caller.active_model()
        if may_name_fixture(caller, body):
            body = await self._sandbox.stand_in(caller, body)
        application = active.intake.read(body)
        active.policy.refuse_forbidden(application)
        active = active.for_application(application)
        sought = question.sought(active)
        reference = active.intake.reference_of(application)
        subject = None if reference is None else caller.subject(reference)
        if reference is not None and subject is not None and not is_fixture(caller, reference):
            borrower = await run_with_timeout(lambda: self._recall(caller.book, subject))
            now = remembered(borrower, hour_of(arrival.at_us))
            application = remembering(application, now, active.model.catalogue)
        # Who names nobody draws anew with each request: an explanation would speak of another lot.
        draw = None if subject is None else caller.draw(active, subject, arrival.request_id)
        # Of now: the day goes on while the request waits.
        region = active.policy.region_of(application.values)
        around = active.around(subject, region, draw, arrival.at_us)

        def search() -> Explanation:
            ready = self._ready(active.policy)
            end_s = time.perf_counter() + BUDGET_S
            return explain(
                ready,
                application,
                sought,
                question.language,
                lambda: time.perf_counter() > end_s,
                around,
            )

        explanation = await self._queue.take(caller.book, search)
        ms = taken_ms(arrival)
        return Explained(arrival.request_id, ms, question, application, explanation, active)

    def close(self) -> None:
        """Let the thread go, when nobody asks any more."""
        self._queue.close()
