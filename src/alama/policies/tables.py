"""A policy in tables for people: what is wrong with it, what it says, what its loans cost."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from rich.text import Text

from alama.batch.listing import number
from alama.core import calibration
from alama.core.lending.policy import Caps, Daily, Decision, OwnRule, Policy, Sufficiency, Tier
from alama.core.units import Points, Probability
from alama.platform.terminal.tables import facts, plain_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.table import Table

    from alama.core.errors import PolicyFault
    from alama.core.lending.policy_check import Unsteady
    from alama.core.lending.pricing import Tariff
    from alama.core.lending.ready_policy import ReadyPolicy
    from alama.scoring.holds import Approved


_DIGITS: Final = 12
_AT_CAP: Final = "*"
_LOSES: Final = "!"
_MEANINGS: Final = {
    _AT_CAP: "at the cap: the margin is cut",
    _LOSES: "below break-even at the cap: such a loan is not offered",
}


def short_id(policy_id: str) -> str:
    """Give the digits by which a person can name a policy."""
    return policy_id.removeprefix("sha256:")[:_DIGITS]


def fault_table(faults: Sequence[PolicyFault]) -> Table:
    """List what is wrong, in the order of the text."""
    table = plain_table("line", "key", "what is wrong")
    table.columns[0].justify = "right"
    for fault in faults:
        table.add_row("" if fault.line is None else str(fault.line), fault.key, fault.fault)
    return table


def doubt_table(doubts: Sequence[PolicyFault]) -> Table:
    """List what is sound and deserves a second look."""
    table = fault_table(doubts)
    table.columns[2].header = "worth a second look"
    return table


# ------------------------------------------------------------------------ what it says


def summary(ready: ReadyPolicy) -> Table:
    """Say where a policy lends, for how long, at what price at most and how much in a day."""
    policy = ready.policy
    rows = [
        ("jurisdiction", policy.jurisdiction),
        ("terms", _terms(ready)),
        ("price at most", _caps(policy.caps)),
        ("in a day", _daily(policy.currency, policy.daily)),
        ("to a person", _referrals(policy)),
    ]
    if not policy.rules:
        rows.append(("own rules", "none"))
    return facts(rows)


def _referrals(policy: Policy) -> str:
    """Say which applications are left to a person whatever their tier."""
    asked, ratio = policy.sufficiency, policy.affordability.outflow_ratio_max
    found = []
    if ratio is not None:
        found.append(f"outflow above {number(ratio)} times the inflow")
    if asked.fields_min:
        found.append(f"fewer than {asked.fields_min} fields")
    if asked.outside_times is not None:
        found.append(f"a value {number(asked.outside_times)} times beyond training")
    if asked.unlike_share is not None:
        found.append(f"stranger than all but {number(100 * asked.unlike_share)} % of training")
    said = "; ".join(found) or "nothing beside tiers and rules"
    return said if asked != Sufficiency() else f"{said}; [sufficiency] asks for nothing"


def _terms(ready: ReadyPolicy) -> str:
    said = f"{_listed(ready.terms_days)} days"
    if unknown := [days for days in ready.policy.terms_days if days not in ready.terms_days]:
        said += f"; {_listed(unknown)} not offered: the model learned on no such loans"
    return said


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))


def _caps(caps: Caps) -> str:
    said = f"{number(caps.apr_max)} % a year"
    if caps.charges_max is not None:
        said += f"; interest and fees together {number(100 * caps.charges_max)} % of the amount"
    return said


def _daily(currency: str, daily: Daily) -> str:
    bounds = []
    if daily.volume_max is not None:
        bounds.append(f"{currency} {number(daily.volume_max)} approved")
    if daily.expected_loss_max is not None:
        bounds.append(f"{currency} {number(daily.expected_loss_max)} expected to be lost")
    if not bounds:
        return "no bound"
    return f"at most {' and '.join(bounds)}; it begins at midnight of UTC{_offset(daily)}"


def day_so_far(policy: Policy, approved: Approved) -> str:
    """Say what was approved of what a day may bring; nothing where the policy bounds no day."""
    daily, currency = policy.daily, policy.currency
    parts, reached = [], False
    for most, so_far, what in (
        (daily.volume_max, approved.volume, "approved"),
        (daily.expected_loss_max, approved.expected_loss, "expected to be lost"),
    ):
        if most is not None:
            parts.append(f"{currency} {so_far:,.0f} of {number(most)} {what}")
            reached = reached or so_far >= most
    said = ", ".join(parts)
    return f"{said}; every decision is REVIEW until the next day" if reached else said


def _offset(daily: Daily) -> str:
    return f"{daily.utc_offset_hours:+}" if daily.utc_offset_hours else ""


def rule_table(rules: Sequence[OwnRule]) -> Table:
    """List a policy's own rules."""
    table = plain_table("rule", "decision", "when")
    table.columns[1].no_wrap = True
    for rule in rules:
        table.add_row(rule.name, rule.decision.value, rule.when)
    return table


def tier_table(policy: Policy) -> Table:
    """Show who is in each tier, and how they are treated."""
    limit = f"limit, {policy.currency}"
    table = plain_table("tier", "score", "default", "decision", "of inflow", limit)
    for place in (4, 5):
        table.columns[place].justify = "right"
    for tier, score, chance in zip(
        policy.tiers, _scores(policy.tiers), _chances(policy.tiers), strict=True
    ):
        table.add_row(
            tier.name,
            score,
            chance,
            tier.decision.value,
            f"{number(100 * tier.inflow_share)}%",
            f"up to {number(tier.limit_max)}",
        )
    return table


def _scores(tiers: Sequence[Tier]) -> Iterator[str]:
    yield f"from {tiers[0].score_min}"
    for better, tier in pairwise(tiers):
        yield f"{tier.score_min} to {better.score_min - 1}"


def _chances(tiers: Sequence[Tier]) -> Iterator[str]:
    """Give the default probabilities of each tier, from its best score to its worst."""
    yield f"up to {_edge_probability(tiers[0]):.1%}"
    for better, tier in pairwise(tiers):
        yield f"{100 * _edge_probability(better):.1f} to {_edge_probability(tier):.1%}"


# ------------------------------------------------------------------------ what its loans cost


def price_table(policy: ReadyPolicy) -> Table:
    """Show what the standard loan costs at the lowest score of each tier that lends, by term.

    That is where a tier is riskiest: a price that loses money there does so for a part of the tier.
    """
    amount = policy.standard_loan.amount
    table = plain_table("tier", "score", "default", *(f"{d} days" for d in policy.terms_days))
    money = f"{policy.currency} {number(amount)}"
    table.title = f"APR of {money} at the lowest score of each tier, percent"
    table.title_justify = table.caption_justify = "left"
    table.title_style = table.caption_style = ""
    for column in table.columns[1:]:
        column.justify = "right"
    marks = set()
    for tier in policy.tiers:
        if tier.decision is not Decision.DECLINED:
            chance = _edge_probability(tier)
            cells = [_price(tariff, chance, amount) for tariff in policy.tariffs]
            marks |= {cell.plain[-1] for cell in cells}
            table.add_row(tier.name, str(tier.score_min), f"{chance:.1%}", *cells)
    said = [f"{mark} {meaning}" for mark, meaning in _MEANINGS.items() if mark in marks]
    table.caption = "\n".join(said) or None
    return table


def _edge_probability(tier: Tier) -> Probability:
    return calibration.shown_probability(Points(float(tier.score_min)))


def _price(tariff: Tariff, probability: Probability, amount: float) -> Text:
    apr = tariff.apr(probability, amount)
    if amount < tariff.amount_min(probability):
        return Text(f"{apr:.1f}{_LOSES}", style="red")
    return Text(f"{apr:.1f}{_AT_CAP}" if apr >= tariff.apr_max else f"{apr:.1f} ")


# ------------------------------------------------------------------------ the certificate


def certificate(policy: Policy, unsteady: Sequence[Unsteady]) -> Text:
    """Say whether a better value can worsen a decision."""
    if unsteady:
        lines = ["Not certified as monotone: a better value can worsen a decision."]
        lines += [f"  rule {one.rule}: {one.why}" for one in unsteady]
        return Text("\n".join(lines))
    said = (
        "Certified as monotone: a better value of a field that has a direction never worsens the "
        "decision."
    )
    asked = policy.sufficiency
    if asked.outside_times is not None or asked.unlike_share is not None:
        said += " Apart from values that training hardly saw: they are left to a person."
    return Text(said)
