"""Random but sound policies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from alama.core.errors import InvalidPolicy
from alama.core.lending.cash_flow import AprKind
from alama.core.lending.policy import (
    SCHEMA,
    Affordability,
    Caps,
    Decision,
    Fees,
    Kind,
    OwnRule,
    Policy,
    Pricing,
    Product,
    Repayment,
    StandardLoan,
    Sufficiency,
    Tier,
)
from alama.core.lending.policy_check import STEPS_MAX, seal
from alama.core.units import Apr, Money

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.factories import Rng

TERMS_DAYS = (14, 21, 30, 45, 60, 90, 120, 180)
DECISIONS = list(Decision)
STEADY_RULES = (
    "mm_months < 6",
    "avg_outflow / avg_inflow > 1.4",
    "avg_balance < 200 and balance_stability < 0.3",
    "requested_amount > 1.5 * avg_inflow",
    "requested_amount / avg_inflow > 2 or region in ['nairobi']",
    "requested_term_days > 60 and counterparties < 4",
    "requested_amount * requested_term_days > 600_000",
    "not (avg_inflow - existing_repayments >= 4_000)",
    "requested_amount > 5_000",
    "requested_amount > 0.02 * avg_inflow",
    "requested_amount > 0.05 * avg_inflow",
    "requested_amount > 0.3 * avg_inflow and requested_term_days >= 30",
)
CAPPING = (
    "mm_months < 24",
    "requested_term_days > 40",
    "avg_outflow / avg_inflow > 0.9",
    "avg_inflow < 12_000 and requested_term_days >= 30",
)
OTHER_RULES = (
    "mm_months > 60 and avg_balance > 3_000",
    "requested_amount < 1_000",
    "airtime_regularity == 0.5",
    "existing_repayments is missing",
    "requested_amount - avg_inflow < 100 or device_type != 'smartphone'",
)
"""Under these a better value may well worsen a decision."""


def with_parts(policy: Policy, **parts: Mapping[str, Any]) -> Policy:
    """Give a policy with other figures in some of its tables: `caps={"apr_max": 40.0}`."""
    changed = {
        name: msgspec.structs.replace(getattr(policy, name), **changes)
        for name, changes in parts.items()
    }
    return seal(msgspec.structs.replace(policy, **changed))


def random_policy(rng: Rng) -> Policy:
    """Give a sound policy: every figure drawn, the tiers put in order."""
    count = int(rng.integers(1, 6))
    scores = np.sort(rng.choice(np.arange(301, 851), count - 1, replace=False))[::-1]
    step = int(rng.choice([1, 50, 500, 2_000]))
    caps = np.sort(rng.integers(1, min(100_000 // step, STEPS_MAX) + 1, count))[::-1]
    shares = np.sort(rng.random(count))[::-1]
    decisions = np.sort(rng.integers(0, len(DECISIONS), count))
    repayment = random_repayment(rng)
    terms = random_terms(rng, repayment)
    funding, margin = rng.uniform(0.1, 20.0, 2).tolist()
    policy = Policy(
        schema=SCHEMA,
        id="",
        name="random",
        version="1",
        currency="KES",
        standard_loan=StandardLoan(Money(rng.uniform(100, 20_000)), int(rng.choice(terms))),
        tiers=tuple(
            Tier(f"T{n}", int(score), DECISIONS[int(place)], float(share), int(cap) * step)
            for n, (score, place, share, cap) in enumerate(
                zip([*scores, 300], decisions, shares, caps, strict=True)
            )
        ),
        terms_days=tuple(terms),
        limit_step=step,
        rules=random_rules(rng),
        affordability=Affordability(
            existing_repayments_share=one_of(rng, 0.0, 0.1),
            outflow_ratio_max=one_of(rng, None, 0.9, 1.3),
        ),
        sufficiency=Sufficiency(
            fields_min=one_of(rng, 0, 5, 9),
            outside_times=one_of(rng, None, 1.0, 2.0),
            unlike_share=one_of(rng, None, 0.01),
        ),
        pricing=Pricing(
            loss_given_default=rng.uniform(0.0, 0.95),
            cost_per_loan=Money(rng.uniform(0.0, 200.0)),
            cost_share=rng.uniform(0.0, 0.05),
            funding=Apr(funding),
            margin=Apr(margin),
            fee_per_loan=Money(one_of(rng, 0.0, 0.0, 30.0)),
            fee_share=one_of(rng, 0.0, 0.0, 0.0003),
        ),
        caps=Caps(
            apr_max=Apr(funding + margin + rng.uniform(0.1, 200.0)),
            below_break_even=DECISIONS[int(rng.integers(1, 3))],
            charges_max=one_of(rng, None, 0.2, 1.0),
        ),
        repayment=repayment,
    )
    # By dice of their own: what is drawn after them stays what it was.
    capping = random_capping_rules(rng.spawn(1)[0], policy)
    policy = msgspec.structs.replace(policy, rules=policy.rules + capping)
    try:
        return seal(policy)
    except InvalidPolicy:  # a fee that is deducted, and is too much for the cap
        return with_parts(policy, repayment={"fees": Fees.ADDED})


def random_products(rng: Rng, policy: Policy) -> Policy:
    """Give the policy with some products, each with tables of others in the place of its own."""
    count = int(rng.integers(1, 4))
    products = [random_product(rng, policy, f"product_{place}") for place in range(count)]
    default = int(rng.integers(count))
    products[default] = msgspec.structs.replace(products[default], default=True)
    try:
        return seal(msgspec.structs.replace(policy, products=tuple(products)))
    except InvalidPolicy:  # a fee that is deducted, and is too much for the cap
        return seal(msgspec.structs.replace(policy, products=(Product("product_0", default=True),)))


def random_product(rng: Rng, policy: Policy, name: str) -> Product:
    """Give a product: terms go with their payments, a price with its caps."""
    terms, price = random_policy(rng), random_policy(rng)
    own: dict[str, Any] = {}
    if rng.random() < 0.7:
        keys = ("terms_days", "standard_loan", "repayment")
        own |= {key: getattr(terms, key) for key in keys}
        if isinstance(terms.repayment, msgspec.UnsetType) or rng.random() < 0.2:
            own["repayment"] = Repayment(kind=Kind.BULLET)
    if rng.random() < 0.5:
        own |= {"pricing": price.pricing, "caps": price.caps}
    if rng.random() < 0.5:
        smaller = float(rng.uniform(0.2, 1.0))
        own["tiers"] = tuple(
            msgspec.structs.replace(
                tier,
                inflow_share=tier.inflow_share * smaller,
                limit_max=max(int(tier.limit_max // policy.limit_step * smaller), 1)
                * policy.limit_step,
            )
            for tier in policy.tiers
        )
    return Product(name, **own)


def random_repayment(rng: Rng) -> Repayment | msgspec.UnsetType:
    """Give a way to repay, or none, as older policies have it."""
    if rng.random() < 0.2:
        return msgspec.UNSET
    return Repayment(
        kind=one_of(rng, *Kind),
        every_days=one_of(rng, 7, 14, 30),
        fees=one_of(rng, *Fees),
        saving=one_of(rng, 0.0, 0.5, 1.0),
        payment_share_max=one_of(rng, None, 0.1, 0.8),
        fee_tax=one_of(rng, 0.0, 0.2),
        capped_apr=one_of(rng, *AprKind),
        shown_apr=one_of(rng, *AprKind),
    )


def random_terms(rng: Rng, repayment: Repayment | msgspec.UnsetType) -> list[int]:
    """Give terms in rising order, each of whole periods."""
    days: Sequence[int] = TERMS_DAYS
    if not isinstance(repayment, msgspec.UnsetType) and repayment.kind is Kind.INSTALMENTS:
        days = [repayment.every_days * count for count in (1, 2, 3, 4, 6)]
    drawn = rng.choice(days, rng.integers(1, 5), replace=False).tolist()
    return sorted({int(days[2]), *drawn})


def one_of(rng: Rng, *choices: Any) -> Any:
    return choices[int(rng.integers(len(choices)))]


def random_capping_rules(rng: Rng, policy: Policy) -> tuple[OwnRule, ...]:
    """Give rules that bound the limit, in every fifth policy."""
    if rng.random() < 0.8:
        return ()
    most = policy.tiers[0].limit_max // policy.limit_step
    chosen = rng.choice(len(CAPPING), int(rng.integers(1, 3)), replace=False)
    return tuple(
        OwnRule(
            f"cap_{place}",
            CAPPING[int(place)],
            limit_max=int(rng.integers(1, most + 1)) * policy.limit_step,
        )
        for place in chosen
    )


def random_rules(rng: Rng) -> tuple[OwnRule, ...]:
    pool = STEADY_RULES if rng.random() < 0.7 else STEADY_RULES + OTHER_RULES
    chosen = rng.choice(len(pool), int(rng.choice([0, 1, 2, 4])), replace=False)
    return tuple(
        OwnRule(f"rule_{place}", pool[int(place)], DECISIONS[int(rng.integers(1, 3))])
        for place in chosen
    )
