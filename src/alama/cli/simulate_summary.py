"""What `alama policy simulate` says, on a screen or two; the page has the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

from alama.cli.bars import LOWERS, RAISES
from alama.cli.tables import plain_table
from alama.core.characters import visible
from alama.core.lending.offer_changes import offer_changes, told
from alama.core.lending.policy import SEVERITY, Decision
from alama.core.lending.policy_changes import changes
from alama.core.lending.simulation import Figures

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console
    from rich.table import Table

    from alama.core.lending.policy import Policy
    from alama.core.lending.simulation import Group, Portfolio, Simulation

SWITCHES_MAX: Final = 20
_CHANGES_MAX: Final = 12
_RULES_MAX: Final = 12
_ID_LENGTH: Final = len("sha256:") + 12
_NOTHING: Final = "-"
_WIDTH_UNBOUNDED: Final = 10_000
_COLUMNS_MIN: Final = 4
"""A name, how many, how many of them are approved, and the change."""


def show(simulation: Simulation, described: str, console: Console) -> None:
    """Print the totals, the groups, the rules and the first that change decision."""
    old, new = simulation.old.policy, simulation.new.policy
    _line(console, f"old  {_named(old)}")
    _line(console, f"new  {_named(new)}")
    _line(console, f"on   {_applications(simulation.count)}: {described}")
    _section(console, "What the new policy changes", _changes(old, new))
    _section(console, "In total", _totals(simulation))
    tiers = _by_tier(simulation.old, simulation.new)
    _section(console, "By tier", _fitted(_groups("tier", tiers, new.currency), console))
    for noun, groups in (("region", simulation.regions), ("device", simulation.devices)):
        if len(groups) > 1:
            listed = [(group.name, group.old, group.new) for group in groups]
            table = _groups(noun, listed, new.currency)
            _section(console, f"By {noun}", _fitted(table, console))
    if simulation.old.rules or simulation.new.rules:
        _section(console, "Rules that objected", _rules(simulation))
    _section(console, "Decisions, old (rows) and new (columns)", _moves(simulation))
    count = len(simulation.switches)
    if count:
        shown = f", the first {SWITCHES_MAX} of {count:,}" if count > SWITCHES_MAX else ""
        _section(console, f"Applications that change decision{shown}", _switches(simulation))
    _line(console, f"\n{_sentence(simulation)}")


def _named(policy: Policy) -> str:
    return f"{policy.name}, version {policy.version}, {policy.id[:_ID_LENGTH]}"


def _sentence(simulation: Simulation) -> str:
    was = _percent(simulation.old.total.share(Decision.APPROVED))
    would = _percent(simulation.new.total.share(Decision.APPROVED))
    count = len(simulation.switches)
    offers = offer_changes(simulation.reoffered)
    decided = (
        f"The new policy would approve {would} instead of {was}, and decide "
        f"{_applications(count)} otherwise."
        if count
        else f"The new policy would decide every application alike, and approve {would}."
    )
    if offers.changed:
        verb = "keeps its" if offers.changed == 1 else "keep their"
        ways = told(offers, "{:,}".format)
        return f"{decided}\n{offers.changed:,} {verb} decision and would get another offer: {ways}."
    return decided if count else f"{decided} Every offer stays as it is."


def _applications(count: int) -> str:
    return f"{count:,} application" if count == 1 else f"{count:,} applications"


def _changes(old: Policy, new: Policy) -> Table:
    table = plain_table("key", "old", "new")
    found = changes(old, new)
    for change in found[:_CHANGES_MAX]:
        table.add_row(Text(change.key), Text(change.old or _NOTHING), Text(change.new or _NOTHING))
    _mention_rest(table, len(found), _CHANGES_MAX)
    if not found:
        table.add_row(Text("nothing", style="dim"))
    return table


def _totals(simulation: Simulation) -> Table:
    old, new, currency = simulation.old.total, simulation.new.total, simulation.new.policy.currency
    table = _numbers_table("", "old", "new", "change")
    for decision, name in (
        (Decision.APPROVED, "approved"),
        (Decision.REVIEW, "left to a person"),
        (Decision.DECLINED, "declined"),
    ):
        was, would = old.share(decision), new.share(decision)
        table.add_row(name, _percent(was), _percent(would), _points(was, would))
    _add_money(table, f"limits, {currency}", old.volume, new.volume)
    _add_money(table, f"average limit, {currency}", old.limit_mean, new.limit_mean)
    _add_money(table, f"expected loss, {currency}", old.expected_loss, new.expected_loss)
    table.add_row(
        "expected loss, of the limits",
        _percent(old.loss_share, 2),
        _percent(new.loss_share, 2),
        _points(old.loss_share, new.loss_share, 2),
    )
    was, would = _hundredth(old.apr_mean), _hundredth(new.apr_mean)
    table.add_row("average APR", _percent(was), _percent(would), _points(was, would))
    table.add_row("average term, days", _whole(old.term_mean), _whole(new.term_mean), "")
    return table


def _add_money(table: Table, name: str, was: float | None, would: float | None) -> None:
    grown = 0.0 if not was or would is None else round((would - was) / was, 3)
    table.add_row(name, _whole(was), _whole(would), f"{grown:+.1%}" if grown else "")


def _by_tier(old: Portfolio, new: Portfolio) -> list[tuple[str, Figures, Figures]]:
    names = {**new.tiers, **old.tiers}
    return [(n, old.tiers.get(n, Figures()), new.tiers.get(n, Figures())) for n in names]


def _groups(
    noun: str, listed: Sequence[tuple[str, Figures, Figures]] | Sequence[Group], currency: str
) -> Table:
    table = _numbers_table(
        noun, "applications", "approved", "change", f"limits, {currency}", "loss", "APR"
    )
    for name, was, would in listed:
        before, after = was.share(Decision.APPROVED), would.share(Decision.APPROVED)
        table.add_row(
            Text(visible(name)),
            _pair(f"{was.count:,}", f"{would.count:,}"),
            _pair(_percent(before), _percent(after)),
            _points(before, after),
            _pair(_short(was.volume), _short(would.volume)),
            _pair(_percent(was.loss_share), _percent(would.loss_share)),
            _pair(_percent(_hundredth(was.apr_mean)), _percent(_hundredth(would.apr_mean))),
        )
    return table


def _rules(simulation: Simulation) -> Table:
    old, new = simulation.old.rules, simulation.new.rules
    codes = sorted({*old, *new}, key=lambda code: (-max(old[code], new[code]), code))
    table = _numbers_table("rule", "old", "new", "change")
    for code in codes[:_RULES_MAX]:
        change = new[code] - old[code]
        table.add_row(
            Text(code), f"{old[code]:,}", f"{new[code]:,}", f"{change:+,}" if change else ""
        )
    _mention_rest(table, len(codes), _RULES_MAX)
    return table


def _moves(simulation: Simulation) -> Table:
    table = _numbers_table("", *Decision)
    for was in Decision:
        cells = [
            Text(f"{simulation.moves[was, would]:,}", _style(was, would)) for would in Decision
        ]
        table.add_row(was.value, *cells)
    return table


def _style(was: Decision, would: Decision) -> str:
    if was is would:
        return "dim"
    return RAISES if SEVERITY[would] < SEVERITY[was] else LOWERS


def _switches(simulation: Simulation) -> Table:
    table = plain_table("application", "score", "old", "new", "limit", "rules that objected")
    for place in (1, 4):
        table.columns[place].justify = "right"
    for reference, old, new in simulation.switches[:SWITCHES_MAX]:
        table.add_row(
            Text(visible(reference)),
            _pair(str(old.score), str(new.score)),
            Text(old.decision),
            Text(new.decision, _style(old.decision, new.decision)),
            _pair(f"{old.limit:,}", f"{new.limit:,}"),
            Text(_pair(", ".join(old.rules) or "none", ", ".join(new.rules) or "none")),
        )
    return table


# ------------------------------------------------------------------------------------- writing


def _numbers_table(first: str, *heads: str) -> Table:
    table = plain_table(first, *heads)
    for column in table.columns[1:]:
        column.justify = "right"
        column.no_wrap = True
    return table


def _fitted(table: Table, console: Console) -> Table:
    """Leave out the last columns of a table that is too wide: figures stay whole, or are not there.

    The page has them all.
    """
    unbounded = console.options.update(width=_WIDTH_UNBOUNDED)
    left_out: list[str] = []
    while (
        len(table.columns) > _COLUMNS_MIN
        and console.measure(table, options=unbounded).maximum > console.width
    ):
        left_out.insert(0, str(table.columns.pop().header))
    if left_out:
        table.caption = f"a wider terminal also shows: {'; '.join(left_out)}"
        table.caption_justify = "left"
    return table


def _mention_rest(table: Table, count: int, shown: int) -> None:
    if count > shown:
        table.add_row(Text(f"and {count - shown} more", style="dim"))


def _pair(was: str, would: str) -> str:
    return was if was == would else f"{was} > {would}"


def _percent(share: float | None, decimals: int = 1) -> str:
    return _NOTHING if share is None else f"{share:.{decimals}%}"


def _points(was: float | None, would: float | None, decimals: int = 1) -> str:
    """Give the difference of two shares as they are shown, in points of a percent."""
    if was is None or would is None:
        return ""
    change = round(100.0 * would, decimals) - round(100.0 * was, decimals)
    return f"{change:+.{decimals}f}" if round(change, decimals) else ""


def _hundredth(percent: float | None) -> float | None:
    return None if percent is None else percent / 100.0


def _whole(value: float | None) -> str:
    return _NOTHING if value is None else f"{value:,.0f}"


def _short(value: float) -> str:
    for size, unit in ((1e12, "tn"), (1e9, "bn"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.1f}{unit}"
    return f"{value:.0f}"


def _section(console: Console, title: str, table: Table) -> None:
    console.print(Text(f"\n{title}", style="bold"), soft_wrap=True)
    console.print(table)


def _line(console: Console, text: str) -> None:
    console.print(text, markup=False, soft_wrap=True)
