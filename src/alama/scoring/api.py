"""Scores over HTTP: given by POST /v1/score, read at /v1/scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from alama.core import receipts
from alama.core.calibration import TO_WHOLE
from alama.core.reasons import tell
from alama.platform import ids
from alama.platform.book import Book, Scope
from alama.platform.days import date_of, moment
from alama.platform.errors import Erased
from alama.platform.http import parameters
from alama.platform.http.bodies import json_body
from alama.platform.http.exchange import Call, Reply, private_json
from alama.platform.http.problems import BadParameter
from alama.platform.timeouts import run_with_timeout
from alama.scoring import scoring, wire
from alama.scoring.records import ScoreRow, ScoreSummary, Sealed, UnknownScore
from alama.scoring.replay import open_score
from alama.scoring.wire import (
    OfferDetail,
    PriceParts,
    Reason,
    ScoreOutcome,
    ScorePage,
    ScoreRecord,
    ScoreReply,
    ScoreReview,
    ShapValue,
    listed_reply,
    plain,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from alama.core.assess import Assessment
    from alama.core.reasons.dictionary import Language
    from alama.core.receipts import Receipt
    from alama.scoring.admission import Admission
    from alama.scoring.scoring import Given, Once, Render, Scoring
    from alama.scoring.sequels import Outcome, Review, Sequel
    from alama.scoring.store import Scores
    from alama.vault.vault import Vault


def request_id_asked(call: Call) -> str:
    """Read which score a path names; what cannot be an id names none."""
    named = call.path_part("request_id")
    if not ids.is_request_id(named):
        raise UnknownScore
    return named


# From what the service knows to what the contract says.


POINTS_DECIMALS: Final = 4
_POINTS_STEPS: Final = 10.0**POINTS_DECIMALS

_encode: Final = msgspec.json.Encoder().encode


def score_reply(given: Given) -> bytes:
    """Give the reply of POST /v1/score: the ten fields of the interface, in its order."""
    return _encode(_reply(given))


def expanded(names: frozenset[str], language: Language) -> Callable[[Given], bytes]:
    """Give a renderer that adds what `expand` named, in this language."""

    def render(given: Given) -> bytes:
        additions = {
            name: EXPANSIONS[name](given, language) for name in EXPANSIONS if name in names
        }
        return _encode(msgspec.structs.replace(_reply(given), **additions))

    return render


def score_record(row: ScoreRow, sealed: Sealed, sequel: Sequel) -> bytes:
    """Give everything that is kept of a score, and what became of it."""
    said = sealed.assessment
    return _encode(
        ScoreRecord(
            score=row.score,
            tier=row.tier,
            default_probability=row.default_probability,
            decision=row.decision,
            recommended_limit=plain(row.recommended_limit),
            recommended_term_days=row.recommended_term_days,
            recommended_apr=row.recommended_apr,
            shap_values=_shap_values(said),
            request_id=row.request_id,
            processing_ms=row.processing_ms,
            base_score=base_score(said),
            model=row.model_id,
            policy=row.policy_id,
            offer=_offer(said),
            created_at=moment(row.created_us),
            mode=row.mode,
            key_id=row.key_id,
            application=msgspec.Raw(sealed.application),
            review=None if sequel.review is None else _review(sequel.review),
            outcome=None if sequel.outcome is None else _outcome(sequel.outcome),
        )
    )


def review_reply(kept: Review) -> bytes:
    """Give what an officer decided."""
    return _encode(_review(kept))


def score_page(rows: Sequence[ScoreSummary], limit: int) -> bytes:
    """Give one page of scores; the cursor of the next one is the last id, if there may be more."""
    shown = [listed_reply(row) for row in rows[:limit]]
    more = len(rows) > limit
    return _encode(ScorePage(shown, shown[-1].request_id if more else None))


def _reply(given: Given) -> ScoreReply:
    said = given.assessment
    offer = said.offer
    return ScoreReply(
        said.score,
        said.tier,
        said.default_probability,
        said.decision,
        offer.limit,
        offer.term_days,
        offer.apr,
        _shap_values(said),
        given.request_id,
        given.processing_ms,
    )


def _review(kept: Review) -> ScoreReview:
    return ScoreReview(
        request_id=kept.request_id,
        decision=kept.decision,
        reason=kept.reason.value,
        name=kept.person,
        reviewed_at=moment(kept.reviewed_us),
        given_decision=kept.given_decision,
        overrides=kept.overrides,
        note=kept.note,
    )


def _outcome(known: Outcome) -> ScoreOutcome:
    disbursed, repaid = known.disbursed_amount, known.repaid_amount
    return ScoreOutcome(
        outcome=known.state.value,
        date=date_of(known.happened_on),
        is_default=known.is_default,
        disbursed_amount=None if disbursed is None else plain(disbursed),
        repaid_amount=None if repaid is None else plain(repaid),
        recorded_at=moment(known.recorded_us),
    )


def _shap_values(said: Assessment) -> list[ShapValue]:
    # In place, and not by `round`: this is the larger part of what a reply costs.
    return [
        ShapValue(one.feature, (one.points * _POINTS_STEPS + TO_WHOLE - TO_WHOLE) / _POINTS_STEPS)
        for one in said.contributions
    ]


def points(exact: float) -> float:
    """Round points to the decimals that are shown."""
    return (exact * _POINTS_STEPS + TO_WHOLE - TO_WHOLE) / _POINTS_STEPS


def base_score(said: Assessment) -> float:
    """Give what the contributions are added to."""
    return round(said.base, POINTS_DECIMALS)


def reasons(told: Iterable[tell.Reason]) -> list[Reason]:
    """Give reasons as the contract has them."""
    return [
        Reason(
            one.code,
            one.feature,
            None if one.contribution is None else points(one.contribution),
            one.text,
        )
        for one in told
    ]


def _reasons(given: Given, language: Language) -> list[Reason]:
    policy, said = given.active.policy, given.assessment
    return reasons(tell.reasons(policy, given.application, said, language))


def _offer(said: Assessment) -> OfferDetail:
    offer, price = said.offer, said.offer.price
    return OfferDetail(
        currency=offer.currency,
        default_probability=offer.default_probability,
        price=PriceParts(price.expected_loss, price.running_cost, price.funding, price.margin),
        fee=plain(offer.fee),
        expected_loss=plain(offer.expected_loss),
        rules=list(said.rules),
    )


EXPANSIONS: Final[dict[str, Callable[[Given, Language], object]]] = {
    "base_score": lambda given, _: base_score(given.assessment),
    "model": lambda given, _: given.active.model.model.id,
    "policy": lambda given, _: given.active.policy.id,
    "offer": lambda given, _: _offer(given.assessment),
    "reasons": _reasons,
}
"""What `expand` may add, by name."""


IDEMPOTENCY_KEY_MAX: Final = 255
"""Bytes: what a header holds has no other length."""

PAGE_DEFAULT: Final = 20
PAGE_MAX: Final = 100


class ScoreEndpoints:
    """What callers can do with scores."""

    def __init__(
        self,
        admission: Admission,
        scoring: Scoring,
        scores: Scores,
        vault: Vault,
        receipt_of: Callable[[Book, str], Receipt],
        sequel_of: Callable[[Book, str], Sequel],
        languages: Sequence[Language],
    ) -> None:
        """Use the use cases; the first language is that of callers who do not say."""
        self._admission = admission
        self._scoring = scoring
        self._scores = scores
        self._vault = vault
        self._receipt_of = receipt_of
        self._sequel_of = sequel_of
        self._languages = languages

    async def score(self, call: Call) -> Reply:
        """POST /v1/score: score an application and keep it."""
        caller, headers = await self._admission.admit(call, Scope.WRITE)
        render_reply = self._renderer(call)
        body = await json_body(call)
        once = _once(call, body)
        answer = await self._scoring.score(caller, call.arrival, body, render_reply, once)
        if answer.replayed:
            headers.append((b"idempotent-replayed", b"true"))
        return private_json(answer.reply, headers)

    async def find(self, call: Call) -> Reply:
        """GET /v1/scores/{request_id}: a stored score, whole, and what became of it."""
        caller, headers = await self._admission.admit(call, Scope.READ)
        parameters.read(call, ())
        request_id = request_id_asked(call)
        row, sealed, sequel = await run_with_timeout(lambda: self._opened(caller.book, request_id))
        return private_json(score_record(row, sealed, sequel), headers)

    async def receipt(self, call: Call) -> Reply:
        """GET /v1/scores/{request_id}/receipt: the proof of a score."""
        caller, headers = await self._admission.admit(call, Scope.READ)
        parameters.read(call, ())
        request_id = request_id_asked(call)
        found = await run_with_timeout(lambda: self._receipt_of(caller.book, request_id))
        return private_json(receipts.encode(found), headers)

    async def page(self, call: Call) -> Reply:
        """GET /v1/scores: scores in pages, newest first; all, or those that wait for a person."""
        caller, headers = await self._admission.admit(call, Scope.READ)
        asked = parameters.read(call, ("waiting", "limit", "cursor"))
        waiting = parameters.switch("waiting", asked.get("waiting"))
        pages = self._scores.waiting if waiting else self._scores.page
        limit = parameters.limit(asked.get("limit"), PAGE_DEFAULT, PAGE_MAX)
        cursor = parameters.cursor(asked.get("cursor"), ids.PREFIX)
        # One row more than asked for tells whether there is a next page.
        rows = await run_with_timeout(lambda: pages(caller.book, cursor, limit + 1))
        return private_json(score_page(rows, limit), headers)

    def _renderer(self, call: Call) -> Render:
        if not call.query:
            return score_reply
        asked = parameters.read(call, ("expand", "language"))
        names = parameters.expansions(asked.get("expand"), EXPANSIONS)
        return expanded(names, parameters.language(asked.get("language"), self._languages))

    def _opened(self, book: Book, request_id: str) -> tuple[ScoreRow, Sealed, Sequel]:
        stored = self._scores.find(book, request_id)
        try:
            sealed = open_score(self._vault, stored)
            return stored.row, sealed, self._sequel_of(book, request_id)
        except Erased as error:
            raise Erased(error.erased_us, wire.listed_reply(stored.row.summary)) from None


def _once(call: Call, body: bytes) -> Once | None:
    key = call.headers.get(b"idempotency-key")
    if key is None:
        return None
    if not 1 <= len(key) <= IDEMPOTENCY_KEY_MAX:
        raise BadParameter(f"Idempotency-Key must have 1 to {IDEMPOTENCY_KEY_MAX} bytes")
    if sum(name == b"idempotency-key" for name, _ in call.scope["headers"]) > 1:
        raise BadParameter("the header Idempotency-Key stands twice")
    return scoring.only_once(key, body, call.query)
