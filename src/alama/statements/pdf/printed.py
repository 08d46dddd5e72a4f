"""What a provider prints of a ledger: receipts, words, rows. For people who do not exist.

The reverse of reading: from entries whose figures are known to the rows that say them, so that the
way from a PDF to fields can be held against a truth. Names are made up from pseudonyms.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from alama.statements.ledger import Direction, Entry, Kind, Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

_DIGITS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_FIRST_YEAR: Final = 2006
"""Of the letter A with which a receipt begins."""

_GIVEN: Final = (
    "Amina",
    "Brian",
    "Cynthia",
    "Dennis",
    "Esther",
    "Hassan",
    "Irene",
    "Joseph",
    "Mary",
)
_FAMILY: Final = ("Achieng", "Barasa", "Chebet", "Diang'a", "Gitonga", "Kamau", "Okello", "Rotich")
_SHOPS: Final = (
    "Mama Mboga Greens",
    "Sunrise Hardware",
    "Lakeside Chemist",
    "Hilltop Butchery",
    "Baraka General Stores and Wholesalers",
)
_BILLERS: Final = ("KPLC Prepaid", "Nairobi Water", "DSTV", "School Fees Collection")
_BANKS: Final = ("Equity Bank", "KCB Bank", "Co-op Bank", "Absa Bank")
_EMPLOYERS: Final = ("Jiko Farms Ltd", "Taifa Transport Ltd", "Pwani Textiles Ltd")
_LENDERS: Final = ("Tala", "Branch International", "Zenka", "Okash", "Timiza")
_BOOKMAKERS: Final = ("SportPesa", "Betika", "Odibets")
_NAMES: Final = {
    **dict.fromkeys((Kind.MERCHANT_IN, Kind.MERCHANT_OUT, Kind.AGENT_IN, Kind.AGENT_OUT), _SHOPS),
    Kind.BILL_OUT: _BILLERS,
    **dict.fromkeys((Kind.BANK_IN, Kind.BANK_OUT), _BANKS),
    Kind.SALARY_IN: _EMPLOYERS,
    **dict.fromkeys((Kind.LOAN_IN, Kind.LOAN_OUT), _LENDERS),
    **dict.fromkeys((Kind.BETTING_IN, Kind.BETTING_OUT), _BOOKMAKERS),
}
"""Of who has a till; whoever else is a person with a number."""

_WORDS: Final = {
    (Kind.PERSON_IN, Direction.IN): "Funds received from",
    (Kind.PERSON_OUT, Direction.OUT): "Customer Transfer to",
    (Kind.MERCHANT_IN, Direction.IN): "Merchant Payment from",
    (Kind.MERCHANT_OUT, Direction.OUT): "Merchant Payment to",
    (Kind.BILL_OUT, Direction.OUT): "Pay Bill to",
    (Kind.BANK_IN, Direction.IN): "Business Payment from",
    (Kind.BANK_OUT, Direction.OUT): "Pay Bill to",
    (Kind.SALARY_IN, Direction.IN): "Salary Payment from",
    (Kind.AGENT_IN, Direction.IN): "Deposit of Funds at Agent Till",
    (Kind.AGENT_OUT, Direction.OUT): "Customer Withdrawal At Agent Till",
    (Kind.AIRTIME_OUT, Direction.OUT): "Airtime Purchase",
    (Kind.DATA_OUT, Direction.OUT): "Buy Bundles Online",
    (Kind.SAVINGS_IN, Direction.IN): "M-Shwari Withdraw",
    (Kind.SAVINGS_OUT, Direction.OUT): "M-Shwari Deposit",
    (Kind.LOAN_IN, Direction.IN): "Business Payment from",
    (Kind.LOAN_OUT, Direction.OUT): "Pay Bill to",
    (Kind.OVERDRAFT_IN, Direction.IN): "OverDraft of Credit Party",
    (Kind.OVERDRAFT_OUT, Direction.OUT): "OD Loan Repayment to 232323 - M-PESA Overdraw",
    (Kind.BETTING_IN, Direction.IN): "Promotion Payment from",
    (Kind.BETTING_OUT, Direction.OUT): "Pay Bill to",
    (Kind.OWN_TRANSFER, Direction.IN): "Transfer from own account",
    (Kind.OWN_TRANSFER, Direction.OUT): "Transfer to own account",
    (Kind.OTHER_IN, Direction.IN): "Miscellaneous Credit",
    (Kind.OTHER_OUT, Direction.OUT): "Miscellaneous Debit",
}

_CHARGES: Final = {
    Kind.PERSON_OUT: "Customer Transfer of Funds Charge",
    Kind.AGENT_OUT: "Withdrawal Charge",
    Kind.BILL_OUT: "Pay Bill Charge",
    Kind.BANK_OUT: "Pay Bill Charge",
}

_MTN_TYPES: Final = {
    Kind.PERSON_IN: "Transfer",
    Kind.PERSON_OUT: "Transfer",
    Kind.MERCHANT_IN: "Payment",
    Kind.MERCHANT_OUT: "Payment",
    Kind.BILL_OUT: "Bill Payment",
    Kind.BANK_IN: "Bank Transfer",
    Kind.BANK_OUT: "Bank Transfer",
    Kind.SALARY_IN: "Salary",
    Kind.AGENT_IN: "Cash In",
    Kind.AGENT_OUT: "Cash Out",
    Kind.AIRTIME_OUT: "Airtime",
    Kind.DATA_OUT: "Data Bundle",
    Kind.SAVINGS_IN: "Savings",
    Kind.SAVINGS_OUT: "Savings",
    Kind.LOAN_IN: "Loan",
    Kind.LOAN_OUT: "Loan",
    Kind.OVERDRAFT_IN: "Overdraft",
    Kind.OVERDRAFT_OUT: "Overdraft",
    Kind.CHARGE: "Service Fee",
    Kind.REVERSAL: "Reversal",
    Kind.OWN_TRANSFER: "Own Account",
    Kind.OTHER_IN: "Adjustment",
    Kind.OTHER_OUT: "Adjustment",
}

_NAMELESS: Final = frozenset(
    {
        Kind.AIRTIME_OUT,
        Kind.DATA_OUT,
        Kind.SAVINGS_IN,
        Kind.SAVINGS_OUT,
        Kind.OVERDRAFT_IN,
        Kind.OVERDRAFT_OUT,
        Kind.OWN_TRANSFER,
        Kind.CHARGE,
        Kind.REVERSAL,
    }
)
"""What names nobody where it is printed."""

_STATUSES: Final = {
    Status.COMPLETED: "Completed",
    Status.PENDING: "Pending",
    Status.FAILED: "Failed",
    Status.REVERSED: "Reversed",
}


class MpesaLine(NamedTuple):
    """A row of M-PESA's seven columns; money in hundredths, `signed` above 0 where it came."""

    receipt: str
    at: datetime
    details: str
    status: str
    signed: int
    balance: int


class MtnLine(NamedTuple):
    """A row of MTN's columns; money in hundredths, without a sign."""

    at: datetime
    type: str
    description: str
    id: str
    payer: str
    payee: str
    amount: int
    fees: int
    taxes: int
    balance: int


def mpesa_lines(entries: Sequence[Entry], opening: int, seed: int) -> list[MpesaLine]:
    """Give the rows of entries, which stand in their order, newest first.

    The balance of a row is what the entries until then come to.
    """
    kinds = _main_kinds(entries)
    groups = {entry.id: entry.group for entry in entries}
    lines, balance = list[MpesaLine](), opening
    for entry in entries:
        balance += entry.signed if entry.status is Status.COMPLETED else 0
        receipt = _receipt(entry.group, entry.at, seed)
        details = _mpesa_words(entry, kinds[entry.group])
        if entry.kind is Kind.REVERSAL:
            of = entry.reverses and groups.get(entry.reverses)
            details = (
                f"Transfer Reversal of {_receipt(of, entry.at, seed)}"
                if of
                else ("Transaction Reversal")
            )
        status = _STATUSES[entry.status]
        lines.append(MpesaLine(receipt, entry.at, details, status, entry.signed, balance))
    return lines[::-1]


def mtn_lines(entries: Sequence[Entry], opening: int, holder: str, seed: int) -> list[MtnLine]:
    """Give one row for each act and its costs, newest first. Only completed acts are printed."""
    lines, balance = list[MtnLine](), opening
    for legs in _acts(entries):
        main, costs = legs[0], [leg.amount for leg in legs[1:]]
        balance += sum(leg.signed for leg in legs)
        other = party_of(main)
        name = "" if other is None else f"{other.number} {other.name}"
        came = main.direction is Direction.IN
        lines.append(
            MtnLine(
                main.at,
                _MTN_TYPES.get(main.kind, "Betting"),
                _mtn_words(main, name),
                _number("mtn", main.group, seed, 11),
                name if came else holder,
                holder if came else name,
                main.amount,
                costs[0] if costs else 0,
                sum(costs[1:]),
                balance,
            )
        )
    return lines[::-1]


class Party(NamedTuple):
    """Who is on the other side, made up: a masked number or a till, and a name."""

    number: str
    name: str


def party_of(entry: Entry) -> Party | None:
    """Give the other side of an entry; the same pseudonym is the same party."""
    if entry.counterparty is None or entry.kind in _NAMELESS:
        return None
    names = _NAMES.get(entry.kind)
    if names is None:
        return Party(_masked(entry.counterparty), _person(entry.counterparty))
    name = names[_digest("name", entry.counterparty) % len(names)]
    return Party(_number("till", entry.counterparty, 0, 6), name)


def _mpesa_words(entry: Entry, main: Kind) -> str:
    if entry.kind is Kind.CHARGE:
        return _CHARGES.get(main, "Transaction Charge")
    words = _WORDS.get((entry.kind, entry.direction), "Miscellaneous Adjustment")
    other = party_of(entry)
    if other is None:
        return words.removesuffix(" to").removesuffix(" from")
    account = " Acc. 01******9" if entry.kind in {Kind.BILL_OUT, Kind.BANK_OUT} else ""
    return f"{words} {other.number} - {other.name}{account}"


def _mtn_words(entry: Entry, name: str) -> str:
    if entry.kind in {Kind.BETTING_IN, Kind.BETTING_OUT}:
        return f"SPORTPESA {name}".strip()
    if not name:
        return ""
    return f"from {name}" if entry.direction is Direction.IN else f"to {name}"


def _main_kinds(entries: Iterable[Entry]) -> dict[str, Kind]:
    kinds = dict[str, Kind]()
    for entry in entries:
        if kinds.get(entry.group, Kind.CHARGE) is Kind.CHARGE:
            kinds[entry.group] = entry.kind
    return kinds


def _acts(entries: Iterable[Entry]) -> list[list[Entry]]:
    """Give each leg that is no charge with the charges of its group; a charge alone is an act."""
    by_group = defaultdict[str, list[list[Entry]]](list)
    acts = list[list[Entry]]()
    for entry in entries:
        if entry.status is not Status.COMPLETED:
            continue
        here = by_group[entry.group]
        if entry.kind is Kind.CHARGE and here:
            here[0].append(entry)
        else:
            here.append([entry])
            acts.append(here[-1])
    return acts


def _digest(*told: object) -> int:
    text = "|".join(map(str, told)).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")


def _person(counterparty: str) -> str:
    first, second = _digest("given", counterparty), _digest("family", counterparty)
    return f"{_GIVEN[first % len(_GIVEN)]} {_FAMILY[second % len(_FAMILY)]}"


def _masked(counterparty: str) -> str:
    return f"2547******{_digest('phone', counterparty) % 1000:03d}"


def _number(what: str, told: str, seed: int, digits: int) -> str:
    lowest = 10 ** (digits - 1)
    return str(lowest + _digest(what, told, seed) % (9 * lowest))


def _receipt(group: str, at: datetime, seed: int) -> str:
    """Give ten signs: a letter for the year and one for the month, a sign for the day, the rest."""
    rest, number = "", _digest("receipt", group, seed)
    for _ in range(7):
        number, digit = divmod(number, 36)
        rest += _DIGITS[digit]
    year, month = (_DIGITS[10 + (at.year - _FIRST_YEAR) % 26], _DIGITS[9 + at.month])
    return f"{year}{month}{_DIGITS[at.day]}{rest}"
