"""The sixth step: live keys, and those of a lender who is still collecting repayments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alama.service import keys
from alama.service.book import Book, Mode, is_open
from alama.service.errors import OnboardingIncomplete
from alama.service.onboarding.steps import Step, standing
from alama.service.onboarding.words import require_person

if TYPE_CHECKING:
    from alama.service.clock import Time
    from alama.service.keys import Key, Scope
    from alama.service.onboarding.steps import StepStanding, Stores


class LiveKeys:
    """Issues live keys to lenders who may have them."""

    def __init__(self, stores: Stores, clock: Time, pepper: bytes) -> None:
        """Keep what an onboarding is kept in, and what keys are hashed with."""
        self._stores = stores
        self._clock = clock
        self._pepper = pepper

    def issue(
        self, lender: str, scopes: tuple[Scope, ...] = keys.USUAL_SCOPES, days: int | None = None
    ) -> tuple[str, Key]:
        """Make a live key; the first of the pair is the secret.

        `OnboardingIncomplete` before a model of the lender was approved: it names the step that is
        missing, and its hint the command for it. `UnknownLender`, `InvalidName`.
        """
        if not is_open(self._stores.registry, Book(lender, Mode.LIVE)):
            missing = standing(self._stores, lender, self._clock()).next
            assert missing is not None  # a book that is not open has not been approved
            raise _incomplete(missing)
        return self._make(lender, scopes, days)

    def issue_shadow(
        self,
        lender: str,
        by: str,
        scopes: tuple[Scope, ...] = keys.USUAL_SCOPES,
        days: int | None = None,
    ) -> tuple[str, Key]:
        """Make a live key for a lender without a model, whose terms are set.

        From now on each of its live applications is scored by the built-in model, decided REVIEW by
        the rule `shadow`, and kept: a person decides, and in time there is a history to train on.
        Once a model is approved the same key is answered by it. `OnboardingIncomplete` where the
        lender has no terms; `UnknownLender`, `InvalidName`.
        """
        person = require_person(by)
        self._stores.registry.lender(lender)
        if self._stores.pilots.find(lender) is None:
            raise _incomplete(standing(self._stores, lender, self._clock()).steps[0])
        self._stores.pilots.begin_shadow(lender, self._clock(), person)
        return self._make(lender, scopes, days)

    def _make(self, lender: str, scopes: tuple[Scope, ...], days: int | None) -> tuple[str, Key]:
        book = Book(lender, Mode.LIVE)
        return keys.issue(self._stores.registry, self._clock, self._pepper, book, scopes, days)


def _incomplete(missing: StepStanding) -> OnboardingIncomplete:
    assert missing.step is not Step.KEY
    return OnboardingIncomplete(
        f"the step {missing.step} is missing: {missing.words}", hint=missing.command
    )
