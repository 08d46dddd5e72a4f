"""What `alama models compare` shows, on a screen or two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

from alama.cli.tables import facts, plain_table
from alama.service.monitoring.comparing import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from rich.console import Console
    from rich.table import Table

    from alama.service.monitoring.comparison import (
        Area,
        Comparison,
        Crossed,
        Judged,
        Rate,
        Realised,
    )

_ID_LENGTH: Final = len("sha256:") + 12
_DECISIONS: Final = ("APPROVED", "REVIEW", "DECLINED")
_NOTHING: Final = "-"


def show(found: Comparison, console: Console) -> None:
    """Print the verdict, who is compared, what both would decide, and what became of it."""
    console.print(Text(f"{_verdict(found)}\n", style="bold"))
    console.print(facts(_who(found)), markup=False)
    if found.count:
        _section(console, "Decisions, champion (rows) and challenger (columns)", _decisions(found))
        _section(console, "Tiers, champion (rows) and challenger (columns)", _tiers(found))
    if found.realised is not None:
        _section(console, "Loans that are known and due", _both(found.realised))
        _section(console, "Default rates by tier", _rates(found.realised))
        _section(console, "Default rates by what both would decide", _swaps(found.realised))
    for note in found.notes:
        if note != UNKNOWN:  # the verdict has said so
            _line(console, f"\n{note}")


def _who(found: Comparison) -> Iterable[tuple[str, str]]:
    yield "champion", _named(found.champion, found.champion_name)
    yield "challenger", _named(found.challenger, found.challenger_name)
    ended = "" if found.ended_at is None else f", ended {_minute(found.ended_at)}"
    yield "begun", f"{_minute(found.begun_at)}{ended}"
    if found.scores_from is not None:
        yield "on scores from", f"{found.scores_from}"
    yield "scores of both", _progress(found)
    if found.champion_probability is not None and found.challenger_probability is not None:
        champion = _percent(found.champion_probability)
        challenger = _percent(found.challenger_probability)
        yield "mean probability of default", f"{champion} champion, {challenger} challenger"


def _named(model_id: str | None, name: str | None) -> str:
    return "none yet" if model_id is None else f"{name}, {model_id[:_ID_LENGTH]}"


def _minute(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def _progress(found: Comparison) -> str:
    if not found.waiting:
        return f"{found.count:,}"
    uncounted = "more than " if found.waiting == found.waiting_max else ""
    return f"{found.count:,} of {uncounted}{found.count + found.waiting:,}, still reading"


def _decisions(found: Comparison) -> Table:
    return _crossed(found.decisions, _DECISIONS, found.count)


def _tiers(found: Comparison) -> Table:
    names = sorted({name for one in found.tiers for name in (one.champion, one.challenger)})
    return _crossed(found.tiers, names, found.count)


def _crossed(counts: Sequence[Crossed], names: Sequence[str], total: int) -> Table:
    by_pair = {(one.champion, one.challenger): one.count for one in counts}
    table = _numbers("", *names, "all", "share")
    for row in names:
        found = [by_pair.get((row, column), 0) for column in names]
        share = _percent(sum(found) / total)
        table.add_row(row, *(f"{count:,}" for count in found), f"{sum(found):,}", share)
    sums = [sum(by_pair.get((row, column), 0) for row in names) for column in names]
    table.add_row("all", *(f"{count:,}" for count in sums), f"{total:,}", "")
    table.add_row("share", *(_percent(count / total) for count in sums), "", "")
    return table


def _both(realised: Realised) -> Table:
    table = _numbers("", "champion", "challenger")
    champion, challenger = realised.champion, realised.challenger
    table.add_row("loans", f"{realised.count:,}", f"{realised.count:,}")
    table.add_row("AUC", _area(champion.auc), _area(challenger.auc))
    table.add_row(
        "predicted", _percent(champion.rate.predicted), _percent(challenger.rate.predicted)
    )
    table.add_row("realised", _realised(champion.rate), _realised(challenger.rate))
    return table


def _rates(realised: Realised) -> Table:
    table = _numbers("model", "tier", "loans", "predicted", "realised")
    sides: tuple[tuple[str, Judged], ...] = (
        ("champion", realised.champion),
        ("challenger", realised.challenger),
    )
    for name, judged in sides:
        for one in judged.tiers:
            rate = one.rate
            table.add_row(
                name, one.tier, f"{rate.count:,}", _percent(rate.predicted), _realised(rate)
            )
    return table


def _swaps(realised: Realised) -> Table:
    table = _numbers("champion", "challenger", "loans", "both predicted", "realised")
    for swap in realised.swaps:
        predicted = f"{_percent(swap.rate.predicted)}, {_percent(swap.challenger_predicted)}"
        count = f"{swap.rate.count:,}"
        table.add_row(swap.champion, swap.challenger, count, predicted, _realised(swap.rate))
    return table


def _verdict(found: Comparison) -> str:
    if not found.count:
        return "Nothing to compare yet: the challenger has answered nothing."
    if found.realised is None:
        return (
            "Which of the two is better, nobody can tell yet: no loan of theirs is known and due."
        )
    return _sentence(found.realised.difference)


def _sentence(difference: Area | None) -> str:
    if difference is None:
        return "All known loans ended alike, so nobody can tell which of the two is better."
    told = f"{difference.value:+.4f} of AUC ({difference.low:+.4f} to {difference.high:+.4f})"
    if difference.low > 0:
        return f"The challenger ranks known loans better: {told}."
    if difference.high < 0:
        return f"The challenger ranks known loans worse: {told}."
    return f"Which of the two ranks known loans better, nobody can tell yet: {told}."


def _area(area: Area | None) -> str:
    return _NOTHING if area is None else f"{area.value:.3f} ({area.low:.3f} to {area.high:.3f})"


def _realised(rate: Rate) -> str:
    return f"{_percent(rate.realised)} ({_percent(rate.low)} to {_percent(rate.high)})"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _numbers(first: str, *others: str) -> Table:
    table = plain_table(first, *others)
    for column in table.columns[1:]:
        column.justify = "right"
    return table


def _section(console: Console, title: str, table: Table) -> None:
    console.print()
    console.print(Text(title, style="bold"))
    console.print(table)


def _line(console: Console, text: str) -> None:
    console.print(text, markup=False, soft_wrap=True)  # a command in it can be pasted
