"""Is it genuine? Each check says pass, fail or cannot tell, with its evidence.

What a check of figures cannot see is a statement of which every figure was changed in step with
all others. The page says what else cannot be found.
"""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import groupby, pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from alama.statements.formulas import balance_after
from alama.statements.ledger import Check, Entry, Kind, Pseudonyms, Statement, Status, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from alama.statements.places import Place

SHARE_READ_MIN: Final = 0.99
AGE_DAYS_MAX: Final = 45
DOUBTS_MAX: Final = 1
"""How many checks may be unable to tell before a person looks."""

_MOVED: Final = frozenset({Status.COMPLETED, Status.REVERSED})
_FORMS: Final = {
    "mpesa": re.compile(r"[A-Z0-9]{10}"),
    "mtn": re.compile(r"\d{6,16}"),
}
"""What a receipt of a wallet looks like, by how the name of its format begins."""


def check(
    statement: Statement,
    as_of: date,
    place: Place,
    *,
    names: Pseudonyms | None = None,
    holder: str | None = None,
    age_days_max: int = AGE_DAYS_MAX,
) -> tuple[Check, ...]:
    """Look whether a statement holds together, as seen on the day `as_of`.

    `holder` is the applicant's name as the lender has it, compared under the pseudonyms `names`
    with which the statement was read.
    """
    checks = [
        _rows_read(statement),
        _balances(statement),
        _totals(statement),
        _dates(statement, as_of, place),
        _age(statement, as_of, place, age_days_max),
        _receipts(statement),
    ]
    if holder is not None and names is not None:
        checks.append(_holder(statement, names.holder(holder)))
    return (*checks, *statement.checks)


def is_doubtful(checks: Sequence[Check]) -> bool:
    """Say whether a person has to look: a check failed, or two of them could not tell."""
    verdicts = [one.verdict for one in checks]
    return Verdict.FAIL in verdicts or verdicts.count(Verdict.CANNOT_TELL) > DOUBTS_MAX


def _rows_read(statement: Statement) -> Check:
    read = statement.rows - len(statement.unread)
    told = f"{read:,} of {statement.rows:,} rows were read"
    if not statement.rows:
        return Check("rows_read", Verdict.CANNOT_TELL, "there are no rows")
    is_enough = statement.share_read >= SHARE_READ_MIN
    return Check("rows_read", Verdict.PASS if is_enough else Verdict.FAIL, told)


def _moved(statement: Statement) -> list[Entry]:
    entries = [entry for entry in statement.entries if entry.status in _MOVED]
    return sorted(entries, key=attrgetter("at"))


def _balances(statement: Statement) -> Check:
    """Look whether each balance follows from the one before and what moved since."""
    name = "balances"
    entries = _moved(statement)
    if not any(entry.balance_after is not None for entry in entries):
        return Check(name, Verdict.CANNOT_TELL, "the rows have no balances")
    breaks: list[date] = []
    looked = 0
    last = statement.declared.opening
    pending = 0
    acts = defaultdict[tuple[int, bool], list[bool]](list)
    for at, together in groupby(entries, key=attrgetter("at")):
        legs = list(together)
        told = [leg.balance_after for leg in legs if leg.balance_after is not None]
        pending += sum(leg.signed for leg in legs)
        if not told:
            continue
        looked += 1
        if last is not None and pending == sum(leg.signed for leg in legs) and _is_act(legs):
            acts[len(legs), _has_overdraft(legs)].append(_follow(legs, last))
        if last is not None and last + pending not in told:
            breaks.append(at.date())
            last = balance_after(legs, None)
        elif last is None:
            last = balance_after(legs, None)
        else:
            last += pending
        pending = 0
    if breaks:
        said = (
            f"{len(breaks):,} of {looked:,} balances do not follow from the one before; the first "
            f"on {breaks[0]}"
        )
        return Check(name, Verdict.FAIL, said)
    # Some wallets tell the balance after an act beside each of its rows; so one that tells it row
    # by row is known by most of its acts.
    odd = sum(one.count(False) for one in acts.values() if 2 * one.count(False) < len(one))
    if odd:
        said = f"within {odd:,} acts the balances of rows do not follow, as they do in others"
        return Check(name, Verdict.FAIL, said)
    return Check(name, Verdict.PASS, f"{looked:,} balances follow from the one before")


_LEGS_MAX: Final = 6
_OVERDRAFT: Final = frozenset({Kind.OVERDRAFT_IN, Kind.OVERDRAFT_OUT})


def _is_act(legs: Sequence[Entry]) -> bool:
    """Say whether rows of one moment are few enough to be put in order by their balances."""
    return 1 < len(legs) <= _LEGS_MAX and all(leg.balance_after is not None for leg in legs)


def _has_overdraft(legs: Sequence[Entry]) -> bool:
    return any(leg.kind in _OVERDRAFT for leg in legs)


def _follow(legs: Sequence[Entry], before: int) -> bool:
    """Say whether there is an order of rows in which each balance follows from the one before."""
    if not legs:
        return True
    return any(
        leg.balance_after == before + leg.signed
        and _follow([*legs[:place], *legs[place + 1 :]], before + leg.signed)
        for place, leg in enumerate(legs)
    )


def _totals(statement: Statement) -> Check:
    """Compare what the statement says of itself with its rows."""
    told, entries = statement.declared, _moved(statement)
    came = sum(entry.signed for entry in entries if entry.signed > 0)
    went = sum(-entry.signed for entry in entries if entry.signed < 0)
    compared: dict[str, bool] = {}
    if told.opening is not None and told.closing is not None:
        compared["the closing balance"] = told.opening + came - went == told.closing
    elif told.closing is not None and (last := _last_balance(entries)) is not None:
        compared["the closing balance"] = last == told.closing
    if told.paid_in is not None:
        compared["the total paid in"] = told.paid_in == came
    if told.paid_out is not None:
        compared["the total paid out"] = told.paid_out == went
    wrong = [name for name, holds in compared.items() if not holds]
    if wrong:
        return Check("totals", Verdict.FAIL, f"{', '.join(wrong)}: the rows come to another")
    if not compared:
        return Check("totals", Verdict.CANNOT_TELL, "the statement declares no totals")
    return Check("totals", Verdict.PASS, f"{', '.join(compared)}: as the rows come to")


def _last_balance(entries: Sequence[Entry]) -> int | None:
    last: int | None = None
    for _, together in groupby(entries, key=attrgetter("at")):
        last = balance_after(list(together), last)
    return last


def _dates(statement: Statement, as_of: date, place: Place) -> Check:
    told = statement.declared
    days = [entry.at.astimezone(place.zone).date() for entry in statement.entries]
    wrong = []
    if any(later < earlier for earlier, later in pairwise(days)):
        wrong.append("the days do not stand in order")
    if days and max(days) > as_of:
        wrong.append("a row is of a day that is yet to come")
    if told.made_on is not None and (
        told.made_on > as_of or max(days, default=as_of) > told.made_on
    ):
        wrong.append("a row, or the day on which it was made, is later than it can be")
    if told.first_day is not None and days and min(days) < told.first_day:
        wrong.append("a row is of before the period")
    if told.last_day is not None and days and max(days) > told.last_day:
        wrong.append("a row is of after the period")
    if wrong:
        return Check("dates", Verdict.FAIL, "; ".join(wrong))
    if not days:
        return Check("dates", Verdict.CANNOT_TELL, "there are no rows")
    return Check(
        "dates", Verdict.PASS, f"{min(days)} to {max(days)}, in order and within its period"
    )


def _age(statement: Statement, as_of: date, place: Place, days_max: int) -> Check:
    told = statement.declared
    until = told.last_day or told.made_on
    if until is None:
        last = max((entry.at for entry in statement.entries), default=None)
        if last is None:
            return Check("age", Verdict.CANNOT_TELL, "the statement names no day")
        until = last.astimezone(place.zone).date()
    days = (as_of - until).days
    verdict = Verdict.PASS if days <= days_max else Verdict.FAIL
    return Check("age", verdict, f"it ends {max(days, 0)} days before, and may {days_max}")


def _receipts(statement: Statement) -> Check:
    """Look whether a receipt is of one moment, and written as the wallet writes them."""
    moments: defaultdict[str, set[object]] = defaultdict(set)
    for entry in statement.entries:
        moments[entry.group].add(entry.at)
    named = [group for group in moments if not group.startswith("row-")]
    if not named:
        return Check("receipts", Verdict.CANNOT_TELL, "the rows have no receipts")
    twice = sum(len(moments[group]) > 1 for group in named)
    form = next((one for start, one in _FORMS.items() if statement.format.startswith(start)), None)
    odd = 0 if form is None else sum(form.fullmatch(group) is None for group in named)
    if twice or odd:
        said = (
            f"of {len(named):,} receipts {twice:,} stand at two times, {odd:,} are not well-formed"
        )
        return Check("receipts", Verdict.FAIL, said)
    return Check("receipts", Verdict.PASS, f"{len(named):,} receipts, each of one time")


def _holder(statement: Statement, wanted: tuple[str, ...]) -> Check:
    told = statement.declared.holder
    if told is None:
        return Check("holder", Verdict.CANNOT_TELL, "the statement names no holder")
    if told == wanted:
        return Check("holder", Verdict.PASS, "the holder's name is the applicant's")
    common = len(set(told) & set(wanted))
    if common == min(len(told), len(wanted)) and common > 1:
        said = "one name has words that the other has not"
        return Check("holder", Verdict.CANNOT_TELL, said)
    return Check("holder", Verdict.FAIL, "the holder's name is not the applicant's")
