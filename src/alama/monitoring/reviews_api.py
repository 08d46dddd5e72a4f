"""Reviews over HTTP: POST /v1/scores/{request_id}/review, the end of REVIEW."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from msgspec import Meta

from alama.core.application import HIDDEN
from alama.core.errors import AlamaError, MalformedDocument
from alama.core.monitoring.news import State
from alama.lenders.records import TEXT_MAX, is_line
from alama.monitoring.reviews import NOTE_MAX, AlreadyReviewed, PortfolioFull, Reviews, is_note
from alama.onboarding.candidates_api import Person
from alama.platform.book import Scope
from alama.platform.days import DAY_US
from alama.platform.errors import Erased
from alama.platform.http import fields, parameters
from alama.platform.http.bodies import json_body
from alama.platform.http.exchange import Call, Reply, created_json, private_json
from alama.platform.http.fields import Rule
from alama.platform.http.operation import (
    AT_US,
    FIELDS_TOLD,
    RATE,
    REQUEST_ID,
    Json,
    Operation,
    Success,
    reference,
)
from alama.platform.http.problems import (
    BadParameter,
    BodyTooLarge,
    InvalidRequest,
    UnsupportedMediaType,
)
from alama.platform.timeouts import run_with_timeout
from alama.scoring import scores_api
from alama.scoring.api import GET_SCORE
from alama.scoring.records import UnknownScore
from alama.scoring.sequels import RULINGS, Judgement, Outcome, Review, ReviewReason, Sequel

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from alama.platform.http.fields import Check
    from alama.scoring.admission import Admission


REASONS: Final = tuple(reason.value for reason in ReviewReason)

_LINES: Final = rf"^([^{HIDDEN}]|[\n\t]|\r\n)*$"

RULES: Final = {
    "decision": Rule(str, f"must be {' or '.join(RULINGS)}"),
    "reason": Rule(str, f"must be one of {', '.join(REASONS)}"),
    "name": Rule(str, f"must be a name on one line, at most {TEXT_MAX} characters"),
    "note": Rule(str, f"must be plain text, at most {NOTE_MAX} characters"),
}
"""What the fields of the body must be, by their names."""


class NewReview(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an officer decides on a score."""

    decision: Annotated[
        str,
        Meta(
            description="What the officer decides.",
            examples=["APPROVED"],
            extra_json_schema={"enum": list(RULINGS)},
        ),
    ]
    reason: Annotated[
        str,
        Meta(
            description="What weighed most. Reasons are counted; `other` says that none fits.",
            examples=["income_verified"],
            extra_json_schema={"enum": list(REASONS)},
        ),
    ]
    name: Person
    note: Annotated[
        str,
        Meta(
            description="In the officer's own words. It may tell of the applicant: it is sealed, "
            "is in no event and in no log, and is erased with the applicant.",
            examples=["payslips of three months seen"],
            extra_json_schema={"maxLength": NOTE_MAX, "pattern": _LINES},
        ),
    ] = ""


REQUESTS: Final = (NewReview,)


def _review(description: str, *headers: str) -> Success:
    return Success(
        description,
        reference("ScoreReview"),
        headers=(*headers, *RATE),
        examples=("review",),
        links=(GET_SCORE,),
    )


class ReviewEndpoints:
    """What an officer can do with scores."""

    def __init__(self, admission: Admission, reviews: Reviews) -> None:
        self._admission = admission
        self._reviews = reviews

    @Operation(
        path="/v1/scores/{request_id}/review",
        method="POST",
        id="reviewScore",
        tag="Scores",
        summary="Say what a person decided on a score",
        description="Where the decision is REVIEW a person decides, and says so here. Any other "
        "score may be reviewed too: an applicant may contest what was decided without a person, "
        "and the officer confirms or overrides it. The first review of a score stands; the same "
        "sent again gets the same reply, so no `Idempotency-Key` is needed, and anything else is "
        "refused. What is approved counts below the policy's caps of the portfolio, and those that "
        "decline bind officers too. The score itself stays as it was given. Overrides are counted, "
        "and held against what becomes of the loans.",
        scope=Scope.REVIEWS_WRITE,
        parameters=("request_id",),
        body="NewReview",
        body_told=FIELDS_TOLD,
        requests=("new_review",),
        replies={
            201: _review("It is kept.", "Location"),
            200: _review("The same was said before, and is kept."),
        },
        refusals=(
            MalformedDocument,
            BadParameter,
            UnknownScore,
            AlreadyReviewed,
            PortfolioFull,
            Erased,
            BodyTooLarge,
            UnsupportedMediaType,
            InvalidRequest,
        ),
    )
    async def review(self, call: Call) -> Reply:
        caller, headers = await self._admission.admit(call, Scope.REVIEWS_WRITE)
        parameters.read(call, ())
        request_id = scores_api.request_id_asked(call)
        sent = fields.read(NewReview, await json_body(call), RULES, _CHECKS)
        said = Judgement(sent.decision, ReviewReason(sent.reason), sent.name, sent.note)
        book, key_id = caller.book, caller.key.id
        try:
            reviewed = await run_with_timeout(
                lambda: self._reviews.review(book, request_id, said, key_id)
            )
        except Erased as error:
            raise scores_api.with_remains(error) from None
        body = scores_api.review_reply(reviewed.review)
        if reviewed.is_new:
            return created_json(body, headers, f"/v1/scores/{request_id}")
        return private_json(body, headers)


def _must(holds: Callable[[str], bool]) -> Check:
    def check(text: str) -> None:
        if not holds(text):
            raise ValueError

    return check


_CHECKS: Final[Mapping[str, Check]] = {
    "decision": _must(RULINGS.__contains__),
    "reason": _must(REASONS.__contains__),
    "name": _must(is_line),
    "note": _must(is_note),
}


_HOUR_US: Final = 3_600 * 1_000_000
_KEY: Final = "key_4f1d2c7b9a035e68"

REVIEW: Final = Review(
    request_id=REQUEST_ID,
    decision="APPROVED",
    reason=ReviewReason.INCOME_VERIFIED,
    person="W. Mutua",
    note="payslips of three months seen",
    reviewed_us=AT_US + _HOUR_US,
    key_id=_KEY,
    given_decision="REVIEW",
)
_REPAID_US: Final = AT_US + 61 * DAY_US
_OUTCOME: Final = Outcome(
    request_id=REQUEST_ID,
    state=State.REPAID,
    happened_on=_REPAID_US // DAY_US,
    defaulted_on=None,
    disbursed_amount=12_000.0,
    repaid_amount=12_900.0,
    recorded_us=_REPAID_US + _HOUR_US,
    key_id=_KEY,
)

SEQUEL: Final = Sequel(None, _OUTCOME)
"""What became of a score that nobody had to look at."""


def requests() -> dict[str, Json]:
    """Give the bodies of requests by name, each with what it is for."""
    said = {
        "decision": REVIEW.decision,
        "reason": REVIEW.reason.value,
        "name": REVIEW.person,
        "note": REVIEW.note,
    }
    return {"new_review": {"summary": "An officer approves what was left to them", "value": said}}


def replies() -> dict[str, Json]:
    """Give the bodies of replies by name."""
    return {"review": {"summary": "A review", "value": json.loads(scores_api.review_reply(REVIEW))}}


def refusals() -> dict[str, tuple[AlamaError, ...]]:
    """Give problems by the paths that they are met at."""
    met = (AlreadyReviewed(REVIEW.reviewed_us), PortfolioFull(["nairobi_c"]))
    return {f"/v1/scores/{REQUEST_ID}/review": met}
