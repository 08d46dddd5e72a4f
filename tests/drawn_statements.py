"""Statements of people who do not exist, with the entries that they have to be read as."""

from __future__ import annotations

import random
from datetime import date, datetime, timedelta, timezone
from typing import Final, NamedTuple

import msgspec

from alama.statements.ledger import Direction, Entry, Kind, Pseudonyms, Statement, Status
from alama.training.population.ledgers import Ledger, Leg, figures
from alama.training.population.printed import MpesaLine, MtnLine, mpesa_lines, mtn_lines, party_of
from tests.statement_pdfs import Sheet, draw_mpesa, draw_mtn

KENYA: Final = timezone(timedelta(hours=3))
NAMES: Final = Pseudonyms(b"k" * 32)
HOLDER: Final = "JANE WANJIKU OTIENO"

_IN: Final = (
    Kind.PERSON_IN,
    Kind.MERCHANT_IN,
    Kind.BANK_IN,
    Kind.SALARY_IN,
    Kind.AGENT_IN,
    Kind.LOAN_IN,
    Kind.BETTING_IN,
    Kind.SAVINGS_IN,
)
_OUT: Final = (
    Kind.PERSON_OUT,
    Kind.PERSON_OUT,
    Kind.MERCHANT_OUT,
    Kind.BILL_OUT,
    Kind.BANK_OUT,
    Kind.AGENT_OUT,
    Kind.AIRTIME_OUT,
    Kind.AIRTIME_OUT,
    Kind.DATA_OUT,
    Kind.LOAN_OUT,
    Kind.BETTING_OUT,
    Kind.SAVINGS_OUT,
)
_COSTLY: Final = {Kind.PERSON_OUT, Kind.AGENT_OUT, Kind.BILL_OUT, Kind.BANK_OUT}


class Known(NamedTuple):
    """A ledger whose figures are known, and what its statement says around it."""

    entries: tuple[Entry, ...]
    sheet: Sheet
    seed: int

    def mpesa(self) -> list[MpesaLine]:
        return mpesa_lines(self.entries, self.sheet.opening, self.seed)

    def mtn(self) -> list[MtnLine]:
        return mtn_lines(self.entries, self.sheet.opening, self.sheet.holder, self.seed)

    def mpesa_pdf(self) -> bytes:
        return draw_mpesa(self.sheet, self.mpesa())

    def figures(self) -> dict[str, float]:
        """Count what the fields of the day of the statement should come to."""
        legs = tuple(
            Leg(**msgspec.structs.asdict(one) | {"balance_after": one.balance_after or 0})
            for one in self.entries
        )
        sheet, first = self.sheet, self.entries[0].at.date()
        covered = sheet.first_day if sheet.opening else first
        counted = figures(Ledger(legs, covered, sheet.made_on, "KES", self.seed, sheet.opening))
        months = [n for n in range(36) if _so_many_months_after(first, n) <= sheet.made_on]
        return counted | {"mm_months": max(months)}

    def mtn_pdf(self) -> bytes:
        return draw_mtn(self.sheet, self.mtn())


def _so_many_months_after(day: date, months: int) -> date:
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    return date(year, month + 1, min(day.day, 28))


def known(seed: int, rows: int = 60, password: str | None = None, legs: int = 3) -> Known:
    """Give a ledger of about so many rows; acts have up to so many legs: itself, costs, overdraft.

    Its first month is whole, so that fields can be worked out.
    """
    chance = random.Random(seed)  # noqa: S311 - repeatable on purpose
    opening = balance = chance.randrange(0, 20_000_00)
    at = datetime(2026, 1, 1, 6, tzinfo=KENYA)
    step_s = int(timedelta(days=220) / timedelta(seconds=1) / max(rows, 1))
    entries = list[Entry]()
    while len(entries) < rows:
        at += timedelta(seconds=chance.randrange(60, 2 * step_s + 61))
        for leg in _act(chance, f"act-{len(entries)}", at, balance, legs):
            balance = leg.balance_after or 0
            entries.append(leg)
    day = entries[-1].at.date()
    sheet = Sheet(
        HOLDER,
        "2547******12",
        entries[0].at.date() - timedelta(days=1),
        day,
        day + timedelta(days=1),
        opening,
        balance,
        password,
    )
    return Known(tuple(entries), sheet, seed)


def _act(
    chance: random.Random, group: str, at: datetime, balance: int, legs_max: int
) -> list[Entry]:
    kind = chance.choice(_OUT if balance > 1_000_00 and chance.random() < 0.6 else _IN)
    legs = [(kind, chance.randrange(10_00, 9_000_00))]
    if kind in _COSTLY and legs_max > 1:
        legs.append((Kind.CHARGE, chance.choice((6_00, 13_00, 27_00))))
    needed = sum(amount for _, amount in legs) - balance
    if kind in _OUT and needed > 0:
        if legs_max > 2:
            legs.append((Kind.OVERDRAFT_IN, needed))
        else:
            legs = [(Kind.PERSON_IN, legs[0][1])]
    found = list[Entry]()
    for place, (what, amount) in enumerate(legs, start=1):
        came = what in _IN or what is Kind.OVERDRAFT_IN
        balance += amount if came else -amount
        counterparty = f"{what.split('_')[0]}-{chance.randrange(12)}"
        nameless = party_of(_entry("x", at, 1, came, 0, what, counterparty, "x")) is None
        other = None if nameless else counterparty
        found.append(_entry(f"{group}/{place}", at, amount, came, balance, what, other, group))
    return found


def _entry(  # noqa: PLR0917
    id_: str,
    at: datetime,
    amount: int,
    came: bool,  # noqa: FBT001
    after: int,
    kind: Kind,
    counterparty: str | None,
    group: str,
) -> Entry:
    direction = Direction.IN if came else Direction.OUT
    return Entry(id_, at, amount, direction, after, kind, counterparty, Status.COMPLETED, group)


def facts(entries: tuple[Entry, ...]) -> list[tuple[object, ...]]:
    """Give what two ledgers have to have in common: all but what their ids are called.

    A counterparty or a group is told by where it stood first.
    """
    first: dict[tuple[str, str], int] = {}
    return [
        (
            entry.at.replace(microsecond=0),
            entry.amount,
            entry.direction,
            entry.balance_after,
            entry.kind,
            entry.status,
            entry.counterparty
            and first.setdefault(("counterparty", entry.counterparty), len(first)),
            first.setdefault(("group", entry.group), len(first)),
        )
        for entry in entries
    ]


def same(statement: Statement, wanted: Known) -> bool:
    return facts(statement.entries) == facts(wanted.entries)


def csv_of(wanted: Known) -> bytes:
    """Give the rows of M-PESA's statement as a CSV file."""
    header = "Receipt No.,Completion Time,Details,Transaction Status,Paid In,Withdrawn,Balance"
    lines = [
        f"{line.receipt},{line.at:%Y-%m-%d %H:%M:%S},{line.details},{line.status},"
        f"{max(line.signed, 0) / 100:.2f},{min(line.signed, 0) / 100:.2f},{line.balance / 100:.2f}"
        for line in wanted.mpesa()
    ]
    return "\n".join([header, *lines, ""]).encode()
