"""What Alama answers, as frozen dataclasses.

Members that this version does not know are no error: `raw` has each answer as it came.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import datetime
from functools import cache
from types import UnionType
from typing import Any, Literal, TypedDict, TypeVar, cast, get_args, get_origin, get_type_hints

Language = Literal["en", "sw", "fr"]
Expand = Literal["base_score", "reasons", "model", "policy", "offer", "schedule", "offers"]
ReviewDecision = Literal["APPROVED", "DECLINED"]
ReviewReason = Literal[
    "income_verified",
    "documents_checked",
    "known_customer",
    "guaranteed",
    "data_corrected",
    "cannot_afford",
    "identity_doubted",
    "fraud_suspected",
    "outside_policy",
    "other",
]
OutcomeKind = Literal["repaid", "defaulted", "written_off", "restructured"]


class Application(TypedDict, total=False):
    """The fields of an application; docs/fields.md has their units and ranges.

    Required are months, inflow, stability and regularity, the first three in either spelling.
    """

    mm_months: int
    avg_inflow: float
    avg_outflow: float | None
    avg_balance: float | None
    balance_stability: float
    counterparties: int | None
    tx_frequency: float | None
    weekend_activity: float | None
    airtime_avg: float | None
    airtime_freq: float | None
    airtime_regularity: float
    device_type: str | None
    device_age_months: int | None
    requested_amount: float | None
    requested_term_days: int | None
    loan_purpose: str | None
    region: str | None
    existing_repayments: float | None
    evidence: str | None
    product: str | None
    applicant_ref: str | None
    mobile_money_months: int
    monthly_inflow: float
    stability_score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Something that Alama has answered."""

    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """The JSON as it came, with the members that are not known here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapValue(Answer):
    """What a field is worth, in points; positive raises the score."""

    feature: str
    contribution: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason(Answer):
    """Why, in words for the applicant; a rule has neither a field nor a contribution."""

    code: str
    feature: str | None
    contribution: float | None
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceParts(Answer):
    """What the price is made of, in percent a year."""

    expected_loss: float
    running_cost: float
    funding: float
    margin: float
    tax: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Aprs(Answer):
    """The price by each definition, in percent a year."""

    simple: float
    nominal: float
    effective: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LoanOnOffer(Answer):
    """A loan that could be asked for, and what would be answered."""

    decision: str
    amount: float
    term_days: int
    payment: float
    payments: int
    total: float
    apr: float
    default_probability: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterOffers(Answer):
    """Other loans than the one that was asked for, and is not approved."""

    approved: LoanOnOffer | None
    review: LoanOnOffer | None
    as_asked: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer(Answer):
    """How the recommended loan came about."""

    currency: str
    default_probability: float
    price: PriceParts
    fee: float
    expected_loss: float
    rules: tuple[str, ...]
    apr_definition: str | None = None
    aprs: Aprs | None = None
    capped_by: tuple[str, ...] | None = None
    counter_offers: CounterOffers | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Payment(Answer):
    """One payment of a loan."""

    due_in_days: int
    amount: float
    principal: float
    interest: float
    fee: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule(Answer):
    """The payments of a loan of the recommended limit; every sum agrees to the smallest unit."""

    currency: str
    amount: float
    received: float
    fee: float
    tax: float
    interest: float
    total: float
    payments: tuple[Payment, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision(Answer):
    """A score and what follows from it. `decision` is an open set: expect more words."""

    score: int
    tier: str
    default_probability: float
    decision: str
    recommended_limit: float
    recommended_term_days: int
    recommended_apr: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Score(Decision):
    """The answer to an application. What was not asked for by `expand` is None."""

    request_id: str
    shap_values: tuple[ShapValue, ...]
    processing_ms: int
    base_score: float | None = None
    reasons: tuple[Reason, ...] | None = None
    model: str | None = None
    policy: str | None = None
    offer: Offer | None = None
    schedule: Schedule | None = None
    offers: tuple[LoanOnOffer, ...] | None = None
    product: str | None = None
    """Which product decided; None where the policy has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Review(Answer):
    """What an officer decided."""

    request_id: str
    decision: str
    reason: str
    name: str
    note: str
    reviewed_at: datetime
    given_decision: str
    overrides: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome(Answer):
    """What became of a loan, as far as is known."""

    outcome: str
    date: str
    is_default: bool
    disbursed_amount: float | None
    repaid_amount: float | None
    recorded_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredScore(Score):
    """A score as it is kept, with what was sent and what came of it."""

    created_at: datetime
    mode: str
    key_id: str
    application: Mapping[str, Any]
    evidence: Mapping[str, Any] | None = None
    review: Review | None = None
    outcome: Outcome | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedScore(Decision):
    """A score in a list."""

    request_id: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeResult(Answer):
    """What became of a report on a loan; `result` is `recorded`, `updated`, `unchanged`, ..."""

    request_id: str
    result: str
    is_default: bool | None = None
    message: str | None = None
    """What to do about it, where it was refused."""

    @property
    def refused(self) -> bool:
        """Whether it was not taken as it was said: that raises nothing."""
        return self.message is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoanResult(Answer):
    """What became of an event of a loan; `result` is `recorded`, `corrected`, `unchanged`, ..."""

    loan: str
    result: str
    message: str | None = None
    """What to do about it, where it was refused."""

    @property
    def refused(self) -> bool:
        """Whether it was not taken as it was said: that raises nothing."""
        return self.message is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedValue(Answer):
    """A field, its value, and what that is worth in points."""

    feature: str
    value: float | str | None
    contribution: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Change(Answer):
    """A field that an applicant can change, from one value to another."""

    feature: str
    from_: float | str
    to: float | str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Counterfactual(Decision):
    """A way to the target: what to change, and what the decision would then be."""

    changes: tuple[Change, ...]
    cost: float
    optimal: bool
    within_days: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Obstacle(Answer):
    """What stands in the way where no change leads to the target."""

    code: str
    rule: str | None
    features: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation(Decision):
    """Why an application is decided so, and what would change it. Nothing of it is stored."""

    rules: tuple[str, ...]
    base_score: float
    shap_values: tuple[ExplainedValue, ...]
    reasons: tuple[Reason, ...]
    recourse: str
    counterfactuals: tuple[Counterfactual, ...]
    binding: tuple[Obstacle, ...]
    notice: str | None
    language: str
    target: str
    model: str
    policy: str
    request_id: str
    processing_ms: int
    counter_offers: CounterOffers | None = None
    product: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Health(Answer):
    """Whether Alama can serve: `status` is `ok` or `unavailable`."""

    status: str
    version: str | None = None
    model: str | None = None
    reason: str | None = None

    @property
    def ok(self) -> bool:
        return self.status == "ok"


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnKey(Answer):
    """What the key of the client is; `expires_at` is None where it never ends."""

    id: str
    lender: str
    currency: str
    mode: str
    scopes: tuple[str, ...]
    created_at: datetime
    expires_at: datetime | None
    rate_limit: int
    """Requests a second."""
    burst: int
    """Requests at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending(Answer):
    """Events that have not arrived yet."""

    count: int
    next_attempt_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookEndpoint(Answer):
    """Where events are sent; `kinds` is empty where all are."""

    id: str
    url: str
    kinds: tuple[str, ...]
    description: str
    enabled: bool
    created_at: datetime
    failing_since: datetime | None
    disabled_at: datetime | None
    disabled_reason: str | None
    pending: Pending


@dataclass(frozen=True, slots=True, kw_only=True)
class NewWebhookEndpoint(WebhookEndpoint):
    """An endpoint that was just made. Its secret is never shown again: keep it."""

    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TestSent(Answer):
    """A test event that is on its way; `event` is its id, the `webhook-id` that comes with it."""

    __test__ = False  # or pytest takes it for a test, by its name

    event: str


# ------------------------------------------------------------------------------------------ reading

T = TypeVar("T", bound=Answer)
Json = Any


def read(kind: type[T], data: Json, raw: Json = None) -> T:
    """Make an answer of JSON; `ValueError`, `TypeError` or `KeyError` where that cannot be one."""
    known = {
        name: _value(hint, data[name.rstrip("_")])
        for name, hint in _members(kind).items()  # type: ignore[arg-type]  # classes can be hashed
        if name.rstrip("_") in data
    }
    return kind(**known, raw=raw or data)


@cache
def _members(kind: Json) -> dict[str, Json]:
    hints = get_type_hints(kind)
    return {each.name: hints[each.name] for each in fields(kind) if each.name != "raw"}


def _value(hint: Json, value: Json) -> Json:
    """Make a value of the type that it was announced with."""
    origin: Json = get_origin(hint)
    if origin is UnionType:
        hint = next((choice for choice in get_args(hint) if _fits(choice, value)), hint)
        return _value(hint, value)
    if not _fits(hint, value):
        raise ValueError(f"a value is no {hint}")
    if origin is tuple:
        return tuple(_value(get_args(hint)[0], each) for each in value)
    if is_dataclass(hint):
        return read(cast("type[Answer]", hint), value)
    return datetime.fromisoformat(value) if hint is datetime else value


def _fits(hint: Json, value: Json) -> bool:
    """Whether a value of JSON can be one of a type."""
    origin: Json = get_origin(hint) or hint  # type: ignore[truthy-bool,unreachable]
    if is_dataclass(origin):
        return isinstance(value, dict)
    wire: Json = _WIRE.get(origin) or origin
    return isinstance(value, wire)


_WIRE: dict[Json, Json] = {float: (int, float), datetime: str, tuple: list, Mapping: dict}
