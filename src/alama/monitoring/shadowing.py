"""Asks a challenger what it would have said, behind everything else, a little at a time.

Behind the hot path and out of its sight: it reads what is stored, and writes where no reply comes
from. Whatever a challenger does, no applicant is answered otherwise or later for it.
"""

from __future__ import annotations

import asyncio
import time
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from alama.core import model as models
from alama.core.application import may_have_been_word
from alama.core.assess import assess
from alama.core.errors import InvalidPolicy, UnknownCurrency
from alama.core.intake import Intake
from alama.core.lending import policy_text
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.model import ReadyModel
from alama.core.own_fields import reading
from alama.lenders.own_fields import own_fields_ever
from alama.monitoring.challengers import Challenger, Challengers, Progress, Shadow
from alama.platform import ids
from alama.platform.database.database import safe_for_several
from alama.platform.errors import Erased, MasterKeyMissing, StoreUnavailable, StoreUnfit
from alama.scoring.replay import as_decided, open_score

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alama.lenders.installation import Installation
    from alama.lenders.records import Lender
    from alama.lenders.store import Registry
    from alama.platform.book import Book
    from alama.platform.clock import Clock
    from alama.scoring.records import ScoreRow, Sealed, StoredScore
    from alama.vault.vault import Vault


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


class ReadyChallenger(NamedTuple):
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
        asked = self._ready(challenger.model_id, lender, self._registry.fields_in_force(lender.id))
        before = ids.first_of(self._clock() - SETTLED_US)
        page = self._challengers.waiting(challenger, before, self._at_once)
        if not page:
            return Round(0, 0, None, lag_us=0, some_left=False)
        progress = self._progress(asked, page)
        if not self._challengers.advance(challenger, progress):
            return Round(0, 0, None, lag_us=0, some_left=False)
        some_left = len(page) == self._at_once
        lag_us = self._clock() - ids.time_us(progress.reached) if some_left else 0
        return Round(len(progress.shadows), progress.failed, progress.error, lag_us, some_left)

    def _progress(self, asked: ReadyChallenger, page: Sequence[StoredScore]) -> Progress:
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
        return Progress(page[-1].row.request_id, shadows, failed, error)

    def _opened(self, stored: StoredScore) -> Sealed | None:
        """Read what was sent; None where nobody can any more."""
        try:
            return open_score(self._vault, stored)
        except MasterKeyMissing:
            raise
        except (Erased, StoreUnfit):
            return None

    def _make_ready(self, model_id: str, lender: Lender, fields_id: str | None) -> ReadyChallenger:
        """Lay a model out for all that was ever sent; the fields in force say when that changed."""
        del fields_id
        stored = models.stored(self._registry.model(model_id), model_id)
        own = own_fields_ever(self._registry, lender.id)
        model = ReadyModel(reading(stored, own), lender.currency)
        return ReadyChallenger(model, Intake(model.catalogue, may_have_been_word, None))

    def _lay_out(self, model: ReadyModel, policy_id: str) -> ReadyPolicy | _Unfit:
        """Lay a policy out for a challenger; where that fails once it fails for every score."""
        policy = policy_text.decode(self._registry.policy(policy_id), policy_id)
        try:
            return ReadyPolicy(policy, model)
        except (InvalidPolicy, UnknownCurrency) as error:
            return _Unfit(type(error).__name__)


def _shadow(asked: ReadyChallenger, policy: ReadyPolicy, row: ScoreRow, sealed: Sealed) -> Shadow:
    application = as_decided(asked.intake, sealed, asked.model.catalogue)
    # What held then, such as a pause, holds for both: else two days would be compared.
    said = assess(asked.model, policy, application, sealed.assessment.circumstances(policy))
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


# ------------------------------------------------------------------------------- the worker


LOOK_EVERY_S: Final = 5.0
"""Where nothing waits: a score is asked about half a minute after it was given anyway."""

REST_TURNS: Final = 19.0
"""After each round: so many times as long as it took. All challengers together have a twentieth of
a core, however many and however far behind, for some hundred scores a second: what a database does
for them is not behind everything else, as a worker is. With a tenth, PostgreSQL had 8 % less left
for scoring."""

REST_S_MAX: Final = 5.0
"""A round may have waited for its turn at a file that scores are written into. One that has not
takes a small part of what earns this."""

LOOK_S_MIN: Final = 0.2
"""From the beginning of a look to that of the next, where rounds are short."""


class Asking(Protocol):
    """Who asks challengers; `alama.monitoring.shadowing.Shadowing` does."""

    def running(self) -> Sequence[Challenger]: ...
    def round(self, challenger: Challenger) -> Round: ...


class ShadowWatch(Protocol):
    """What the worker reports to."""

    def challenged(self, rounds: Sequence[Round]) -> None: ...
    def challenger_failed(self, challenger: Challenger, error: Exception) -> None: ...
    def chore_failed(self, chore: str, error: Exception) -> None: ...


class ShadowWorker:
    """Asks until cancelled. Lives in one event loop, and asks on a thread of its own.

    With a rest after each round: what a challenger costs is taken from what scoring leaves over.
    One that cannot be asked is reported once until it can, and tried again at every look. A
    database that is away is no news: whoever delivers has reported it.
    """

    def __init__(
        self,
        asking: Asking,
        watch: ShadowWatch,
        look_every_s: float = LOOK_EVERY_S,
        look_s_min: float = LOOK_S_MIN,
    ) -> None:
        self._asking = asking
        self._watch = watch
        self._look_every_s = look_every_s
        self._look_s_min = look_s_min
        self._failing: set[tuple[Book, str]] = set()
        self._is_blind = False

    async def run(self) -> None:
        """Ask, until cancelled."""
        while True:
            began_s = time.monotonic()
            some_left = await self.look()
            short_s = began_s + self._look_s_min - time.monotonic()
            await asyncio.sleep(max(short_s, 0.0) if some_left else self._look_every_s)

    async def look(self) -> bool:
        """Have a round of each challenger and rest after it; say whether one of them left some."""
        try:
            challengers = await asyncio.to_thread(self._asking.running)
        except StoreUnavailable:
            return False
        except Exception as error:  # noqa: BLE001  whatever it was, another time it may go well
            if not self._is_blind:
                self._watch.chore_failed("find_challengers", error)
            self._is_blind = True
            return False
        self._is_blind = False
        # One round of each: nobody's backlog keeps the others waiting.
        found = [await self._round_and_rest(challenger) for challenger in challengers]
        rounds = [one for one in found if one is not None]
        self._watch.challenged(rounds)
        return any(one.some_left for one in rounds)

    async def _round_and_rest(self, challenger: Challenger) -> Round | None:
        # Also where none are left: forty that are asked about little are asked about much.
        began_s = time.monotonic()
        found = await self._round(challenger)
        rest_s = REST_TURNS * (time.monotonic() - began_s)
        await asyncio.sleep(min(rest_s, REST_S_MAX))
        return found

    async def _round(self, challenger: Challenger) -> Round | None:
        """Have a round; None where it failed."""
        who = (challenger.book, challenger.model_id)
        try:
            found = await asyncio.to_thread(self._asking.round, challenger)
        except StoreUnavailable:
            return None
        except Exception as error:  # noqa: BLE001  see the class
            if who not in self._failing:
                self._watch.challenger_failed(challenger, error)
            self._failing.add(who)
            return None
        self._failing.discard(who)
        return found


def can_shadow(installed: Installation) -> bool:
    """Say whether a worker here asks challengers: not where it is a thread of the service.

    There it would take turns of the interpreter from scores.
    """
    return safe_for_several(installed.database)
