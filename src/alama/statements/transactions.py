"""Transactions as JSON: GSMA Mobile Money 1.2, Mono, and the ledger's own entries."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import msgspec

from alama.statements.cells import DIGITS_MAX, BadCell, hundredths, moment
from alama.statements.ledger import Declared, Direction, Kind, Pseudonyms, Statement, Status, Unread
from alama.statements.problems import StatementUnreadable
from alama.statements.rows import Row, Source, assemble
from alama.statements.wallets import oldest_first, reason, status_of, with_running_balance

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import tzinfo

ROWS_MAX: Final = 200_000
MEMBERS_MAX: Final = 2_000_000
"""Each takes some hundred bytes of memory, and no more than eight of a file of the largest."""
Json = dict[str, Any]

_GSMA_TYPES: Final = {
    ("billpay", Direction.OUT): Kind.BILL_OUT,
    ("merchantpay", Direction.OUT): Kind.MERCHANT_OUT,
    ("merchantpay", Direction.IN): Kind.MERCHANT_IN,
    ("deposit", Direction.IN): Kind.AGENT_IN,
    ("withdrawal", Direction.OUT): Kind.AGENT_OUT,
    ("transfer", Direction.IN): Kind.PERSON_IN,
    ("transfer", Direction.OUT): Kind.PERSON_OUT,
    ("inttransfer", Direction.IN): Kind.PERSON_IN,
    ("inttransfer", Direction.OUT): Kind.PERSON_OUT,
    ("reversal", Direction.IN): Kind.REVERSAL,
    ("reversal", Direction.OUT): Kind.REVERSAL,
}
"""What the type of a transaction says; its sub-type and words are asked first."""


def read_json(content: bytes, names: Pseudonyms, zone: tzinfo) -> Statement:
    """Read transactions in whichever of the three shapes they come."""
    told = _loaded(content)
    head: Json = told if isinstance(told, dict) else {}
    rows = next(
        (
            head[name]
            for name in ("transactions", "statementEntries", "data", "entries")
            if isinstance(head.get(name), list)
        ),
        told,
    )
    if not isinstance(rows, list):
        raise StatementUnreadable(
            "the document has no list of transactions",
            hint="send an object whose `transactions` is a list, or the list itself",
        )
    if len(rows) > ROWS_MAX:
        raise StatementUnreadable(f"there are more than {ROWS_MAX:,} transactions")
    first = next((row for row in rows if isinstance(row, dict)), {})
    if "transactionReference" in first:
        return _Gsma(head, rows, names, zone).statement()
    if "narration" in first:
        return _each("mono_json", head, rows, names, _mono(zone))
    return _each("json", head, rows, names, _own(zone))


def _loaded(content: bytes) -> object:
    if sum(map(content.count, (b",", b"[", b"{"))) > MEMBERS_MAX:
        raise StatementUnreadable("the document has more members than any of transactions")
    try:
        # Figures stay text until they are money: no double comes between.
        return json.loads(content.decode("utf-8-sig"), parse_float=_written_out, parse_int=str)
    except (UnicodeDecodeError, json.JSONDecodeError):
        raise StatementUnreadable("the document is not JSON, or not in UTF-8") from None
    except RecursionError:
        raise StatementUnreadable("the document is nested too deeply") from None


_PLACES_MAX: Final = 20


def _written_out(figures: str) -> str:
    """Write 1.5E7 out, as some languages put fifteen millions."""
    if "e" not in figures.lower():
        return figures
    value = Decimal(figures)
    return f"{value:f}" if abs(value.adjusted()) <= _PLACES_MAX else figures


def _text(row: Mapping[str, Any], *keys: str) -> str:
    """Give the first of these members that is text or a figure; empty where none is."""
    for key in keys:
        value = row.get(key)
        if isinstance(value, str):
            return value.strip()
    return ""


def declared_of(head: Json, names: Pseudonyms, zone: tzinfo) -> Declared:
    """Read what the document says of itself, under the names that this interface gives it."""

    def day(*keys: str) -> Any:  # noqa: ANN401 - a date or none
        text = _text(head, *keys)
        return moment(text, zone).astimezone(zone).date() if text else None

    holder = _text(head, "holder")
    try:
        return Declared(
            first_day=day("first_day", "fromDate"),
            last_day=day("last_day", "toDate"),
            made_on=day("made_on", "createdDate"),
            opened_on=day("opened_on"),
            opening=hundredths(_text(head, "opening_balance", "openingBalance")),
            closing=hundredths(_text(head, "closing_balance", "closingBalance")),
            paid_in=hundredths(_text(head, "paid_in", "totalCredits")),
            paid_out=hundredths(_text(head, "paid_out", "totalDebits")),
            holder=names.holder(holder) if holder else None,
        )
    except ValueError:
        raise StatementUnreadable(
            "what the document says of itself cannot be read",
            hint="dates are written 2026-08-31, amounts 1234.50",
        ) from None


def _each(
    format_name: str,
    head: Json,
    rows: list[Any],
    names: Pseudonyms,
    read: Callable[[int, Json], Row],
) -> Statement:
    found: list[Row] = []
    bad: list[Unread] = []
    for number, row in enumerate(rows, start=1):
        try:
            found.append(read(number, row))
        except (BadCell, ValueError, OverflowError, AttributeError, KeyError, TypeError) as error:
            bad.append(Unread(number, reason(error)))
    declared = declared_of(head, names, UTC)
    currency = _text(head, "currency") or None
    return assemble(
        Source(format_name, None, currency),
        oldest_first(found, lambda row: row.at),
        names,
        unread=bad,
        declared=declared,
    )


def _own(zone: tzinfo) -> Callable[[int, Json], Row]:
    def read(number: int, row: Json) -> Row:
        direction = Direction(row["direction"])
        amount = hundredths(_text(row, "amount"))
        if amount is None or amount <= 0:
            raise BadCell("needs an amount above 0")
        kind = Kind(row["kind"]) if row.get("kind") is not None else None
        return Row(
            number,
            _text(row, "id") or None,
            moment(_text(row, "at"), zone),
            _text(row, "details"),
            status_of(_text(row, "status")),
            amount * direction.sign,
            hundredths(_text(row, "balance_after")),
            kind,
            _text(row, "counterparty") or None,
            _text(row, "group") or None,
            _text(row, "reverses") or None,
        )

    return read


def _mono(zone: tzinfo) -> Callable[[int, Json], Row]:
    """Mono's transactions: amounts and balances in hundredths already."""

    def read(number: int, row: Json) -> Row:
        signs = {"credit": 1, "debit": -1}
        balance = _text(row, "balance")
        return Row(
            number,
            _text(row, "id", "_id") or None,
            moment(_text(row, "date"), zone),
            _text(row, "narration"),
            Status.COMPLETED,
            signs[_text(row, "type").lower()] * abs(_minor(_text(row, "amount"))),
            _minor(balance) if balance else None,
        )

    return read


def _minor(text: str) -> int:
    if len(text) > DIGITS_MAX:
        raise BadCell("is no amount of money")
    return int(text)


class _Gsma:
    """GSMA transactions. Whose wallet it is: said by the document, or the party of every one."""

    def __init__(self, head: Json, rows: list[Any], names: Pseudonyms, zone: tzinfo) -> None:
        self._head, self._rows, self._names, self._zone = head, rows, names, zone
        self._holder = self._whose()

    def statement(self) -> Statement:
        found: list[Row] = []
        bad: list[Unread] = []
        for number, row in enumerate(self._rows, start=1):
            try:
                found += self._row(number, row)
            except (
                BadCell,
                ValueError,
                OverflowError,
                AttributeError,
                KeyError,
                TypeError,
            ) as wrong:
                bad.append(Unread(number, reason(wrong)))
        found = oldest_first(found, lambda row: row.at)
        declared = declared_of(self._head, self._names, self._zone)
        if all(row.balance is None for row in found):
            found = with_running_balance(found, declared.opening)
        currencies = {_text(row, "currency") for row in self._rows if isinstance(row, dict)} - {""}
        if len(currencies) > 1:
            raise StatementUnreadable(
                "the transactions are in several currencies", hint="send those of one wallet"
            )
        currency = _text(self._head, "currency") or next(iter(currencies), None)
        source = Source("gsma_json", None, currency)
        read = assemble(source, found, self._names, unread=bad, declared=declared)
        # Fees are legs, but no transactions.
        return msgspec.structs.replace(read, rows=len(self._rows))

    def _whose(self) -> str | None:
        account = self._head.get("account")
        if isinstance(account, dict):
            return next((value for value in account.values() if isinstance(value, str)), None)
        if isinstance(account, str):
            return account
        seen: Counter[str] = Counter()
        for row in self._rows:
            if isinstance(row, dict):
                sides = (_parties(row.get("creditParty")), _parties(row.get("debitParty")))
                seen.update(set().union(*sides))
        everywhere = [party for party, many in seen.items() if many == len(self._rows)]
        return everywhere[0] if len(everywhere) == 1 else None

    def _row(self, number: int, row: Json) -> list[Row]:
        came = self._holder is not None and self._holder in _parties(row.get("creditParty"))
        went = self._holder is not None and self._holder in _parties(row.get("debitParty"))
        if came == went:
            raise BadCell("does not tell whether money came or went")
        direction = Direction.IN if came else Direction.OUT
        other = _parties(row.get("debitParty" if came else "creditParty"))
        amount = hundredths(_text(row, "amount"))
        if amount is None:
            raise BadCell("needs an amount")
        kind = _text(row, "type").lower()
        sub = _text(row, "subType").lower()
        is_fee = sub in {"charge", "fee", "tax"}
        main = Row(
            number,
            _text(row, "transactionReference"),
            moment(_text(row, "modificationDate", "creationDate", "requestDate"), self._zone),
            _text(row, "descriptionText", "displayType"),
            status_of(_text(row, "transactionStatus")),
            direction.sign * amount,
            _balance(row),
            Kind.CHARGE if is_fee else _kind(sub) or _GSMA_TYPES.get((kind, direction)),
            min(other, default=None),
            _text(row, "requestingOrganisationTransactionReference") or None,
            _text(row, "originalTransactionReference") or None,
        )
        if direction is Direction.IN:
            return [main]
        fees = [hundredths(_text(one, "feeAmount")) for one in row.get("fees") or ()]
        return [
            main,
            *(main._replace(signed=-fee, kind=Kind.CHARGE, party=None) for fee in fees if fee),
        ]


def _kind(sub: str) -> Kind | None:
    try:
        return Kind(sub)
    except ValueError:
        return None


def _balance(row: Json) -> int | None:
    for one in row.get("metadata") or ():
        if one.get("key") == "balanceAfter":
            return hundredths(_text(one, "value"))
    return None


def _parties(side: object) -> set[str]:
    if not isinstance(side, list):
        return set()
    return {
        one["value"]
        for one in side
        if isinstance(one, dict) and isinstance(one.get("value"), str) and one["value"]
    }
