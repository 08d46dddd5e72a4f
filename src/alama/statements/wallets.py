"""Tables of wallets: M-PESA Kenya, MTN Uganda, Orange Money. Cells in, a statement out.

Whatever found the cells, a CSV file or a PDF, hands them over in the order of the columns below.
"""

from __future__ import annotations

from datetime import timedelta, timezone
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from alama.platform.files.asis.likeness import Holds, Target
from alama.statements.cells import BadCell, hundredths, moment
from alama.statements.ledger import Check, Declared, Kind, Pseudonyms, Statement, Status, Unread
from alama.statements.rows import Row, Source, assemble

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime, tzinfo

EAST_AFRICA: Final = timezone(timedelta(hours=3))

MPESA: Final = (
    Target("receipt no.", Holds.ID),
    Target("completion time", Holds.DAY, always=True),
    Target("details", Holds.WORD),
    Target("transaction status", Holds.WORD),
    Target("paid in", Holds.NUMBER),
    Target("withdrawn", Holds.NUMBER),
    Target("balance", Holds.NUMBER),
)
MTN: Final = (
    Target("date & time", Holds.DAY, always=True),
    Target("type", Holds.WORD),
    Target("description", Holds.WORD),
    Target("id", Holds.ID),
    Target("from", Holds.WORD),
    Target("to", Holds.WORD),
    Target("amount", Holds.NUMBER),
    Target("fees", Holds.NUMBER),
    Target("taxes", Holds.NUMBER),
    Target("balance", Holds.NUMBER),
)
ORANGE: Final = (
    Target("n°", Holds.WORD),
    Target("référence", Holds.ID),
    Target("débit", Holds.NUMBER),
    Target("crédit", Holds.NUMBER),
    Target("date", Holds.DAY, always=True),
    Target("service", Holds.WORD),
    Target("statut", Holds.WORD),
)

STATUSES: Final = {
    **dict.fromkeys(
        (
            "",
            "completed",
            "complete",
            "success",
            "successful",
            "succès",
            "succes",
            "booked",
            "book",
        ),
        Status.COMPLETED,
    ),
    **dict.fromkeys(("pending", "en cours", "pdng", "in progress", "en attente"), Status.PENDING),
    **dict.fromkeys(
        ("failed", "declined", "cancelled", "canceled", "rejected", "échec", "echec", "échoué"),
        Status.FAILED,
    ),
    **dict.fromkeys(("reversed", "annulé", "annule"), Status.REVERSED),
}


WRONG_WIDTH: Final = "has not as many cells as the header"


def status_of(text: str) -> Status:
    """Read how far a transaction came."""
    found = STATUSES.get(text.strip().casefold())
    if found is None:
        raise BadCell("is no status that is known here")
    return found


def mpesa(
    table: Iterable[tuple[int, Sequence[str]]],
    names: Pseudonyms,
    *,
    format_name: str = "mpesa_csv",
    declared: Declared | None = None,
    unread: Sequence[Unread] = (),
    checks: Sequence[Check] = (),
) -> Statement:
    """Read the seven columns of M-PESA Kenya, whose Withdrawn may carry a minus."""

    def row(number: int, cells: Sequence[str]) -> list[Row]:
        receipt, at, words, status, paid_in, withdrawn, balance = cells
        moved = (hundredths(paid_in) or 0) - abs(hundredths(withdrawn) or 0)
        when = moment(at, EAST_AFRICA, None)  # day first or month first, nobody knows
        return [
            Row(
                number,
                receipt.strip(),
                when,
                words.strip(),
                status_of(status),
                moved,
                hundredths(balance),
            )
        ]

    rows, bad = rows_of(table, len(MPESA), row)
    return assemble(
        Source(format_name, "mpesa", "KES"),
        rows,
        names,
        unread=[*unread, *bad],
        declared=declared,
        checks=checks,
    )


_MTN_IN: Final = ("cash in", "deposit", "received", "receive", "salary", "bank to wallet", "refund")


def mtn(
    table: Iterable[tuple[int, Sequence[str]]],
    names: Pseudonyms,
    *,
    format_name: str = "mtn_csv",
    declared: Declared | None = None,
    unread: Sequence[Unread] = (),
    checks: Sequence[Check] = (),
) -> Statement:
    """Read the ten columns of MTN Uganda: amounts have no sign, fees and taxes no row of their own.

    Where the money went follows from the balances before and after; for the first row, and where
    they do not tell, from the words.
    """
    bad: list[Unread] = []
    told: list[_MtnRow] = []
    for number, cells in table:
        try:
            told.append(_MtnRow(number, cells))
        except (BadCell, ValueError) as error:
            bad.append(Unread(number, reason(error)))
    told = oldest_first(told, lambda one: one.at)
    rows: list[Row] = []
    before = None if declared is None else declared.opening
    for one in told:
        rows += one.legs(before)
        before = one.balance if one.status is Status.COMPLETED else before
    read = assemble(
        Source(format_name, "mtn", "UGX"),
        rows,
        names,
        unread=[*unread, *bad],
        declared=declared,
        checks=checks,
    )
    # Fees and taxes are legs, but no rows.
    return msgspec.structs.replace(read, rows=len(told) + len(unread) + len(bad))


class _MtnRow:
    """One row, of which its amount, fees and taxes are legs."""

    def __init__(self, number: int, cells: Sequence[str]) -> None:
        if len(cells) != len(MTN):
            raise BadCell(WRONG_WIDTH)
        at, kind, words, name, payer, payee, amount, fees, taxes, balance = cells
        self.number, self.name = number, name.strip()
        self.at = moment(at, EAST_AFRICA)
        self.words = f"{kind.strip()} {words.strip()}".strip()
        self.status = Status.FAILED if "failed" in self.words.casefold() else Status.COMPLETED
        self.payer, self.payee = payer.strip(), payee.strip()
        self.amount = abs(hundredths(amount) or 0)
        self.costs = [abs(hundredths(fees) or 0), abs(hundredths(taxes) or 0)]
        self.balance = hundredths(balance)

    def legs(self, before: int | None) -> list[Row]:
        sign = self._sign(before)
        party = self.payer if sign > 0 else self.payee
        after = self.balance
        main_after = None if after is None else after + sum(self.costs)
        legs = [self._leg(sign * self.amount, main_after, None, party or None)]
        for cost in self.costs:
            if cost:
                main_after = None if main_after is None else main_after - cost
                legs.append(self._leg(-cost, main_after, Kind.CHARGE, None))
        return legs

    def _leg(self, signed: int, after: int | None, kind: Kind | None, party: str | None) -> Row:
        return Row(
            self.number, self.name, self.at, self.words, self.status, signed, after, kind, party
        )

    def _sign(self, before: int | None) -> int:
        if before is not None and self.balance is not None and self.status is Status.COMPLETED:
            moved = self.balance - before + sum(self.costs)
            if abs(moved) == self.amount and moved:
                return 1 if moved > 0 else -1
        words = self.words.casefold()
        return 1 if any(word in words for word in _MTN_IN) else -1


def orange(
    table: Iterable[tuple[int, Sequence[str]]],
    names: Pseudonyms,
    zone: tzinfo,
    *,
    currency: str | None = None,
    declared: Declared | None = None,
    unread: Sequence[Unread] = (),
) -> Statement:
    """Read the columns of Orange Money; it has no balances, but those that its preamble tells."""

    def row(number: int, cells: Sequence[str]) -> list[Row]:
        _, name, debit, credit, at, words, status = cells
        moved = abs(hundredths(credit) or 0) - abs(hundredths(debit) or 0)
        when = moment(at, zone)
        said = status_of(status)
        return [Row(number, name.strip(), when, words.strip(), said, moved, None)]

    rows, bad = rows_of(table, len(ORANGE), row)
    told = declared or Declared()
    return assemble(
        Source("orange_csv", "orange", currency),
        with_running_balance(rows, told.opening),
        names,
        unread=[*unread, *bad],
        declared=told,
    )


def with_running_balance(rows: Sequence[Row], opening: int | None) -> list[Row]:
    """Give each row the balance that follows from the opening one, where no row tells its own."""
    if opening is None:
        return list(rows)
    balance, found = opening, []
    for row in rows:
        if row.status in {Status.COMPLETED, Status.REVERSED}:
            balance += row.signed
        found.append(row._replace(balance=balance))
    return found


def rows_of(
    table: Iterable[tuple[int, Sequence[str]]],
    width: int,
    read: Callable[[int, Sequence[str]], list[Row]],
) -> tuple[list[Row], list[Unread]]:
    """Read each row by itself: what cannot be read is named by its place, and why."""
    rows: list[Row] = []
    bad: list[Unread] = []
    for number, cells in table:
        if len(cells) != width:
            bad.append(Unread(number, WRONG_WIDTH))
            continue
        try:
            rows += read(number, cells)
        except (BadCell, ValueError, OverflowError) as error:
            bad.append(Unread(number, reason(error)))
    return oldest_first(rows, lambda row: row.at), bad


def reason(error: Exception) -> str:
    """Say why a row cannot be read, and nothing that stands in it."""
    # What others raise may repeat what stands in the cell.
    return str(error) if isinstance(error, BadCell) else "a cell is not what its column holds"


T = TypeVar("T")


def oldest_first(rows: list[T], at: Callable[[T], datetime]) -> list[T]:
    """Turn a table around that begins with the newest."""
    if len(rows) > 1 and at(rows[0]) > at(rows[-1]):
        return rows[::-1]
    return rows
