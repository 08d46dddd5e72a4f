"""`alama policy`: draft, check, simulate, activate and roll back the rules of lending."""

from __future__ import annotations

import shlex
import sys
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import UnsetType
from rich.text import Text

from alama.batch.listing import number
from alama.core import calibration, own_fields
from alama.core.application import visible, visible_lines
from alama.core.errors import InvalidPolicy, PolicyFault, UnknownCurrency
from alama.core.lending import policy_check, policy_text
from alama.core.lending.draft import draft, draft_text
from alama.core.lending.policy import (
    CounterOffers,
    Daily,
    Decision,
    Exploration,
    Kind,
    OwnRule,
    Policy,
    Repayment,
    Sufficiency,
    Tier,
    policy_of,
    products_of,
    products_under,
)
from alama.core.lending.policy_check import Unsteady, doubts_about
from alama.core.lending.ready_policy import ReadyPolicy, caps_of, exploration_of
from alama.core.model import Model, ReadyModel
from alama.core.own_fields import reading
from alama.core.units import Points, Probability
from alama.lenders import records as lenders_records
from alama.lenders.installation import existing_installation
from alama.lenders.keys import is_open
from alama.platform.book import Book, Mode
from alama.platform.errors import InvalidName
from alama.platform.files.packaged import builtin, jurisdiction, jurisdictions, model_at
from alama.platform.files.promise import promised
from alama.platform.files.texts import (
    is_file,
    is_namesake,
    named,
    read_bytes,
    titled,
    told_of,
    write_new_text,
)
from alama.platform.terminal import terminal
from alama.platform.terminal.command import add_mode
from alama.platform.terminal.tables import facts, plain_table
from alama.policies import policies, simulate_cli
from alama.policies.commands import hint_of
from alama.policies.earned import cut_off_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from rich.table import Table

    from alama.core.lending.pricing import Tariff
    from alama.lenders.store import Registry
    from alama.platform.terminal.command import Subparsers


DESCRIPTION: Final = """\
A policy turns a score into a decision, a limit, a term and a price. It is a text that a risk
officer owns: draft one, change a figure, check it, see what it would have done, let it answer,
and go back if need be. docs/policy.md says what each figure does."""

INIT_DESCRIPTION: Final = """\
Write a policy to start from: every key with what it means, money in
proportion to what a wallet ordinarily receives in the currency, and the caps
of a jurisdiction with their sources. Check those with counsel."""

INIT_EXAMPLES: Final = """\
examples:
  alama policy init --jurisdiction KE --out policy.toml
  alama policy init --currency GHS          # no law assumed, to the terminal"""

CHECK_DESCRIPTION: Final = """\
Say whether a policy is sound, and everything that is wrong with it, line by line; whether it fits
the model; and whether it is certified as monotone: that a better value of a field that has a
direction never worsens the decision. What is sound and looks wrong, such as a price above the
law of its jurisdiction, is listed for a second look. Exits with 2 where it is not sound."""

SHOW_DESCRIPTION: Final = """\
Print the text of the policy that answers for a lender, as it was written, or of another that
answered before. Redirected into a file it can be changed and activated again."""

ACTIVATE_DESCRIPTION: Final = """\
Let a policy answer for a lender: every process uses it within a second, and
every score names it. A bad one is refused and changes nothing. Give a file,
or go back to one that answered before by the first digits of its id (`alama
policy history` lists them), or to the default by that word."""

ACTIVATE_EXAMPLES: Final = """\
examples:
  alama policy activate policy.toml --lender demo --mode test \\
    --by "W. Mutua" --note "cut-off of tier C from 605 to 615"
  alama policy activate 3f9a1c0d --lender demo --mode live --by "W. Mutua"
  alama policy activate default --lender demo --mode test"""

HISTORY_DESCRIPTION: Final = """\
List the policies that have answered for a lender, newest first: since when, which, who activated
it and why. Times are UTC."""

EXPORT_DESCRIPTION: Final = """\
Write a policy that any score of this installation names to a file, as it was kept: whoever has
the receipt of the score replays it with this file and its model. The id is that of the receipt,
of `alama scores show` or of `alama policy history`, whole."""

_FROM_WHEN: Final = {
    True: "in every process within a second",
    False: "as soon as a model of its own does",
}
"""By whether the book is open."""

NOT_SOUND: Final = 2
"""The exit code of a check that finds faults: that of every mistake that a person can put right."""


def register(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    _register_init(actions)
    checked = actions.add_parser(
        "check", help="is it sound, and what is wrong with it?", description=CHECK_DESCRIPTION
    )
    checked.add_argument("file", type=Path, metavar="FILE", help="a policy; - reads standard input")
    checked.add_argument(
        "--model", type=Path, metavar="FILE", help="that it is for (default: the built-in one)"
    )
    checked.add_argument(
        "--fields", type=Path, metavar="FILE", help="the lender's own, where its rules read them"
    )
    checked.set_defaults(run=check)
    simulate_cli.register(actions)
    _register_activate(actions)
    shown = actions.add_parser(
        "show", help="print the policy that answers", description=SHOW_DESCRIPTION
    )
    _add_book(shown)
    shown.add_argument(
        "--id", metavar="ID", help="the first digits of another that answered, or default"
    )
    shown.set_defaults(run=show)
    listed = actions.add_parser(
        "history",
        help="which answered, since when, and who said so",
        description=HISTORY_DESCRIPTION,
    )
    _add_book(listed)
    listed.set_defaults(run=history)
    _register_export(actions)


def _register_init(actions: Subparsers) -> None:
    drafted = actions.add_parser(
        "init",
        help="write a policy to start from",
        description=INIT_DESCRIPTION,
        epilog=INIT_EXAMPLES,
    )
    add = drafted.add_argument
    add(
        "--jurisdiction",
        default="neutral",
        metavar="CODE",
        help="whose law: KE, NG, ... (default: neutral)",
    )
    add("--currency", type=str.upper, metavar="CODE", help="default: that of the jurisdiction")
    add("--name", help="what to call it")
    add("--out", type=Path, metavar="FILE", help="where to (default: standard output)")
    drafted.set_defaults(run=init)


def _register_activate(actions: Subparsers) -> None:
    activated = actions.add_parser(
        "activate",
        help="let a policy answer, or go back to one",
        description=ACTIVATE_DESCRIPTION,
        epilog=ACTIVATE_EXAMPLES,
    )
    activated.add_argument(
        "policy", metavar="FILE|ID", help="a file, - for standard input, an id, or default"
    )
    _add_book(activated)
    activated.add_argument("--by", metavar="NAME", help="who signs it off; live mode asks for it")
    activated.add_argument("--note", metavar="TEXT", help="why, for the history")
    activated.set_defaults(run=activate)


def _register_export(actions: Subparsers) -> None:
    exported = actions.add_parser(
        "export", help="the policy that a score names, as a file", description=EXPORT_DESCRIPTION
    )
    exported.add_argument("id", metavar="ID", help="sha256: and 64 digits")
    exported.add_argument("--out", type=Path, required=True, metavar="FILE", help="a TOML file")
    exported.set_defaults(run=export)


def _add_book(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--lender", default="demo", metavar="ID", help="default: %(default)s")
    add_mode(parser, Mode.TEST)


def init(args: argparse.Namespace) -> int:
    """Write a draft; without --out nothing but the draft goes to stdout."""
    place = jurisdiction(args.jurisdiction)
    currency = args.currency or next(iter(place.currencies), None)
    if currency is None:
        raise InvalidPolicy(
            "no currency is named, and the jurisdiction has none",
            hint="add --currency KES, or --jurisdiction KE",
        )
    if place.currencies and currency not in place.currencies:
        raise InvalidPolicy(
            f"{place.name} does not lend in {currency}",
            hint=f"leave --currency out, or name {' or '.join(place.currencies)}",
        )
    name = args.name or f"our {currency} policy"
    text = draft_text(draft(currency, place, name), place)
    if args.out is None:
        sys.stdout.write(text)
        return 0
    write_new_text(args.out, text)
    terminal.say(f"{args.out}: a draft for {place.name}, in {currency}.")
    terminal.remark(f"Next: change what is yours, then alama policy check {args.out}")
    return 0


def check(args: argparse.Namespace) -> int:
    """Say what is wrong with a policy, or that nothing is, and what follows from it."""
    model = model_at(args.model)
    if args.fields is not None:
        model = reading(model, own_fields.read(read_bytes(args.fields, own_fields.SIZE_MAX)))
    text = read_bytes(args.file, policy_text.SIZE_MAX)
    try:
        policy = policy_text.read(text, model.catalogue)
        priced = _in_its_currency(model, policy, text)
    except InvalidPolicy as error:
        if not error.faults:
            raise
        terminal.say(f"{named(args.file)} is not sound:\n")
        terminal.say(fault_table(error.faults))
        if error.hint:
            terminal.remark(f"hint: {hint_of(error)}")
        return NOT_SOUND
    ready = ReadyPolicy(policy, priced)
    terminal.say(f"{named(args.file)} is sound.\n")
    terminal.say(f"{policy.name}, version {policy.version}\n{policy.id}\n")
    for place, product in enumerate(ready.products.values()):
        default = "\n" if place else ", for whoever names none\n"
        above = "\n" if place else ""
        terminal.say(f"{above}product {product.product}{default}")
        _say_terms(product)
    if not ready.products:
        _say_terms(ready)
    if caps_of(policy):
        terminal.say("")
        terminal.say(cap_table(policy))
    doubts = list(doubts_about(policy, model.catalogue, jurisdictions()))
    each = [policy_of(policy, product) for product in products_of(policy)]
    if all(cut_off_of(one) is None for one in (each or [policy])):
        doubts.insert(0, (("tiers",), f"none of them is {Decision.APPROVED}, so nobody ever is"))
    if doubts:
        terminal.say("")
        terminal.say(doubt_table(policy_text.located(text, doubts)))
    unsteady = list(policy_check.unsteady(policy, model.catalogue))
    terminal.say("")
    terminal.say(certificate(policy, unsteady))
    return 0


def _say_terms(ready: ReadyPolicy) -> None:
    """Say by what a policy lends, or one of its products."""
    terminal.say(summary(ready))
    rules = [rule_table(ready.policy.rules)] if ready.policy.rules else []
    for table in (*rules, tier_table(ready.policy), price_table(ready)):
        terminal.say("")
        terminal.say(table)


def _in_its_currency(model: Model, policy: Policy, text: bytes) -> ReadyModel:
    """Lay a model out in the currency of a policy, or raise `InvalidPolicy` with its line."""
    try:
        return ReadyModel(model, policy.currency)
    except UnknownCurrency as error:
        fault = (("currency",), f"{error}; {error.hint}")
        raise InvalidPolicy.of(policy_text.located(text, [fault])) from error


def show(args: argparse.Namespace) -> int:
    """Print the text of a policy: as it was written, but a terminal takes no orders from it."""
    book = Book(args.lender, Mode(args.mode))
    with existing_installation() as opened:
        if args.id is None:
            text = policies.text_in_force(opened.registry, book)
        else:
            text = policies.text_of(opened.registry, book, args.id)
    written = text.decode()
    sys.stdout.write(visible_lines(written) if sys.stdout.isatty() else written)
    return 0


def activate(args: argparse.Namespace) -> int:
    book = Book(args.lender, Mode(args.mode))
    _require_name(args.by, book)
    with existing_installation() as opened:
        registry = opened.registry
        before = _in_force(registry, book)
        signed = lenders_records.Signed(opened.clock(), args.by, args.note)
        if args.policy != policies.DEFAULT and is_file(args.policy):
            path = Path(args.policy)
            text = read_bytes(path, policy_text.SIZE_MAX)
            with told_of(path):
                policies.activate(registry, book, text, signed, builtin)
        else:
            policies.reactivate(registry, book, args.policy, signed, builtin)
        now = _in_force(registry, book)
        assert now is not None  # it has just been read
        namesake = _namesake(registry, book, now)
        when = _FROM_WHEN[is_open(registry, book)]
    where = f"for {book.lender} in {book.mode} mode"
    if before is not None and now.id == before.id:
        terminal.say(f"{_named(now)} answers {where}, as it did before.")
        return 0
    terminal.say(f"{_named(now)} answers {where}, {when}.")
    if before is None:
        terminal.remark("Before it was one that cannot be read any more.")
        return 0
    terminal.remark(f"Before it was {_named(before)}.")
    back = f"{short_id(before.id)} --lender {book.lender} --mode {book.mode}"
    signature = "" if args.by is None else f" --by {shlex.quote(args.by)}"
    terminal.remark(f"To go back: alama policy activate {back}{signature}")
    if namesake is not None:
        terminal.warn(
            f"{_named(namesake)} answered here too, by the same name; give each its own version"
        )
    return 0


def _require_name(by: str | None, book: Book) -> None:
    """Raise where a live policy would change and the history could not say by whom."""
    if by is None and book.mode is Mode.LIVE:
        raise InvalidName(
            "a live policy is signed by whoever puts it in force",
            hint='add --by "W. Mutua"; the history keeps it',
        )


def _namesake(registry: Registry, book: Book, policy: Policy) -> Policy | None:
    """Give the latest other policy that answered in the book under the same name and version."""
    ids = dict.fromkeys(step.policy_id for step in reversed(policies.history(registry, book)))
    for one in [*ids, None]:
        # One that cannot be read any more has no name, and must not spoil what was done.
        with suppress(InvalidPolicy):
            other = policies.policy_by_id(registry, book, one)
            if is_namesake(other, policy):
                return other
    return None


def history(args: argparse.Namespace) -> int:
    book = Book(args.lender, Mode(args.mode))
    table = plain_table("since (UTC)", "id", "policy", "by", "note")
    for column in table.columns[:2]:
        column.no_wrap = True
    with existing_installation() as opened:
        opened.registry.lender(book.lender)
        for step in reversed(policies.history(opened.registry, book)):
            table.add_row(
                terminal.minute(step.signed.at_us),
                *_id_and_title(opened.registry, book, step.policy_id),
                visible(step.signed.by or ""),
                visible(step.signed.note or ""),
            )
    if not table.row_count:
        terminal.remark(
            f"{book.lender} has had no policy of its own in {args.mode} mode: the default answers."
        )
        return 0
    terminal.say(table)
    return 0


def export(args: argparse.Namespace) -> int:
    """Write the text of a policy, having seen that it is the one of that id."""
    with existing_installation() as opened:
        text = opened.registry.policy(args.id)
    policy = policy_text.decode(text, args.id)
    with promised(args.out) as output:
        output.write(text)
    terminal.remark(f"{args.out}: {titled(policy)}.")
    return 0


def _id_and_title(registry: Registry, book: Book, policy_id: str | None) -> tuple[str, str]:
    try:
        policy = policies.policy_by_id(registry, book, policy_id)
    except InvalidPolicy:
        return short_id(policy_id or ""), "(changed since, or damaged)"
    return short_id(policy.id), titled(policy)


def _in_force(registry: Registry, book: Book) -> Policy | None:
    """Give the policy that answers; None where it cannot be read, and answers nobody."""
    deployed = registry.deployed(book)
    try:
        return policies.policy_by_id(registry, book, None if deployed is None else deployed[1])
    except InvalidPolicy:
        return None


def _named(policy: Policy) -> str:
    return f"{titled(policy)} ({short_id(policy.id)})"


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
        ("repayment", _repayment(policy.repayment)),
        ("price at most", _caps(policy)),
        ("in a day", _daily(policy.currency, policy.daily)),
        ("to a person", _referrals(policy)),
        *_counter_offers(policy),
    ]
    if ready.exploration is not None:
        rows.append(("by lot", _exploration(ready, ready.exploration)))
    if not policy.rules:
        rows.append(("own rules", "none"))
    return facts(rows)


def _exploration(ready: ReadyPolicy, asked: Exploration) -> str:
    """Say who takes part in a test, and what it may cost in a day, if all repay as at its end."""
    currency, cutoff = ready.currency, policy_check.cutoff_of(ready.policy)
    assert cutoff is not None  # or the policy would not be sound
    worst = calibration.shown_probability(Points(float(asked.score_min)))
    quotes = [tariff.quote(worst, asked.limit_max) for tariff in ready.tariffs]
    loss = max(quote.expected_loss for quote in quotes)
    lent = asked.daily_max * asked.limit_max
    return (
        f"{number(100 * asked.share)} % of those with a score of {asked.score_min} to {cutoff - 1}"
        f", at most {number(asked.daily_max)} a day of {currency} {number(asked.limit_max)}: "
        f"{currency} {number(lent)} a day, of which at most {currency} "
        f"{asked.daily_max * loss:,.0f} are expected to be lost"
    )


def cap_table(policy: Policy) -> Table:
    """Show what each cap of the portfolio is on, and what happens beyond it."""
    table = plain_table("cap", "of", "in a", "at most", "beyond it")
    for cap in caps_of(policy):
        parts = [*cap.regions, *(f"tier {tier}" for tier in cap.tiers), *products_under(cap)]
        bounds = [
            (cap.number_max, "loans"),
            (cap.volume_max, f"{policy.currency} approved"),
            (cap.expected_loss_max, f"{policy.currency} expected to be lost"),
        ]
        most = [f"{number(most)} {what}" for most, what in bounds if most is not None]
        table.add_row(
            cap.name,
            ", ".join(parts) or "all loans",
            cap.per.value,
            ", ".join(most),
            cap.decision.value,
        )
    return table


_COUNTER_OFFERS: Final = {
    CounterOffers.SHOW: "shown where one would be approved",
    CounterOffers.APPROVE: "approved in place of what was asked for",
    CounterOffers.NONE: "not told of",
}


def _counter_offers(policy: Policy) -> Iterator[tuple[str, str]]:
    if not isinstance(policy.counter_offers, UnsetType):
        yield "other loans", _COUNTER_OFFERS[policy.counter_offers]


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


def _repayment(said: Repayment | UnsetType) -> str:
    if isinstance(said, UnsetType):
        return "at once on the last day; [repayment] is not there"
    if said.kind is Kind.BULLET:
        how = f"at once on the last day, {number(100 * said.saving)} % of earlier room saved for it"
    else:
        how = f"in equal payments every {said.every_days} days"
    if said.payment_share_max is not None:
        how += f"; no payment above {number(100 * said.payment_share_max)} % of a month's inflow"
    return how


def _caps(policy: Policy) -> str:
    caps, repayment = policy.caps, policy.repayment
    said = f"{number(caps.apr_max)} % a year"
    if not isinstance(repayment, UnsetType):
        said += f", {repayment.capped_apr}"
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


def _offset(daily: Daily) -> str:
    return f"{daily.utc_offset_hours:+}" if daily.utc_offset_hours else ""


def rule_table(rules: Sequence[OwnRule]) -> Table:
    table = plain_table("rule", "decision", "when")
    table.columns[1].no_wrap = True
    for rule in rules:
        table.add_row(rule.name, what_follows(rule), rule.when)
    return table


def what_follows(rule: OwnRule) -> str:
    """Say what a rule does where it fires."""
    said = [] if isinstance(rule.decision, UnsetType) else [rule.decision.value]
    if not isinstance(rule.limit_max, UnsetType):
        said.append(f"up to {number(rule.limit_max)}")
    return ", ".join(said)


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
    return Text(f"{apr:.1f}{_AT_CAP}" if tariff.is_capped(probability, amount) else f"{apr:.1f} ")


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
    if caps_of(policy):
        said += " Apart from caps that are reached: whoever comes later is not approved."
    if exploration_of(policy) is not None:
        said += (
            " Apart from the lot: it gives small loans to some below the cut-off, and others who "
            "are no worse, and below it too, may be declined or left to a person."
        )
    return Text(said)
