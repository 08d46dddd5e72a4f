"""The lending policy: a lender's appetite as one text that a risk officer can own.

It turns a score into a tier and a decision, and says what may be offered and how it is priced. It
is written in TOML, and named by the hash of what it says: comments and layout may change, a figure
may not. So a stored decision says for ever which policy made it. Money is in units of the policy's
currency; a *share* is 0 to 1; rates are percent a year.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from alama.core.document import Document
from alama.core.lending.cash_flow import AprKind
from alama.core.units import Apr, Money

if TYPE_CHECKING:
    from collections.abc import Iterator


SCHEMA: Final = "alama.policy/1"


class Decision(StrEnum):
    """What is said to the applicant, the best first. An open set for those who read replies."""

    APPROVED = "APPROVED"
    REVIEW = "REVIEW"
    DECLINED = "DECLINED"


SEVERITY: Final = {decision: rank for rank, decision in enumerate(Decision)}


class Rule(StrEnum):
    """What can decide against an application in every policy. The codes are public and stay.

    A policy's own rules go by the names that it gives them.
    """

    TIER_BELOW_CUTOFF = "tier_below_cutoff"
    TIER_IN_REVIEW = "tier_in_review"
    UNAFFORDABLE = "unaffordable"
    OFFER_BELOW_CUTOFF = "offer_below_cutoff"
    BELOW_BREAK_EVEN = "below_break_even"
    OUTFLOW_ABOVE_INFLOW = "outflow_above_inflow"
    TOO_FEW_FIELDS = "too_few_fields"
    VALUE_OUTSIDE_TRAINING = "value_outside_training"
    UNLIKE_TRAINING = "unlike_training"
    SELDOM_BOOKED = "seldom_booked"
    LATE_ON_A_LOAN = "late_on_a_loan"
    ASKED_OFTEN = "asked_often"
    EXPOSURE = "exposure"
    LADDER = "ladder"
    BLOCKED = "blocked"
    WATCHED = "watched"
    EXPLORED = "explored"
    SHADOW = "shadow"
    PAUSED = "paused"
    DAILY_VOLUME = "daily_volume"
    DAILY_EXPECTED_LOSS = "daily_expected_loss"
    STATEMENT_DOUBTFUL = "statement_doubtful"


HOLDS: Final = frozenset(
    {
        Rule.SHADOW,
        Rule.PAUSED,
        Rule.DAILY_VOLUME,
        Rule.DAILY_EXPECTED_LOSS,
        Rule.STATEMENT_DOUBTFUL,
    }
)
"""Rules of the lender's day, or of what came beside the application: all is left to a person."""


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of the policy: a key that it does not have is a typing error."""


class StandardLoan(_Part, frozen=True):
    """What is taken to be asked for where an application does not say."""

    amount: Money
    term_days: int


class Tier(_Part, frozen=True):
    """Scores of at least `score_min` that no better tier has, and how they are treated.

    What falls due per 30 days, all loans together, may take `inflow_share` of the monthly inflow;
    no limit goes beyond `limit_max`.
    """

    name: str
    score_min: int
    decision: Decision
    inflow_share: float
    limit_max: int


class OwnRule(_Part, frozen=True):
    """Where `when` is true the decision is this one or a worse one; `says` tells people why.

    A rule may bound the limit instead, or as well: then no loan is above `limit_max`.
    """

    name: str
    when: str
    decision: Decision | msgspec.UnsetType = msgspec.UNSET
    says: str = ""
    limit_max: int | msgspec.UnsetType = msgspec.UNSET


class Affordability(_Part, frozen=True):
    """What an inflow has to carry beside the loan.

    Spending of more than `outflow_ratio_max` times the inflow is left to a person; None: it is not
    looked at. Where an application does not say what is repaid on other loans, this share of the
    inflow is taken to be: silence must not earn a larger loan than an ordinary answer would.
    """

    existing_repayments_share: float
    outflow_ratio_max: float | None = None


class Sufficiency(_Part, frozen=True):
    """When the data do not carry a decision, and a person has to look; None: not looked at.

    `fields_min` counts the model's fields that are given, but for the loan that is asked for. A
    number `outside_times` beyond the largest or below the smallest that training saw is outside.
    `unlike_share` leaves applications to a person that are stranger than all but this share of
    those in training, and those that were seldom booked in a history that the model knows.
    """

    fields_min: int = 0
    outside_times: float | None = None
    unlike_share: float | None = None


class Pricing(_Part, frozen=True):
    """What a loan has to earn; `alama.core.lending.pricing` has the arithmetic.

    `loss_given_default` is the share of what is due that a default loses. Running a loan costs
    `cost_per_loan` in money and `cost_share` of its amount, once, whatever its term. A part of the
    price is taken as a fee of `fee_per_loan` and `fee_share` of the amount, the rest as interest.
    """

    loss_given_default: float
    cost_per_loan: Money
    cost_share: float
    funding: Apr
    margin: Apr
    fee_per_loan: Money = Money(0.0)
    fee_share: float = 0.0


class Kind(StrEnum):
    """How a loan is repaid: at once on its last day, or in equal payments."""

    BULLET = "bullet"
    INSTALMENTS = "instalments"


class Fees(StrEnum):
    """How a fee is taken: out of what is paid out, or on top of what is paid back."""

    DEDUCTED = "deducted"
    ADDED = "added"


class Repayment(_Part, frozen=True):
    """When a loan is paid back, what a payment may be, and what is meant by its yearly rate.

    Instalments are due every `every_days`. Each payment has to fit into the room of the days since
    the one before; of a loan that is repaid at once, the share `saving` of earlier room counts too.
    No payment is above `payment_share_max` of a month's inflow; None: that is not looked at. The
    state takes `fee_tax` times the fee on top of it. `capped_apr` is the definition by which
    `caps.apr_max` is held, `shown_apr` that of the price that a reply gives.
    """

    kind: Kind = Kind.BULLET
    every_days: int = 30
    fees: Fees = Fees.ADDED
    saving: float = 0.5
    payment_share_max: float | None = None
    fee_tax: float = 0.0
    capped_apr: AprKind = AprKind.NOMINAL
    shown_apr: AprKind = AprKind.NOMINAL


UNSAID: Final = Repayment(saving=1.0, capped_apr=AprKind.SIMPLE, shown_apr=AprKind.SIMPLE)
"""What a policy means that does not speak of repayment: all of the earlier room counts."""


class Borrowing(_Part, frozen=True):
    """What earlier applications and loans of a borrower may be; None: it is not looked at.

    Who asked `asked_per_day_max` times in the 24 hours before is left to a person; whose payment is
    later than `late_days_max` gets no other loan. Of those who are not named nothing is known.
    """

    late_days_max: int | None = None
    asked_per_day_max: int | None = None


class Exposure(_Part, frozen=True):
    """What a borrower may owe in all, the new loan included."""

    balance_max: Money


class Ladder(_Part, frozen=True):
    """How loans grow: what is owed in all, at most `first_limit` or `times` the largest repaid."""

    first_limit: Money
    times: float


class Caps(_Part, frozen=True):
    """What the law, or the lender, lets a price be at most, fees included.

    `charges_max` bounds interest and fees together as a share of the amount (1: in duplum).
    A loan that loses money at the cap is not offered; where no other is left the decision is
    `below_break_even`.
    """

    apr_max: Apr
    below_break_even: Decision
    charges_max: float | None = None


class Daily(_Part, frozen=True):
    """What may be approved in one day before a person has to look at the rest; None: no bound.

    `volume_max` is the sum of limits; `expected_loss_max` that of what they are expected to lose.
    The day begins at midnight of a clock this many hours ahead of UTC.
    """

    volume_max: Money | None = None
    expected_loss_max: Money | None = None
    utc_offset_hours: int = 0


class Per(StrEnum):
    """For how long a cap of the portfolio adds up what is approved; by the clock of `Daily`."""

    DAY = "day"
    MONTH = "month"


class PortfolioCap(_Part, frozen=True):
    """What may be approved of some loans in a while; beyond it the decision is this one.

    It counts the loans of the regions, tiers and products that it lists, or of all where a list is
    empty: how many, their limits together, and what these are expected to lose. A loan that would
    take any of the three beyond its bound is not approved; None: no bound.
    """

    name: str
    per: Per
    number_max: int | None = None
    volume_max: Money | None = None
    expected_loss_max: Money | None = None
    regions: tuple[str, ...] = ()
    tiers: tuple[str, ...] = ()
    decision: Decision = Decision.REVIEW
    says: str = ""
    # Left out of the document where it is not said, so that older policies keep their ids.
    products: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET


class Exploration(_Part, frozen=True):
    """Which applications just below the cut-off are approved by lot, to learn what they repay.

    Those whom nothing but their tier is against, with a score of `score_min` or more, are in the
    cell. The share of them that the lot falls on gets a loan of at most `limit_max`; `daily_max`
    of them in a day.
    """

    share: float
    score_min: int
    limit_max: int
    daily_max: int


class Law(_Part, frozen=True):
    """What the place asks for beside a price: how long to keep records, how long to give notice.

    A request that holds one of `forbidden_fields` is refused.
    """

    retention_days: int | None = None
    notice_days: int | None = None
    forbidden_fields: tuple[str, ...] = ()


class AskedEvidence(_Part, frozen=True):
    """What figures have to stand on.

    Where it is `required` an application comes with the evidence of a statement. One that ends more
    than `days_max` days before the day of application is doubtful; None: the usual number.
    """

    required: bool = False
    days_max: int | None = None


class CounterOffers(StrEnum):
    """What follows where another loan would be approved than the one asked for.

    It is told beside the decision; or it is approved instead, at its own limit; or nothing is said.
    """

    SHOW = "show"
    APPROVE = "approve"
    NONE = "none"


class Product(_Part, frozen=True):
    """One of several kinds of loans under a policy; what it does not say is the policy's.

    Each key stands in the place of the policy's whole table of that name. Who names no product gets
    the default one.
    """

    name: str
    default: bool = False
    terms_days: tuple[int, ...] | msgspec.UnsetType = msgspec.UNSET
    limit_step: int | msgspec.UnsetType = msgspec.UNSET
    standard_loan: StandardLoan | msgspec.UnsetType = msgspec.UNSET
    tiers: tuple[Tier, ...] | msgspec.UnsetType = msgspec.UNSET
    pricing: Pricing | msgspec.UnsetType = msgspec.UNSET
    caps: Caps | msgspec.UnsetType = msgspec.UNSET
    repayment: Repayment | msgspec.UnsetType = msgspec.UNSET

    @property
    def own(self) -> dict[str, object]:
        """Give what it says in the policy's place."""
        said = msgspec.structs.asdict(self)
        return {
            key: value
            for key, value in said.items()
            if key not in {"name", "default"} and value is not msgspec.UNSET
        }


class Policy(Document, frozen=True, forbid_unknown_fields=True):
    """The whole policy. Tiers stand best first, terms shortest first; limits are whole steps."""

    name: str
    version: str
    currency: str
    terms_days: tuple[int, ...]
    limit_step: int
    standard_loan: StandardLoan
    tiers: tuple[Tier, ...]
    affordability: Affordability
    pricing: Pricing
    caps: Caps
    jurisdiction: str = "neutral"
    rules: tuple[OwnRule, ...] = ()
    sufficiency: Sufficiency = Sufficiency()
    daily: Daily = Daily()
    law: Law = Law()
    # Left out of the document where it is not said, so that older policies keep their ids.
    repayment: Repayment | msgspec.UnsetType = msgspec.UNSET
    borrower: Borrowing | msgspec.UnsetType = msgspec.UNSET
    exposure: Exposure | msgspec.UnsetType = msgspec.UNSET
    ladder: Ladder | msgspec.UnsetType = msgspec.UNSET
    counter_offers: CounterOffers | msgspec.UnsetType = msgspec.UNSET
    portfolio: tuple[PortfolioCap, ...] | msgspec.UnsetType = msgspec.UNSET
    exploration: Exploration | msgspec.UnsetType = msgspec.UNSET
    evidence: AskedEvidence | msgspec.UnsetType = msgspec.UNSET
    products: tuple[Product, ...] | msgspec.UnsetType = msgspec.UNSET


def products_of(policy: Policy) -> tuple[Product, ...]:
    """Give the products of a policy, the default one first; none where it does not speak of any."""
    said = policy.products
    if isinstance(said, msgspec.UnsetType):
        return ()
    return tuple(sorted(said, key=lambda product: not product.default))


def products_under(cap: PortfolioCap) -> tuple[str, ...]:
    """Give the products that a cap lists; none: it is on all."""
    return () if isinstance(cap.products, msgspec.UnsetType) else cap.products


def policy_of(policy: Policy, product: Product) -> Policy:
    """Give the policy as it is for one product, under the id of the whole."""
    return msgspec.structs.replace(policy, **product.own, products=msgspec.UNSET)


# ------------------------------------------------------------------------------------------ changes


_NO_CONTENT: Final = frozenset({"schema", "id"})


class Change(NamedTuple):
    """A key whose value differs; None on the side that does not have it."""

    key: str
    old: str | None
    new: str | None


def changes(old: Policy, new: Policy) -> tuple[Change, ...]:
    """Compare two policies key by key; tiers and rules are the same where their names are.

    The keys stand in the order of the new policy, those that it has not at the end.
    """
    before = dict(_flat("", msgspec.to_builtins(old)))
    after = dict(_flat("", msgspec.to_builtins(new)))
    keys = dict.fromkeys([*after, *before])
    return tuple(
        Change(key, before.get(key), after.get(key))
        for key in keys
        if before.get(key) != after.get(key)
    )


def _flat(path: str, value: object) -> Iterator[tuple[str, str]]:
    """Walk down to single values: `tiers.A.score_min` is 690."""
    match value:
        case None:
            pass
        case dict():
            for key, inner in value.items():
                if path or key not in _NO_CONTENT:
                    yield from _flat(f"{path}.{key}" if path else key, inner)
        case list() | tuple() if value and isinstance(value[0], dict):
            for table in value:
                named = {key: inner for key, inner in table.items() if key != "name"}
                yield from _flat(f"{path}.{table['name']}", named)
        case list() | tuple():
            if value:
                yield path, ", ".join(map(_written, value))
        case _:
            yield path, _written(value)


def _written(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return f"{value:,.12g}"
    return str(value)
