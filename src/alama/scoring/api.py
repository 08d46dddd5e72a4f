"""POST /v1/score: score an application, and keep it.

Types here are for callers. They change by addition only, whatever happens to the types inside.
"""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import astuple

from alama.core.application import CONTROLS, looks_personal, may_be_word
from alama.core.assess import menu
from alama.core.calibration import SCORE_MAX, SCORE_MIN, TO_WHOLE
from alama.core.catalogue import WORD_LENGTH_MAX
from alama.core.errors import InvalidApplication, MalformedDocument
from alama.core.lending.offer import lay_out
from alama.core.product import PRODUCT
from alama.core.reasons import tell
from alama.core.recourse.answer import COUNT_DEFAULT, COUNT_MAX
from alama.lenders.records import OnboardingIncomplete
from alama.platform.book import Scope
from alama.platform.errors import Busy, Erased, ModelUnavailable
from alama.platform.files.packaged import LANGUAGES
from alama.platform.http import parameters
from alama.platform.http.bodies import json_body
from alama.platform.http.deprecation import Deprecated
from alama.platform.http.exchange import INT32, Call, Reply, encode_json, private_json
from alama.platform.http.fields import SPACE
from alama.platform.http.operation import RATE, Json, Link, Operation, Success, reference
from alama.platform.http.problems import BadParameter, BodyTooLarge, UnsupportedMediaType
from alama.scoring import evidence, scoring
from alama.scoring.explaining import TARGET_DEFAULT
from alama.scoring.records import IdempotencyInFlight, IdempotencyKeyReused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from alama.core.assess import Assessment
    from alama.core.lending.asking import LoanChoice
    from alama.core.lending.offer import Offer
    from alama.core.lending.ready_policy import ReadyPolicy
    from alama.core.reasons.dictionary import Language
    from alama.scoring.admission import Admission
    from alama.scoring.scoring import Given, Once, Render, Scoring


REQUEST_ID_PATTERN: Final = "^req_[0-9a-f]{28}$"
RequestId = Annotated[
    str, Meta(pattern=REQUEST_ID_PATTERN, description="Names the score for ever.")
]
Score = Annotated[
    int,
    Meta(
        ge=SCORE_MIN,
        le=SCORE_MAX,
        description="660 is a 5 % default probability; 40 points double the odds of repayment.",
    ),
]
Tier = Annotated[str, Meta(description="Risk tier, A the safest. The policy sets the cut-offs.")]
DefaultProbability = Annotated[float, Meta(ge=0, le=1, description="Of this loan, as a fraction.")]
Decision = Annotated[
    str,
    Meta(
        description="APPROVED (up to `recommended_limit`), REVIEW (a person decides) or DECLINED. "
        "An open set: expect more words."
    ),
]
Limit = Annotated[float, Meta(ge=0, description="In the lender's currency; 0 where declined.")]
TermDays = Annotated[
    int,
    Meta(
        ge=1,
        description="One of the terms on offer. Where declined it is no offer.",
        extra_json_schema=INT32,
    ),
]
Apr = Annotated[float, Meta(ge=0, description="Percent a year. Where declined it is no offer.")]
ProcessingMs = Annotated[
    int, Meta(ge=1, description="Milliseconds taken, rounded up.", extra_json_schema=INT32)
]
BaseScore = Annotated[float, Meta(description="What the contributions are added to.")]
ModelHash = Annotated[str, Meta(description="Content hash of the model.")]
PolicyHash = Annotated[str, Meta(description="Content hash of the policy.")]

ProductName = Annotated[
    str | UnsetType,
    Meta(description="Which product decided; not there where the policy has none."),
]
Rules = Annotated[
    list[str],
    Meta(
        description="Codes of what decided against the application, if anything. Beside those "
        "listed, the names of the rules of the lender's own policy."
    ),
]


WORD: Final = (
    rf"^[{SPACE}]*[^{SPACE}{CONTROLS}]"
    rf"([^{CONTROLS}]{{0,{WORD_LENGTH_MAX - 2}}}[^{SPACE}{CONTROLS}])?[{SPACE}]*$"
)
"""A word with space around it, which does not count (`may_be_word`, held by a test).

What else is hidden is refused too, and told in words (`printable`).
"""

NOT_PERSONAL: Final = (
    rf"@|^[{SPACE}]*(\+[\d{SPACE}().-]{{6,}}|[\d().-][\d{SPACE}().-]{{5,}})[\d().-][{SPACE}]*$"
)
"""What a reference must not look like, space around it aside (`looks_personal`, held by a test)."""

REFERENCE: Final[Json] = {
    "type": "string",
    "pattern": WORD,
    "not": {"type": "string", "pattern": NOT_PERSONAL},
}
REFERENCE_RULE: Final = (
    f"must be an opaque reference of 1 to {WORD_LENGTH_MAX} characters, as it was sent as "
    "applicant_ref"
)


def is_reference(text: str) -> bool:
    """Say whether an application may have held this as its `applicant_ref`."""
    reference = text.strip()
    return may_be_word(reference) and not looks_personal(reference)


class ShapValue(msgspec.Struct, frozen=True, gc=False):
    """What one field of the application gave to the score."""

    feature: Annotated[str, Meta(description="The field, as the caller spelled it.")]
    contribution: Annotated[
        float,
        Meta(description="Exact Shapley value in score points; positive raises the score."),
    ]


class Reason(msgspec.Struct, frozen=True):
    """Why the decision is as it is: a rule that decided, or a field and its points."""

    code: Annotated[str, Meta(description="Stable name of the reason; more may come.")]
    feature: Annotated[
        str | None, Meta(description="The field, as the caller spelled it; null for a rule.")
    ]
    contribution: Annotated[
        float | None, Meta(description="Of the field, in score points; null for a rule.")
    ]
    text: Annotated[str, Meta(description="To the applicant, in the `language` asked for.")]


class PriceParts(msgspec.Struct, frozen=True, gc=False):
    """What the APR is made of, in percent a year; the parts add up to it."""

    expected_loss: Annotated[float, Meta(description="What defaults are expected to lose.")]
    running_cost: Annotated[float, Meta(description="What it costs to run the loan.")]
    funding: Annotated[float, Meta(description="What the money costs the lender.")]
    margin: Annotated[float, Meta(description="What the lender means to earn.")]
    tax: Annotated[float, Meta(description="What the state takes of a fee.")] = 0.0


class AprDefinitions(msgspec.Struct, frozen=True, gc=False):
    """The price of the loan as offered by three definitions, in percent a year."""

    simple: Annotated[
        float, Meta(description="What is paid beyond what was received, a year, over the amount.")
    ]
    nominal: Annotated[
        float, Meta(description="The internal rate of a period times the periods of a year.")
    ]
    effective: Annotated[
        float, Meta(description="The internal rate of a period compounded over a year.")
    ]


class ScheduledPayment(msgspec.Struct, frozen=True, gc=False):
    """One payment of a loan."""

    due_in_days: Annotated[int, Meta(ge=1, description="From the day the loan begins.")]
    amount: Annotated[float, Meta(ge=0, description="What is to be paid on that day.")]
    principal: Annotated[float, Meta(ge=0, description="What of it repays the loan.")]
    interest: Annotated[float, Meta(ge=0, description="What of it is interest.")]
    fee: Annotated[float, Meta(ge=0, description="What of it is a fee that was added.")]


class ScheduleDetail(msgspec.Struct, frozen=True, gc=False):
    """The payments of a loan of the recommended limit; every sum agrees to the smallest unit."""

    currency: Annotated[str, Meta(description="ISO 4217.")]
    amount: Annotated[float, Meta(ge=0, description="What is lent: the recommended limit.")]
    received: Annotated[
        float, Meta(ge=0, description="What reaches the borrower: less by a fee that is deducted.")
    ]
    fee: Annotated[float, Meta(ge=0, description="The fee, its tax included.")]
    tax: Annotated[float, Meta(ge=0, description="What of the fee is the state's.")]
    interest: Annotated[float, Meta(ge=0, description="All interest together.")]
    total: Annotated[
        float, Meta(ge=0, description="All payments together: received, fee and interest.")
    ]
    payments: list[ScheduledPayment]


class LoanOnOffer(msgspec.Struct, frozen=True, gc=False):
    """A loan that could be asked for, and what would be answered.

    Asked for it, `POST /v1/score` gives this decision and probability, this term, and a limit that
    is no smaller.
    """

    decision: Annotated[
        str, Meta(description="APPROVED, or REVIEW where a person would decide. An open set.")
    ]
    amount: Annotated[float, Meta(ge=0, description="What is lent, in the lender's currency.")]
    term_days: Annotated[int, Meta(ge=1, description="Its term.", extra_json_schema=INT32)]
    payment: Annotated[
        float, Meta(ge=0, description="Each payment; the last one takes what rounding leaves.")
    ]
    payments: Annotated[
        int, Meta(ge=1, description="How many payments there are.", extra_json_schema=INT32)
    ]
    total: Annotated[float, Meta(ge=0, description="All payments together.")]
    apr: Annotated[float, Meta(ge=0, description="Percent a year, as `recommended_apr` is meant.")]
    default_probability: Annotated[
        float, Meta(ge=0, le=1, description="Of this loan, as a fraction.")
    ]


class CounterOffers(msgspec.Struct, frozen=True, gc=False):
    """Other loans than the one that was asked for, and is not approved."""

    approved: Annotated[
        LoanOnOffer | None,
        Meta(description="The largest that would be approved; null where none would."),
    ]
    review: Annotated[
        LoanOnOffer | None,
        Meta(
            description="The largest that a person would decide on, where the loan as asked is "
            "declined and this one is larger than the one above; else null."
        ),
    ]
    as_asked: Annotated[
        list[str],
        Meta(
            description="Where the policy has approved the counter-offer: codes of what decided "
            "against the loan that was asked for. Else empty."
        ),
    ]


class OfferDetail(msgspec.Struct, frozen=True, gc=False):
    """The arithmetic behind the recommended limit, term and APR."""

    currency: Annotated[str, Meta(description="ISO 4217.")]
    default_probability: Annotated[
        float, Meta(ge=0, le=1, description="Of the loan as offered, not as requested.")
    ]
    price: PriceParts
    fee: Annotated[
        float,
        Meta(
            ge=0,
            description="What part of the price is a fee, in money; the rest is interest.",
        ),
    ]
    expected_loss: Annotated[
        float, Meta(ge=0, description="What the loan is expected to lose, in money.")
    ]
    rules: Rules
    apr_definition: Annotated[
        str, Meta(description="What `recommended_apr` is: `simple`, `nominal` or `effective`.")
    ]
    aprs: Annotated[
        AprDefinitions | None,
        Meta(description="By each definition; null where the policy says nothing of repayment."),
    ]
    capped_by: Annotated[
        list[str],
        Meta(
            description="What bounds the limit to what it is: the policy's own rules, by name, or "
            "earlier loans, by `exposure` or `ladder`."
        ),
    ]
    counter_offers: Annotated[
        CounterOffers | None,
        Meta(description="Other loans; null where there is none, or the policy tells of none."),
    ]


class Concluded(msgspec.Struct, frozen=True):
    """What is concluded from an application: the score, the decision and the offer."""

    score: Score
    tier: Tier
    default_probability: DefaultProbability
    decision: Decision
    recommended_limit: Limit
    recommended_term_days: TermDays
    recommended_apr: Apr


class Scored(Concluded, frozen=True):
    """The ten fields of a score."""

    shap_values: Annotated[
        list[ShapValue],
        Meta(description="One for each field of the scorecard, largest magnitude first."),
    ]
    request_id: RequestId
    processing_ms: ProcessingMs


class ScoreReply(Scored, frozen=True):
    """A score, and the lending decision that follows from it."""

    product: ProductName = UNSET
    base_score: Annotated[
        float | UnsetType,
        Meta(description="With `expand`: what the contributions are added to."),
    ] = UNSET
    model: Annotated[
        str | UnsetType, Meta(description="With `expand`: content hash of the model.")
    ] = UNSET
    policy: Annotated[
        str | UnsetType, Meta(description="With `expand`: content hash of the policy.")
    ] = UNSET
    offer: Annotated[
        OfferDetail | UnsetType, Meta(description="With `expand`: how the offer was priced.")
    ] = UNSET
    schedule: Annotated[
        ScheduleDetail | UnsetType | None,
        Meta(description="With `expand`: the payments; null where nothing is offered."),
    ] = UNSET
    offers: Annotated[
        list[LoanOnOffer] | UnsetType,
        Meta(
            description="With `expand`: a menu of the loans that are not declined, at most twenty "
            "amounts by every term on offer, in rising order."
        ),
    ] = UNSET
    reasons: Annotated[
        list[Reason] | UnsetType,
        Meta(description="With `expand`: why, in words, in the `language` asked for."),
    ] = UNSET


def plain(amount: float) -> float:
    """Give whole money as it was first given, without decimals; databases add them."""
    whole = int(amount)
    return whole if whole == amount else amount


POINTS_DECIMALS: Final = 4
_POINTS_STEPS: Final = 10.0**POINTS_DECIMALS


def score_reply(given: Given) -> bytes:
    """Give the reply of POST /v1/score: the ten fields of the interface, in its order."""
    return encode_json(_reply(given))


def expanded(names: frozenset[str], language: Language) -> Callable[[Given], bytes]:
    """Give a renderer that adds what `expand` named, in this language."""

    def render(given: Given) -> bytes:
        additions = {
            name: EXPANSIONS[name](given, language) for name in EXPANSIONS if name in names
        }
        return encode_json(msgspec.structs.replace(_reply(given), **additions))

    return render


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
        shap_values(said),
        given.request_id,
        given.processing_ms,
        said.offer.product,
    )


def shap_values(said: Assessment) -> list[ShapValue]:
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


def offer_detail(said: Assessment) -> OfferDetail:
    offer, price = said.offer, said.offer.price
    return OfferDetail(
        currency=offer.currency,
        default_probability=offer.default_probability,
        price=PriceParts(
            price.expected_loss, price.running_cost, price.funding, price.margin, price.tax
        ),
        fee=plain(offer.fee),
        expected_loss=plain(offer.expected_loss),
        rules=list(said.rules),
        apr_definition=offer.apr_kind.value,
        aprs=None if offer.aprs is None else AprDefinitions(*astuple(offer.aprs)),
        capped_by=list(offer.capped_by),
        counter_offers=counter_offers(said),
    )


def counter_offers(said: Assessment) -> CounterOffers | None:
    """Give the other loans that would be answered otherwise, if there are any."""
    counter = said.counter
    if counter is None:
        return None
    return CounterOffers(
        None if counter.approved is None else loan_on_offer(counter.approved),
        None if counter.review is None else loan_on_offer(counter.review),
        list(counter.as_asked),
    )


def loan_on_offer(loan: LoanChoice) -> LoanOnOffer:
    return LoanOnOffer(
        loan.decision,
        loan.amount,
        loan.term_days,
        plain(loan.payment),
        loan.payments,
        plain(loan.total),
        loan.apr,
        loan.default_probability,
    )


def _menu(given: Given) -> list[LoanOnOffer]:
    found = menu(given.active.policy, given.application, given.assessment)
    return [loan_on_offer(loan) for loan in found]


def schedule_detail(policy: ReadyPolicy, offer: Offer) -> ScheduleDetail | None:
    """Lay out the payments of what is offered; None where nothing is."""
    if not offer.limit:
        return None
    said = lay_out(policy, offer)
    return ScheduleDetail(
        currency=offer.currency,
        amount=plain(said.amount),
        received=plain(said.received),
        fee=plain(said.fee),
        tax=plain(said.tax),
        interest=plain(said.interest),
        total=plain(said.total),
        payments=[
            ScheduledPayment(one.day, *(plain(part) for part in astuple(one)[1:]))
            for one in said.payments
        ],
    )


EXPANSIONS: Final[dict[str, Callable[[Given, Language], object]]] = {
    "base_score": lambda given, _: base_score(given.assessment),
    "model": lambda given, _: given.active.model.model.id,
    "policy": lambda given, _: given.active.policy.id,
    "offer": lambda given, _: offer_detail(given.assessment),
    "schedule": lambda given, _: schedule_detail(given.active.policy, given.assessment.offer),
    "offers": lambda given, _: _menu(given),
    "reasons": _reasons,
}
"""What `expand` may add, by name."""


# ------------------------------------------------------------------------------ operations


IDEMPOTENCY_KEY_MAX: Final = 255
"""Bytes: what a header holds has no other length."""

TIER_PATTERN: Final = "^[A-Za-z0-9+-]{1,8}$"
"""Which of the names that a tier may have are tiers, the policy of the key says."""

LIMIT_OF_WAYS: Final = Deprecated(date(2026, 11, 18), date(2028, 1, 1))
"""`limit` of /v1/explain, which is `ways`."""

PARAMETERS: Final[dict[str, Json]] = {
    "expand": {
        "name": "expand",
        "in": "query",
        "description": "What to add to the ten fields of the reply, separated by commas, or each "
        "as a parameter of its own.",
        "style": "form",
        "explode": True,
        "schema": {
            "type": "array",
            "minItems": 1,
            "items": {"type": "string", "enum": list(EXPANSIONS)},
        },
        "example": ["base_score", "offer"],
    },
    "language": {
        "name": "language",
        "in": "query",
        "description": "In which language to speak to the applicant.",
        "schema": {"type": "string", "enum": list(LANGUAGES), "default": LANGUAGES[0]},
        "example": "sw",
    },
    "target": {
        "name": "target",
        "in": "query",
        "description": f"What to lead to: `{TARGET_DEFAULT}`, a tier of the policy such as `B` "
        "(or a better one), or a score such as `700` (or more).",
        "schema": {"type": "string", "pattern": TIER_PATTERN, "default": TARGET_DEFAULT},
        "example": TARGET_DEFAULT,
    },
    "ways": {
        "name": "ways",
        "in": "query",
        "description": "How many ways to the target are wanted, at most. No way holds all the "
        "fields of another.",
        "schema": {
            "type": "integer",
            "minimum": 1,
            "maximum": COUNT_MAX,
            "default": COUNT_DEFAULT,
        },
        "example": COUNT_DEFAULT,
    },
    "ways_limit": {
        "name": "limit",
        "in": "query",
        "deprecated": True,
        "description": "The old spelling of `ways`: a limit is what may be lent. It works until "
        f"{LIMIT_OF_WAYS.sunset} at the least; send one of the two.",
        "schema": {"type": "integer", "minimum": 1, "maximum": COUNT_MAX},
    },
    "locked": {
        "name": "locked",
        "in": "query",
        "description": "Fields that must stay as they are, in either spelling, separated by "
        "commas, or each as a parameter of its own. None where it is empty; space around a name "
        "does not count.",
        "style": "form",
        "explode": True,
        "schema": {
            "type": "array",
            "items": {"type": "string", "enum": list(PRODUCT.position)},
        },
        "example": ["requested_amount"],
    },
    "Idempotency-Key": {
        "name": "Idempotency-Key",
        "in": "header",
        "description": "Any text of your own that names this request, such as a UUID. Sent again "
        "within 72 hours, the same request gets the same reply and is stored once. It stands once, "
        f"and has at most {IDEMPOTENCY_KEY_MAX} bytes: a letter beyond ASCII has more than one in "
        "UTF-8.",
        "schema": {
            "type": "string",
            "minLength": 1,
            "maxLength": IDEMPOTENCY_KEY_MAX,
            "pattern": f"[^{SPACE}]",
        },
    },
}

GET_SCORE: Final = Link("getScore", "Read the stored score.", "request_id", "request_id")
GET_RECEIPT: Final = Link("getReceipt", "Prove the score.", "request_id", "request_id")
REVIEW_SCORE: Final = Link("reviewScore", "Say what a person decided.", "request_id", "request_id")


class ScoreEndpoint:
    """Scores applications."""

    def __init__(
        self, admission: Admission, scoring: Scoring, languages: Sequence[Language]
    ) -> None:
        """Take languages, of which the first is that of callers who do not say."""
        self._admission = admission
        self._scoring = scoring
        self._languages = languages

    @Operation(
        path="/v1/score",
        method="POST",
        id="createScore",
        tag="Scores",
        summary="Score an application",
        description="Scores one loan application, decides, prices an offer, and explains the score "
        "field by field. The reply leaves when the score is stored, so a score that you have "
        "received is never lost. Send an `Idempotency-Key` and it is safe to send the same request "
        "again, whatever happened to the first. A test key is answered by the built-in model, "
        "which was trained on a synthetic population; a live key by the lender's own. For a test "
        "key `applicant_ref` may name a fixture of the sandbox, such as `fixture-declined`: what "
        "stands for it is answered and stored in the place of what was sent. Beside the fields "
        "`evidence` may stand, as POST /v1/fields gave it with them: figures that are not those of "
        "their statement are refused, and a doubtful statement is left to a person.",
        scope=Scope.WRITE,
        parameters=("expand", "language", "Idempotency-Key"),
        body="Application",
        requests=("full", "compact"),
        replies={
            200: Success(
                "The score, stored.",
                reference("ScoreReply"),
                headers=(*RATE, "Idempotent-Replayed"),
                examples=("full_reply", "compact_reply", "expanded_reply"),
                links=(GET_SCORE, GET_RECEIPT, REVIEW_SCORE),
            )
        },
        refusals=(
            MalformedDocument,
            BadParameter,
            OnboardingIncomplete,
            ModelUnavailable,
            IdempotencyInFlight,
            Busy,
            BodyTooLarge,
            UnsupportedMediaType,
            InvalidApplication,
            IdempotencyKeyReused,
            Erased,
        ),
        elsewhere="stored scores are read at /v1/scores",
    )
    async def score(self, call: Call) -> Reply:
        caller, headers = await self._admission.admit(call, Scope.WRITE)
        render_reply, query = self._asked(call)
        body, told = evidence.split(await json_body(call))
        caller = evidence.vouched(caller, body, told, call.arrival.at_us)
        once = _once(call, body, query, told)
        answer = await self._scoring.score(caller, call.arrival, body, render_reply, once)
        if answer.replayed:
            headers.append((b"idempotent-replayed", b"true"))
        return private_json(answer.reply, headers)

    def _asked(self, call: Call) -> tuple[Render, bytes]:
        """Give what puts a reply into words, and the query in one form for all ways to write it."""
        if not call.query:
            return score_reply, b""
        asked = parameters.read(call, ("expand", "language"), lists=("expand",))
        names = parameters.expansions(asked.get("expand"), EXPANSIONS)
        language = parameters.language(asked.get("language"), self._languages)
        query = {"expand": ",".join(name for name in EXPANSIONS if name in names)}
        if language is not self._languages[0]:
            query["language"] = language.code
        written = "&".join(f"{name}={value}" for name, value in query.items() if value)
        return expanded(names, language), written.encode()


def _once(call: Call, body: bytes, query: bytes, told: object) -> Once | None:
    key = call.headers.get(b"idempotency-key")
    if key is None:
        return None
    if not 1 <= len(key) <= IDEMPOTENCY_KEY_MAX:
        raise BadParameter(f"Idempotency-Key must have 1 to {IDEMPOTENCY_KEY_MAX} bytes")
    if sum(name == b"idempotency-key" for name, _ in call.scope["headers"]) > 1:
        raise BadParameter("the header Idempotency-Key stands twice")
    if told is None:
        return scoring.only_once(key, body, query, call.query)
    # What came beside the application is a part of the request too.
    beside = b"&evidence=" + str(told).encode()
    return scoring.only_once(key, body, query + beside, call.query + beside)
