"""Asks a challenger what it would have said to applications that another model has decided on.

Behind the hot path and out of its sight: it reads what is stored, and writes where no reply comes
from. Whatever a challenger does, no applicant is answered otherwise or later for it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from alama.core import model as models
from alama.core.application import may_have_been_word
from alama.core.assess import assess
from alama.core.errors import InvalidPolicy, UnknownCurrency
from alama.core.intake import Intake
from alama.core.lending import policy_text
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.model import ReadyModel
from alama.service import ids
from alama.service.errors import Erased, MasterKeyMissing, StoreUnfit
from alama.service.monitoring.challengers import Shadow, Step
from alama.service.opening import open_score

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alama.service.monitoring.challengers import Challenger, Challengers
    from alama.service.ports import Clock, Registry
    from alama.service.records import ScoreRow, Sealed, StoredScore
    from alama.service.vault.vault import Vault

SETTLED_US: Final = 30_000_000
"""How old a score is when a challenger is asked about it. An id has the time of its request, and
its row is there a moment later, if not on this machine's clock: none may be passed by."""

AT_ONCE: Final = 200
"""Scores in one round: some 40 ms of work, and one small transaction."""

_READY_MAX: Final = 16


class Round(NamedTuple):
    """What one round has come to.

    `lag_us` is how old the scores are that it is asked about next; nought where none waits.
    """

    scored: int
    failed: int
    error: str | None
    lag_us: int
    some_left: bool


class Asked(NamedTuple):
    """A challenger that is ready to be asked, and how it reads an application."""

    model: ReadyModel
    intake: Intake


class _Unfit(NamedTuple):
    """Why a policy cannot be laid out for a challenger, by the name of the error."""

    error: str


class Shadowing:
    """The rounds of all challengers. For one thread at a time."""

    def __init__(
        self,
        challengers: Challengers,
        registry: Registry,
        vault: Vault,
        clock: Clock,
        at_once: int = AT_ONCE,
    ) -> None:
        """Keep where scores, models and keys are."""
        self._challengers = challengers
        self._registry = registry
        self._vault = vault
        self._clock = clock
        self._at_once = at_once
        self._ready = lru_cache(_READY_MAX)(self._make_ready)
        self._laid_out = lru_cache(_READY_MAX)(self._lay_out)

    def running(self) -> Sequence[Challenger]:
        """Give those that are to be asked."""
        return self._challengers.running()

    def round(self, challenger: Challenger) -> Round:
        """Ask about the next scores that wait, and keep the answers; all of them or none.

        Of several workers one keeps them. A score that was erased or is damaged is passed over, as
        is one that the challenger decided on itself, before or since. What breaks on one
        application is counted, and its kind noted. An `AlamaError` is raised where the model cannot
        be asked at all: nothing is lost, and it may be tried again.
        """
        lender = self._registry.lender(challenger.book.lender)
        asked = self._ready(challenger.model_id, lender.currency)
        before = ids.first_of(self._clock() - SETTLED_US)
        page = self._challengers.waiting(challenger, before, self._at_once)
        if not page:
            return Round(0, 0, None, lag_us=0, some_left=False)
        step = self._step(asked, page)
        if not self._challengers.advance(challenger, step):
            return Round(0, 0, None, lag_us=0, some_left=False)
        some_left = len(page) == self._at_once
        lag_us = self._clock() - ids.time_us(step.reached) if some_left else 0
        return Round(len(step.shadows), step.failed, step.error, lag_us, some_left)

    def _step(self, asked: Asked, page: Sequence[StoredScore]) -> Step:
        shadows, failed, error = [], 0, None
        for stored in page:
            if stored.row.model_id == asked.model.model.id:
                continue
            sealed = self._opened(stored)
            if sealed is None:
                continue
            # The policy that decided, not the one of now: else two policies would be compared.
            policy = self._laid_out(asked.model, stored.row.policy_id)
            if isinstance(policy, _Unfit):
                failed, error = failed + 1, policy.error
                continue
            try:
                shadows.append(_shadow(asked, policy, stored.row, sealed))
            except Exception as broken:  # noqa: BLE001  whatever a model does is its own affair
                failed, error = failed + 1, type(broken).__name__
        return Step(page[-1].row.request_id, shadows, failed, error)

    def _opened(self, stored: StoredScore) -> Sealed | None:
        """Read what was sent; None where nobody can any more."""
        try:
            return open_score(self._vault, stored)
        except MasterKeyMissing:
            raise
        except (Erased, StoreUnfit):
            return None

    def _make_ready(self, model_id: str, currency: str) -> Asked:
        model = ReadyModel(models.stored(self._registry.model(model_id), model_id), currency)
        return Asked(model, Intake(model.catalogue, may_have_been_word))

    def _lay_out(self, model: ReadyModel, policy_id: str) -> ReadyPolicy | _Unfit:
        """Lay a policy out for a challenger; where that fails once it fails for every score."""
        policy = policy_text.decode(self._registry.policy(policy_id), policy_id)
        try:
            return ReadyPolicy(policy, model)
        except (InvalidPolicy, UnknownCurrency) as error:
            return _Unfit(type(error).__name__)


def _shadow(asked: Asked, policy: ReadyPolicy, row: ScoreRow, sealed: Sealed) -> Shadow:
    application = asked.intake.read(sealed.application)
    # What held then, such as a pause, holds for both: else two days would be compared.
    said = assess(asked.model, policy, application, sealed.assessment.holds)
    return Shadow(
        row.request_id,
        said.score,
        said.tier,
        said.default_probability,
        said.decision.value,
        row.model_id,
        row.score,
        row.tier,
        row.default_probability,
        row.decision,
    )
