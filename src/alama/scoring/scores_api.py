"""Stored scores over HTTP: read at /v1/scores."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from msgspec import UNSET, Meta

from alama.core.lending.policy import Decision as GivenDecision
from alama.platform import ids
from alama.platform.book import Book, Scope
from alama.platform.days import date_of, moment
from alama.platform.errors import Erased
from alama.platform.http import parameters
from alama.platform.http.exchange import Call, Reply, encode_json, private_json
from alama.platform.http.operation import (
    REQUEST_ID,
    Json,
    Link,
    Operation,
    Success,
    cursor_parameter,
    path_parameter,
    reference,
)
from alama.platform.http.problems import BadParameter
from alama.platform.timeouts import run_with_timeout
from alama.scoring.api import (
    GET_RECEIPT,
    REFERENCE_RULE,
    REQUEST_ID_PATTERN,
    REVIEW_SCORE,
    TIER_PATTERN,
    WORD,
    Apr,
    BaseScore,
    Decision,
    DefaultProbability,
    Limit,
    ModelHash,
    OfferDetail,
    PolicyHash,
    ProductName,
    RequestId,
    Score,
    Scored,
    TermDays,
    Tier,
    base_score,
    is_reference,
    offer_detail,
    plain,
    shap_values,
)
from alama.scoring.records import ScoreRow, ScoreSummary, Sealed, UnknownScore, Wanted
from alama.scoring.replay import open_score

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from alama.core.assess import Proven
    from alama.scoring.admission import Admission
    from alama.scoring.directory import Caller
    from alama.scoring.sequels import Outcome, Review, Sequel
    from alama.scoring.store import Scores
    from alama.vault.vault import Vault


Moment = Annotated[datetime, Meta(tz=True, description="When the score was given, in UTC.")]


class ScoreEvidence(msgspec.Struct, frozen=True):
    """What the figures of a score stood on, where they came with evidence."""

    digest: Annotated[str, Meta(description="SHA-256 of the statement that was read.")]
    formulas: Annotated[str, Meta(description="The formulas that derived them, and their version.")]
    day: Annotated[str, Meta(description="The day of application that they are of.")]
    fields: Annotated[list[str], Meta(description="Those that were derived, and sent unaltered.")]
    checks: Annotated[
        dict[str, str], Meta(description="Each check, and what it came to when it was read.")
    ]
    doubtful: Annotated[bool, Meta(description="Whether the checks left it to a person.")]


class ScoreReview(msgspec.Struct, frozen=True):
    """What an officer decided on a score."""

    request_id: RequestId
    decision: Annotated[str, Meta(description="What the officer decided: APPROVED or DECLINED.")]
    reason: Annotated[str, Meta(description="Why, as it is counted. An open set: expect more.")]
    name: Annotated[str, Meta(description="Who decided.")]
    reviewed_at: Annotated[datetime, Meta(tz=True, description="When, in UTC.")]
    given_decision: Annotated[str, Meta(description="What the service had said of the score.")]
    overrides: Annotated[
        bool,
        Meta(
            description="Whether the service had decided otherwise. Never so where it had left the "
            "decision to a person: REVIEW."
        ),
    ]
    note: Annotated[str, Meta(description="In the officer's own words; empty: none were given.")]


class ScoreOutcome(msgspec.Struct, frozen=True):
    """What became of the loan, as far as it is known."""

    outcome: Annotated[
        str,
        Meta(
            description="The latest that is known: `repaid`, `defaulted`, `written_off` or "
            "`restructured`. An open set: expect more."
        ),
    ]
    date: Annotated[date, Meta(description="Of the latest that is known.")]
    is_default: Annotated[
        bool, Meta(description="Whether the loan was ever a default, whatever became of it since.")
    ]
    disbursed_amount: Annotated[
        float | None, Meta(description="In the lender's currency; null: nobody said.")
    ]
    repaid_amount: Annotated[
        float | None, Meta(description="In the lender's currency; null: nobody said.")
    ]
    recorded_at: Annotated[datetime, Meta(tz=True, description="When that was sent, in UTC.")]


class ScoreRecord(Scored, frozen=True, kw_only=True):
    """A stored score: the reply that was given, when, to what, and what became of it."""

    base_score: BaseScore
    model: ModelHash
    policy: PolicyHash
    offer: Annotated[OfferDetail, Meta(description="How the offer was priced.")]
    created_at: Moment
    mode: Annotated[str, Meta(description="test or live.")]
    key_id: Annotated[str, Meta(description="The key that asked.")]
    # No more than an object is promised: what was stored keeps the rules of its own day.
    application: Annotated[
        msgspec.Raw,
        Meta(description="The request body as it was sent.", extra_json_schema={"type": "object"}),
    ]
    evidence: Annotated[
        ScoreEvidence | None,
        Meta(description="What the figures stood on; null: they came without evidence."),
    ] = None
    review: Annotated[
        ScoreReview | None, Meta(description="What an officer decided; null: nobody has yet.")
    ] = None
    outcome: Annotated[
        ScoreOutcome | None, Meta(description="What became of the loan; null: nothing is known.")
    ] = None
    product: ProductName = UNSET


class ScoreListed(msgspec.Struct, frozen=True, gc=False):
    """One line of a list of scores."""

    request_id: RequestId
    created_at: Moment
    score: Score
    tier: Tier
    default_probability: DefaultProbability
    decision: Decision
    recommended_limit: Limit
    recommended_term_days: TermDays
    recommended_apr: Apr


class ScorePage(msgspec.Struct, frozen=True):
    """Scores, newest first."""

    data: Annotated[list[ScoreListed], Meta(description="At most `limit` of them.")]
    next_cursor: Annotated[
        str | None, Meta(description="Send it as `cursor` for the next page; null on the last.")
    ]


def score_record(row: ScoreRow, sealed: Sealed, sequel: Sequel) -> bytes:
    """Give everything that is kept of a score, and what became of it."""
    said = sealed.assessment
    return encode_json(
        ScoreRecord(
            score=row.score,
            tier=row.tier,
            default_probability=row.default_probability,
            decision=row.decision,
            recommended_limit=plain(row.recommended_limit),
            recommended_term_days=row.recommended_term_days,
            recommended_apr=row.recommended_apr,
            shap_values=shap_values(said),
            request_id=row.request_id,
            processing_ms=row.processing_ms,
            base_score=base_score(said),
            model=row.model_id,
            policy=row.policy_id,
            offer=offer_detail(said),
            created_at=moment(row.created_us),
            mode=row.mode,
            key_id=row.key_id,
            application=msgspec.Raw(sealed.application),
            evidence=None if said.proven is UNSET else _evidence(said.proven),
            review=None if sequel.review is None else _review(sequel.review),
            outcome=None if sequel.outcome is None else _outcome(sequel.outcome),
            product=said.offer.product,
        )
    )


def review_reply(kept: Review) -> bytes:
    """Give what an officer decided."""
    return encode_json(_review(kept))


def score_page(rows: Sequence[ScoreSummary], limit: int) -> bytes:
    """Give one page of scores; the cursor of the next one is the last id, if there may be more."""
    shown = [listed_reply(row) for row in rows[:limit]]
    more = len(rows) > limit
    return encode_json(ScorePage(shown, shown[-1].request_id if more else None))


def with_remains(error: Erased) -> Erased:
    """Give the error with what is left of its score as lists have it."""
    left = error.remains
    return Erased(error.erased_us, listed_reply(left)) if isinstance(left, ScoreSummary) else error


def listed_reply(row: ScoreSummary) -> ScoreListed:
    """Give one line of a list of scores."""
    return ScoreListed(
        row.request_id,
        moment(row.created_us),
        row.score,
        row.tier,
        row.default_probability,
        row.decision,
        plain(row.recommended_limit),
        row.recommended_term_days,
        row.recommended_apr,
    )


def _evidence(proven: Proven) -> ScoreEvidence:
    return ScoreEvidence(
        proven.digest,
        proven.formulas,
        proven.day,
        list(proven.fields),
        dict(proven.checks),
        proven.doubtful,
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


# ------------------------------------------------------------------------------ operations


PAGE_DEFAULT: Final = 20
PAGE_MAX: Final = 100

PARAMETERS: Final[dict[str, Json]] = {
    "limit": {
        "name": "limit",
        "in": "query",
        "description": "How many a page may have.",
        "schema": {
            "type": "integer",
            "minimum": 1,
            "maximum": PAGE_MAX,
            "default": PAGE_DEFAULT,
        },
        "example": 50,
    },
    "waiting": {
        "name": "waiting",
        "in": "query",
        "description": "Only scores that wait for a person: those that say `REVIEW` and were not "
        "reviewed yet, without those of applicants that were erased.",
        "schema": {"type": "boolean", "default": False},
        "example": True,
    },
    "from": {
        "name": "from",
        "in": "query",
        "description": "Only scores that were given at this time or later. RFC 3339, with a zone; "
        "a `+` in it is written `%2B`.",
        "schema": {"type": "string", "format": "date-time"},
        "example": "2026-11-01T00:00:00Z",
    },
    "to": {
        "name": "to",
        "in": "query",
        "description": "Only scores that were given before this time, which is after `from`.",
        "schema": {"type": "string", "format": "date-time"},
        "example": "2026-12-01T00:00:00Z",
    },
    "decision": {
        "name": "decision",
        "in": "query",
        "description": "Only scores that say this, whatever a person decided since.",
        "schema": {"type": "string", "enum": list(GivenDecision)},
        "example": GivenDecision.REVIEW.value,
    },
    "tier": {
        "name": "tier",
        "in": "query",
        "description": "Only scores of this tier, as the policy of their day named it.",
        "schema": {"type": "string", "pattern": TIER_PATTERN},
        "example": "C",
    },
    "applicant_ref": {
        "name": "applicant_ref",
        "in": "query",
        "description": "Only scores of this applicant, by what was sent as `applicant_ref`. One "
        "who was erased has none.",
        "schema": {"type": "string", "pattern": WORD},
        "example": "customer-7f3a",
    },
    "cursor": cursor_parameter(REQUEST_ID_PATTERN, REQUEST_ID),
    "request_id": path_parameter(
        "request_id",
        "The `request_id` that the score was given with.",
        REQUEST_ID_PATTERN,
        REQUEST_ID,
    ),
}

LIST_SCORES: Final = Link("listScores", "Read the next page.", "cursor", "next_cursor")


_LIST_PARAMETERS: Final = (
    "from",
    "to",
    "decision",
    "tier",
    "applicant_ref",
    "waiting",
    "limit",
    "cursor",
)
_TIER: Final = re.compile(TIER_PATTERN)
_read_moment: Final = msgspec.json.Decoder(Annotated[datetime, Meta(tz=True)]).decode
_EPOCH: Final = datetime.fromtimestamp(0, UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def _wanted(caller: Caller, asked: Mapping[str, str]) -> Wanted:
    """Read which scores are wanted, or raise `BadParameter`."""
    waiting = parameters.switch("waiting", asked.get("waiting"))
    from_us, to_us = _moment_us("from", asked), _moment_us("to", asked)
    if from_us is not None and to_us is not None and from_us >= to_us:
        raise BadParameter("from must be before to")
    decision, tier = asked.get("decision"), asked.get("tier")
    if decision not in (None, *GivenDecision):
        raise BadParameter(f"decision must be one of {', '.join(GivenDecision)}")
    if waiting and decision not in (None, GivenDecision.REVIEW):
        raise BadParameter(
            f"waiting=true lists scores that say {GivenDecision.REVIEW}, and decision names another"
        )
    if tier is not None and not _TIER.fullmatch(tier):
        raise BadParameter("tier must be 1 to 8 letters, digits, + and -")
    return Wanted(
        from_us,
        to_us,
        None if decision is None else GivenDecision(decision),
        tier,
        _subject(caller, asked.get("applicant_ref")),
        waiting,
    )


def _moment_us(name: str, asked: Mapping[str, str]) -> int | None:
    """Read a time with its zone; one that no score can be of stands for the nearest that can."""
    if name not in asked:
        return None
    try:
        at: datetime = _read_moment(encode_json(asked[name]))
    except msgspec.ValidationError:
        raise BadParameter(
            f"{name} must be a time with its zone, such as 2026-11-15T10:00:00Z",
            hint="a + in a query is written %2B",
        ) from None
    return min(max((at - _EPOCH) // _MICROSECOND, 0), ids.TIME_MAX_US)


def _subject(caller: Caller, asked: str | None) -> bytes | None:
    """Give what the database knows an applicant by, of what the lender does."""
    if asked is None:
        return None
    if not is_reference(asked):
        raise BadParameter(f"applicant_ref {REFERENCE_RULE}")
    return caller.ring.subject(caller.book.mode.value, asked.strip())


def request_id_asked(call: Call) -> str:
    """Read which score a path names; what cannot be an id names none."""
    named = call.path_part("request_id")
    if not ids.is_request_id(named):
        raise UnknownScore
    return named


class StoredScoreEndpoints:
    """Reads the scores of the book of the key."""

    def __init__(
        self,
        admission: Admission,
        scores: Scores,
        vault: Vault,
        sequel_of: Callable[[Book, str], Sequel],
    ) -> None:
        self._admission = admission
        self._scores = scores
        self._vault = vault
        self._sequel_of = sequel_of

    @Operation(
        path="/v1/scores",
        method="GET",
        id="listScores",
        tag="Scores",
        summary="List scores, newest first",
        description="Gives the stored scores of the key's lender and mode in pages. The pages stay "
        "right while new scores come in: a cursor names a score, not a place in the list. The "
        "filters can be combined: a score is listed where all of them hold. Send them with each "
        "page. `waiting=true` gives those on which a person has to decide yet.",
        scope=Scope.READ,
        parameters=_LIST_PARAMETERS,
        replies={
            200: Success(
                "One page.", reference("ScorePage"), examples=("page",), links=(LIST_SCORES,)
            )
        },
        refusals=(BadParameter,),
    )
    async def page(self, call: Call) -> Reply:
        caller, headers = await self._admission.admit(call, Scope.READ)
        asked = parameters.read(call, _LIST_PARAMETERS)
        wanted = _wanted(caller, asked)
        limit = parameters.limit(asked.get("limit"), PAGE_DEFAULT, PAGE_MAX)
        cursor = parameters.cursor(asked.get("cursor"), ids.PREFIX)
        # One row more than asked for tells whether there is a next page.
        rows = await run_with_timeout(
            lambda: self._scores.page(caller.book, cursor, limit + 1, wanted)
        )
        return private_json(score_page(rows, limit), headers)

    @Operation(
        path="/v1/scores/{request_id}",
        method="GET",
        id="getScore",
        tag="Scores",
        summary="Read one stored score",
        description="Gives everything that is kept of a score: the reply as it was given, how the "
        "offer was priced, which model and policy decided, and the application as it was sent; "
        "then what became of it: what an officer decided, and how the loan went.",
        scope=Scope.READ,
        parameters=("request_id",),
        replies={
            200: Success(
                "The score.",
                reference("ScoreRecord"),
                examples=("record",),
                links=(GET_RECEIPT, REVIEW_SCORE),
            ),
        },
        refusals=(BadParameter, UnknownScore, Erased),
    )
    async def find(self, call: Call) -> Reply:
        caller, headers = await self._admission.admit(call, Scope.READ)
        parameters.read(call, ())
        request_id = request_id_asked(call)
        row, sealed, sequel = await run_with_timeout(lambda: self._opened(caller.book, request_id))
        return private_json(score_record(row, sealed, sequel), headers)

    def _opened(self, book: Book, request_id: str) -> tuple[ScoreRow, Sealed, Sequel]:
        stored = self._scores.find(book, request_id)
        try:
            sealed = open_score(self._vault, stored)
            return stored.row, sealed, self._sequel_of(book, request_id)
        except Erased as error:
            raise Erased(error.erased_us, listed_reply(stored.row.summary)) from None
