"""What a simulation says of money: in sentences, and as tables that leave for a spreadsheet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from alama.core.lending.earnings import KNOWN_MIN, CutOff, Earned, Sum, Verdict, cut_offs
from alama.core.lending.policy import Decision, Policy
from alama.platform.files.sheets import Sheet
from alama.platform.pages import numbers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from alama.core.lending.simulation import Simulation
    from alama.platform.files.sheets import Cell


OLD: Final = "old"
NEW: Final = "new"


def cut_off_of(policy: Policy) -> int | None:
    """Give the score from which on a policy approves; None where it approves nobody."""
    approving = [tier.score_min for tier in policy.tiers if tier.decision is Decision.APPROVED]
    return min(approving, default=None)


def table_of_cut_offs(simulation: Simulation) -> Sequence[CutOff]:
    """Give what lending down to each score would earn, by the new policy's prices."""
    return cut_offs(simulation.bands)


def not_told_apart(table: Sequence[CutOff]) -> tuple[int, int] | None:
    """Give the lowest and the highest cut-off of those that earn as much as the best, or may."""
    best = next((at for at, one in enumerate(table) if one.is_best), None)
    if best is None:
        return None
    first = last = best
    while first > 0 and table[first - 1].told is Verdict.UNCLEAR:
        first -= 1
    while last + 1 < len(table) and table[last + 1].told is Verdict.UNCLEAR:
        last += 1
    return table[last].low, table[first].low


# -------------------------------------------------------------------------------------- sentences


def sentences(simulation: Simulation) -> Iterator[str]:
    """Say what the money comes to, what is certain of it, and what nobody can know."""
    yield _expected(simulation)
    if simulation.unremembered:
        count = numbers.plural(simulation.unremembered, "application")
        yield (
            f"Nothing is known of the earlier applications and loans of {count}: what a policy "
            "asks of a borrower's past is taken to be in order there."
        )
    yield from _realised(simulation)
    yield from _unseen(simulation)
    yield from _best(simulation)


def _expected(simulation: Simulation) -> str:
    paired, currency = simulation.paired, simulation.new.policy.currency
    if paired.verdict is Verdict.SAME:
        return "Both policies earn the same: every loan and every price is alike."
    more = _more(paired.verdict, paired.expected, currency)
    return f"As the model expects it, {more}."


def _realised(simulation: Simulation) -> Iterator[str]:
    paired, currency = simulation.paired, simulation.new.policy.currency
    if paired.known == 0 or paired.real_verdict is Verdict.SAME:
        return
    count = numbers.plural(paired.known, "loan")
    if paired.real_verdict is Verdict.UNKNOWN:
        yield f"The outcome of {count} is known: too few to say what came of it."
        return
    more = _more(paired.real_verdict, paired.realised, currency)
    yield f"As it came, by the {count} whose outcome is known, {more}."


def _more(verdict: Verdict, apart: Sum, currency: str) -> str:
    """Say which policy earns more, and how sure that is."""
    low, high = apart.interval
    if verdict is Verdict.UNCLEAR:
        between = numbers.between(_signed(low, currency), _signed(high, currency))
        return f"no difference in profit can be told: it lies anywhere from {between}"
    if verdict is Verdict.LESS:
        low, high = -high, -low
    amount = numbers.money(abs(apart.value), currency)
    between = numbers.between(numbers.large(low), numbers.large(high))
    word = "more" if verdict is Verdict.MORE else "less"
    return f"the new policy earns {amount} {word} ({between})"


def _signed(amount: float, currency: str) -> str:
    sign = "+" if amount > 0.0 else ""
    return f"{currency}{numbers.NO_BREAK}{sign}{numbers.large(amount)}"


def _unseen(simulation: Simulation) -> Iterator[str]:
    """Say of how many of those whom only the new policy lends to nobody knows anything."""
    let_in = simulation.let_in
    if not let_in.loans:
        return
    met = numbers.plural(let_in.loans, "applicant")
    if not let_in.known:
        yield (
            f"Of the {met} whom only the new policy would lend to, no outcome is known: how they "
            "would have repaid, no figure here can tell. A share of them lent to by chance would "
            "show it ([exploration] in the policy)."
        )
        return
    known = f"Of the {met} whom only the new policy would lend to, the outcome of "
    known += f"{numbers.count(let_in.known)} is known"
    if simulation.explored:
        stand = numbers.count(round(let_in.weight))
        known += f"; weighed by the chance with which they were lent to, they stand for {stand}"
    rate, interval = let_in.bad_rate, let_in.bad_rate_interval
    if let_in.known < KNOWN_MIN or interval is None:
        yield f"{known}: too few to tell a default rate."
        return
    between = numbers.between(numbers.percent(interval.low), numbers.percent(interval.high))
    yield (
        f"{known}. {numbers.percent(rate)} of them defaulted ({between}), where "
        f"{numbers.percent(let_in.predicted_rate)} was predicted."
    )


def _best(simulation: Simulation) -> Iterator[str]:
    table = table_of_cut_offs(simulation)
    best, alike = next((one for one in table if one.is_best), None), not_told_apart(table)
    if best is None or alike is None or not best.above.loans:
        return
    low, high = alike
    said = f"Profit is expected to be the largest where scores from {best.low} on are lent to"
    if low != high:
        said += f"; cut-offs from {low} to {high} cannot be told apart from it"
    now = cut_off_of(simulation.new.policy)
    whose = "The default product of the" if simulation.new.earned_by_product else "The"
    yield said + ("." if now is None else f". {whose} new policy approves from {now} on.")


# ----------------------------------------------------------------------------------------- tables


_NAMED: Final = ("name", "policy")
_MONEY: Final = (
    *("applications", "loans", "amount", "income", "funding", "cost", "tax", "expected_loss"),
    *("profit", "profit_low", "profit_high"),
    *("known", "stand_for", "default_rate", "default_rate_low", "default_rate_high"),
    *("predicted_rate", "realised_loss", "realised_profit"),
    *("realised_profit_low", "realised_profit_high", "expected_profit_of_known"),
    *("defaults_valued", "loss_given_default", "loss_given_default_assumed"),
)
_CUT_OFF: Final = (
    *("score_from", "score_to", "applications", "share", "approved", "lendable"),
    *("predicted_rate_of_lendable", "known", "default_rate", "default_rate_low"),
    *("default_rate_high", "profit", "realised_profit", "profit_from_here_up"),
    *("realised_profit_from_here_up", "best", "best_earns"),
)


_MEANINGS: Final = {
    "policy": "old or new; swaps go by the new one's price, or the old one's where it alone lends",
    "applications": "decided",
    "loans": "approved",
    "amount": "limits of the approved, in money, as all that follows but counts, shares and rates",
    "income": "charges, fees included, had every loan been repaid",
    "funding": "what the money lent costs",
    "cost": "running cost",
    "tax": "on the charges",
    "expected_loss": "as the model expects it",
    "profit": "income less funding, cost, tax and expected loss",
    "profit_low, profit_high": "95 times in 100 profit lies between, if the model is right",
    "known": "loans whose outcome is known; the columns after it are of these alone",
    "stand_for": "how many loans they stand for, weighed by the chance with which each was given",
    "default_rate": "share of these that defaulted, weighed alike; with its 95 % interval",
    "predicted_rate": "share of these that was expected to default",
    "realised_loss": "what their defaults lost",
    "realised_profit": "profit as it came; with its 95 % interval",
    "expected_profit_of_known": "what was expected of the same loans",
    "defaults_valued": "defaults of which it is known how much came back",
    "loss_given_default": "share of what was due that these lost",
    "loss_given_default_assumed": "what the policy assumes of it",
    "score_from, score_to": "scores by the model that the cut-off would lie among",
    "share": "of all applications",
    "approved": "by the new policy",
    "lendable": "those against whom nothing but the score may be",
    "predicted_rate_of_lendable": "share of these that is expected to default",
    "profit_from_here_up": "of all lendable with this score or a better one",
    "realised_profit_from_here_up": "the same as it came, where outcomes are known",
    "best": "the cut-off with the largest profit",
    "best_earns": "what the best cut-off earns beside this one, if that can be told",
}
"""Of what stands in the tables, by column."""


def tables(simulation: Simulation) -> Sequence[Sheet]:
    """Give every table of money, with its figures unrounded."""
    old, new = simulation.old, simulation.new
    products = beside(old.earned_by_product, new.earned_by_product)
    sets = {
        "both policies lend": simulation.kept,
        "only the new one": simulation.let_in,
        "only the old one": simulation.left_out,
    }
    swaps = [{**_named(name, ""), **figures(one)} for name, one in sets.items()]
    about = {
        "currency": new.policy.currency,
        **{
            side: f"{one.policy.name}, version {one.policy.version}, {one.policy.id}"
            for side, one in ((OLD, old), (NEW, new))
        },
        **_MEANINGS,
    }
    return (
        Sheet("about", ("name", "meaning"), [{"name": n, "meaning": m} for n, m in about.items()]),
        _sheet("total", {"all": (old.earned, new.earned)}),
        _sheet("tiers", beside(old.earned_by_tier, new.earned_by_tier)),
        _sheet("terms", beside(old.earned_by_term, new.earned_by_term)),
        _sheet("months", beside(old.earned_by_month, new.earned_by_month)),
        *([_sheet("products", products)] if products else ()),
        Sheet("swaps", (*_NAMED, *_MONEY), swaps),
        Sheet(
            "cut_offs",
            _CUT_OFF,
            [_cut_off(one, simulation) for one in table_of_cut_offs(simulation)],
        ),
    )


Beside = dict[str, tuple[Earned, Earned]]


def beside(old: Mapping[str, Earned], new: Mapping[str, Earned]) -> Beside:
    """Set what has one name under both policies side by side."""
    return {n: (old.get(n, Earned()), new.get(n, Earned())) for n in {**new, **old}}


def _sheet(name: str, pairs: Beside) -> Sheet:
    rows: list[dict[str, Cell]] = [
        {**_named(of, side), **figures(one)}
        for of, pair in pairs.items()
        for side, one in zip((OLD, NEW), pair, strict=True)
    ]
    return Sheet(name, (*_NAMED, *_MONEY), rows)


def _named(name: str, policy: str) -> dict[str, Cell]:
    return {"name": name, "policy": policy}


def figures(one: Earned) -> dict[str, Cell]:
    """Give the figures of a row by column; None where nothing is known."""
    expected, realised = one.expected().interval, one.realised().interval
    rate = one.bad_rate_interval
    found: dict[str, Cell] = {
        "applications": one.count,
        "loans": one.loans,
        "amount": one.amount,
        "income": one.income,
        "funding": one.funding,
        "cost": one.cost,
        "tax": one.tax,
        "expected_loss": one.loss,
        "profit": one.profit,
        "profit_low": expected.low,
        "profit_high": expected.high,
        "known": one.known,
    }
    if one.known and rate is not None:
        found |= {
            "stand_for": one.weight,
            "default_rate": one.bad_rate,
            "default_rate_low": rate.low,
            "default_rate_high": rate.high,
            "predicted_rate": one.predicted_rate,
            "realised_loss": one.real_loss,
            "realised_profit": one.real_profit,
            "realised_profit_low": realised.low,
            "realised_profit_high": realised.high,
            "expected_profit_of_known": one.seen_profit,
            "defaults_valued": one.valued,
            "loss_given_default": one.loss_given_default,
            "loss_given_default_assumed": one.loss_assumed,
        }
    return found


def _cut_off(one: CutOff, simulation: Simulation) -> dict[str, Cell]:
    band, rate = one.band, one.band.bad_rate_interval
    found: dict[str, Cell] = {
        "score_from": one.low,
        "score_to": one.high,
        "applications": one.applications,
        "share": one.applications / simulation.count,
        "approved": one.approved,
        "lendable": one.lendable,
        "predicted_rate_of_lendable": band.probability,
        "known": band.known,
        "profit": band.profit,
        "profit_from_here_up": one.above.profit,
        "best": "best" if one.is_best else "",
        "best_earns": "" if one.is_best else one.told.value,
    }
    if rate is not None:
        found |= {
            "default_rate": band.bad_rate,
            "default_rate_low": rate.low,
            "default_rate_high": rate.high,
            "realised_profit": band.real_profit,
        }
    if one.above.known:
        found["realised_profit_from_here_up"] = one.above.real_profit
    return found
