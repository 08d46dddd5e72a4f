"""What a provider prints of a ledger: receipts, words, rows. For people who do not exist.

The reverse of reading: from legs whose figures are known to the rows that say them, so that the
way from a statement to fields can be held against a truth. Names are made up from pseudonyms.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime


class Leg(Protocol):
    """A leg of an act, as the ledger of `statements` has it; money in hundredths."""

    @property
    def id(self) -> str: ...
    @property
    def at(self) -> datetime: ...
    @property
    def amount(self) -> int: ...
    @property
    def direction(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def counterparty(self) -> str | None: ...
    @property
    def status(self) -> str: ...
    @property
    def group(self) -> str: ...
    @property
    def reverses(self) -> str | None: ...
    @property
    def signed(self) -> int: ...


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
    **dict.fromkeys(("merchant_in", "merchant_out", "agent_in", "agent_out"), _SHOPS),
    "bill_out": _BILLERS,
    **dict.fromkeys(("bank_in", "bank_out"), _BANKS),
    "salary_in": _EMPLOYERS,
    **dict.fromkeys(("loan_in", "loan_out"), _LENDERS),
    **dict.fromkeys(("betting_in", "betting_out"), _BOOKMAKERS),
}
"""Of who has a till; whoever else is a person with a number."""

_WORDS: Final = {
    ("person_in", "in"): "Funds received from",
    ("person_out", "out"): "Customer Transfer to",
    ("merchant_in", "in"): "Merchant Payment from",
    ("merchant_out", "out"): "Merchant Payment to",
    ("bill_out", "out"): "Pay Bill to",
    ("bank_in", "in"): "Business Payment from",
    ("bank_out", "out"): "Pay Bill to",
    ("salary_in", "in"): "Salary Payment from",
    ("agent_in", "in"): "Deposit of Funds at Agent Till",
    ("agent_out", "out"): "Customer Withdrawal At Agent Till",
    ("airtime_out", "out"): "Airtime Purchase",
    ("data_out", "out"): "Buy Bundles Online",
    ("savings_in", "in"): "M-Shwari Withdraw",
    ("savings_out", "out"): "M-Shwari Deposit",
    ("loan_in", "in"): "Business Payment from",
    ("loan_out", "out"): "Pay Bill to",
    ("overdraft_in", "in"): "OverDraft of Credit Party",
    ("overdraft_out", "out"): "OD Loan Repayment to 232323 - M-PESA Overdraw",
    ("betting_in", "in"): "Promotion Payment from",
    ("betting_out", "out"): "Pay Bill to",
    ("own_transfer", "in"): "Transfer from own account",
    ("own_transfer", "out"): "Transfer to own account",
    ("other_in", "in"): "Miscellaneous Credit",
    ("other_out", "out"): "Miscellaneous Debit",
}

_CHARGES: Final = {
    "person_out": "Customer Transfer of Funds Charge",
    "agent_out": "Withdrawal Charge",
    "bill_out": "Pay Bill Charge",
    "bank_out": "Pay Bill Charge",
}

_MTN_TYPES: Final = {
    "person_in": "Transfer",
    "person_out": "Transfer",
    "merchant_in": "Payment",
    "merchant_out": "Payment",
    "bill_out": "Bill Payment",
    "bank_in": "Bank Transfer",
    "bank_out": "Bank Transfer",
    "salary_in": "Salary",
    "agent_in": "Cash In",
    "agent_out": "Cash Out",
    "airtime_out": "Airtime",
    "data_out": "Data Bundle",
    "savings_in": "Savings",
    "savings_out": "Savings",
    "loan_in": "Loan",
    "loan_out": "Loan",
    "overdraft_in": "Overdraft",
    "overdraft_out": "Overdraft",
    "charge": "Service Fee",
    "reversal": "Reversal",
    "own_transfer": "Own Account",
    "other_in": "Adjustment",
    "other_out": "Adjustment",
}

_NAMELESS: Final = frozenset(
    {
        "airtime_out",
        "data_out",
        "savings_in",
        "savings_out",
        "overdraft_in",
        "overdraft_out",
        "own_transfer",
        "charge",
        "reversal",
    }
)
"""What names nobody where it is printed."""

_STATUSES: Final = {
    "completed": "Completed",
    "pending": "Pending",
    "failed": "Failed",
    "reversed": "Reversed",
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


def mpesa_lines(entries: Sequence[Leg], opening: int, seed: int) -> list[MpesaLine]:
    """Give the rows of entries, which stand in their order, newest first.

    The balance of a row is what the entries until then come to.
    """
    kinds = _main_kinds(entries)
    receipt_of = {entry.id: receipt(entry, seed) for entry in entries}
    lines, balance = list[MpesaLine](), opening
    for entry in entries:
        balance += entry.signed if entry.status == "completed" else 0
        details = _mpesa_words(entry, kinds[entry.group])
        if entry.kind == "reversal":
            of = receipt_of.get(entry.reverses or "")
            details = f"Transfer Reversal of {of}" if of else "Transaction Reversal"
        status = _STATUSES[entry.status]
        lines.append(
            MpesaLine(receipt_of[entry.id], entry.at, details, status, entry.signed, balance)
        )
    return lines[::-1]


def mtn_lines(entries: Sequence[Leg], opening: int, holder: str, seed: int) -> list[MtnLine]:
    """Give one row for each act and its costs, newest first. Only completed acts are printed."""
    lines, balance = list[MtnLine](), opening
    for legs in _acts(entries):
        main, costs = legs[0], [leg.amount for leg in legs[1:]]
        balance += sum(leg.signed for leg in legs)
        other = party_of(main)
        name = "" if other is None else f"{other.number} {other.name}"
        came = main.direction == "in"
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


def party_of(entry: Leg) -> Party | None:
    """Give the other side of an entry; the same pseudonym is the same party."""
    if entry.counterparty is None or entry.kind in _NAMELESS:
        return None
    names = _NAMES.get(entry.kind)
    if names is None:
        return Party(_masked(entry.counterparty), _person(entry.counterparty))
    name = names[_digest("name", entry.counterparty) % len(names)]
    return Party(_number("till", entry.counterparty, 0, 6), name)


def _mpesa_words(entry: Leg, main: str) -> str:
    if entry.kind == "charge":
        return _CHARGES.get(main, "Transaction Charge")
    words = _WORDS.get((entry.kind, entry.direction), "Miscellaneous Adjustment")
    other = party_of(entry)
    if other is None:
        return words.removesuffix(" to").removesuffix(" from")
    account = " Acc. 01******9" if entry.kind in {"bill_out", "bank_out"} else ""
    return f"{words} {other.number} - {other.name}{account}"


def _mtn_words(entry: Leg, name: str) -> str:
    if entry.kind in {"betting_in", "betting_out"}:
        return f"SPORTPESA {name}".strip()
    if not name:
        return ""
    return f"from {name}" if entry.direction == "in" else f"to {name}"


def _main_kinds(entries: Iterable[Leg]) -> dict[str, str]:
    kinds = dict[str, str]()
    for entry in entries:
        if kinds.get(entry.group, "charge") == "charge":
            kinds[entry.group] = entry.kind
    return kinds


def _acts(entries: Iterable[Leg]) -> list[list[Leg]]:
    """Give each leg that is no charge with the charges of its group; a charge alone is an act."""
    by_group = defaultdict[str, list[list[Leg]]](list)
    acts = list[list[Leg]]()
    for entry in entries:
        if entry.status != "completed":
            continue
        here = by_group[entry.group]
        if entry.kind == "charge" and here:
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


def receipt(leg: Leg, seed: int) -> str:
    """Give ten signs: a letter for the year and one for the month, a sign for the day, the rest."""
    at = leg.at
    rest, number = "", _digest("receipt", leg.group, seed)
    for _ in range(7):
        number, digit = divmod(number, 36)
        rest += _DIGITS[digit]
    year, month = (_DIGITS[10 + (at.year - _FIRST_YEAR) % 26], _DIGITS[9 + at.month])
    return f"{year}{month}{_DIGITS[at.day]}{rest}"
