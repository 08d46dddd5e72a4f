"""The ledger: what every statement is read into, whatever wrote it.

Amounts are whole hundredths of the currency unit, times have a zone, and of a counterparty only
that two are the same is kept. Nothing here imports the service.
"""

from __future__ import annotations

import hashlib
import unicodedata
from datetime import date, datetime
from enum import StrEnum
from typing import Final

import msgspec

KINDS_VERSION: Final = "kinds/1"
"""The set of kinds is closed; another set has another version."""


class Direction(StrEnum):
    """Whether money came or went."""

    IN = "in"
    OUT = "out"

    @property
    def sign(self) -> int:
        return 1 if self is Direction.IN else -1


class Status(StrEnum):
    """How far a transaction came; only completed ones count as money."""

    COMPLETED = "completed"
    PENDING = "pending"
    FAILED = "failed"
    REVERSED = "reversed"


class Kind(StrEnum):
    """What an entry is (`kinds/1`)."""

    PERSON_IN = "person_in"
    PERSON_OUT = "person_out"
    MERCHANT_IN = "merchant_in"
    MERCHANT_OUT = "merchant_out"
    BILL_OUT = "bill_out"
    BANK_IN = "bank_in"
    BANK_OUT = "bank_out"
    SALARY_IN = "salary_in"
    AGENT_IN = "agent_in"
    AGENT_OUT = "agent_out"
    AIRTIME_OUT = "airtime_out"
    DATA_OUT = "data_out"
    SAVINGS_IN = "savings_in"
    SAVINGS_OUT = "savings_out"
    LOAN_IN = "loan_in"
    LOAN_OUT = "loan_out"
    OVERDRAFT_IN = "overdraft_in"
    OVERDRAFT_OUT = "overdraft_out"
    BETTING_IN = "betting_in"
    BETTING_OUT = "betting_out"
    CHARGE = "charge"
    REVERSAL = "reversal"
    OWN_TRANSFER = "own_transfer"
    OTHER_IN = "other_in"
    OTHER_OUT = "other_out"

    @classmethod
    def other(cls, direction: Direction) -> Kind:
        """Give the kind of what no pattern knows."""
        return cls.OTHER_IN if direction is Direction.IN else cls.OTHER_OUT


INFLOW: Final = frozenset(
    {
        Kind.PERSON_IN,
        Kind.MERCHANT_IN,
        Kind.BANK_IN,
        Kind.SALARY_IN,
        Kind.AGENT_IN,
        Kind.OTHER_IN,
    }
)
"""Earned or received. Borrowed, saved, returned and won money is none."""

OUTFLOW: Final = frozenset(
    {
        Kind.PERSON_OUT,
        Kind.MERCHANT_OUT,
        Kind.BILL_OUT,
        Kind.BANK_OUT,
        Kind.AGENT_OUT,
        Kind.AIRTIME_OUT,
        Kind.DATA_OUT,
        Kind.BETTING_OUT,
        Kind.CHARGE,
        Kind.OTHER_OUT,
    }
)
"""Spent. What is saved, paid back or moved to an own account is not."""


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """One leg of a transaction.

    `id` is unique in its statement; legs of one act share `group`. `amount` and `balance_after`
    are hundredths of the currency unit, `amount` above 0. `counterparty` is a pseudonym, and
    `reverses` the id of the entry that this one takes back.
    """

    id: str
    at: datetime
    amount: int
    direction: Direction
    balance_after: int | None
    kind: Kind
    counterparty: str | None
    status: Status
    group: str
    reverses: str | None = None

    @property
    def signed(self) -> int:
        """The amount as it moves the balance."""
        return self.amount if self.direction is Direction.IN else -self.amount


class Declared(msgspec.Struct, frozen=True, kw_only=True):
    """What a statement says of itself; None where it does not. Money in hundredths."""

    first_day: date | None = None
    last_day: date | None = None
    made_on: date | None = None
    opened_on: date | None = None
    opening: int | None = None
    closing: int | None = None
    paid_in: int | None = None
    paid_out: int | None = None
    holder: tuple[str, ...] | None = None
    """Pseudonyms of the words of the holder's name, in an order of their own."""


class Unread(msgspec.Struct, frozen=True):
    """A row that could not be read: where it stands, and why. Never what it says."""

    row: int
    reason: str


class Unknown(msgspec.Struct, frozen=True):
    """Words that no pattern knows, and how many rows begin with them. Figures are left out."""

    words: str
    rows: int


class Verdict(StrEnum):
    """What a check of genuineness comes to."""

    PASS = "pass"  # noqa: S105 - a verdict, not a password
    FAIL = "fail"
    CANNOT_TELL = "cannot_tell"


class Check(msgspec.Struct, frozen=True):
    """One check of genuineness with its evidence, which names no person and no amount."""

    name: str
    verdict: Verdict
    evidence: str


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    """One statement as it was read.

    `entries` stand in the order in which they happened, as far as the source tells. `rows` counts
    the rows that it has, read or not. `checks` are what the reader itself saw, such as the
    metadata of a PDF.
    """

    format: str
    currency: str | None
    entries: tuple[Entry, ...]
    rows: int
    unread: tuple[Unread, ...] = ()
    unknown: tuple[Unknown, ...] = ()
    declared: Declared = Declared()
    checks: tuple[Check, ...] = ()

    @property
    def share_read(self) -> float:
        return 1.0 if self.rows == 0 else (self.rows - len(self.unread)) / self.rows


class Pseudonyms:
    """Names as digests under a key of one reading: only whether two are the same is kept."""

    def __init__(self, key: bytes) -> None:
        assert 16 <= len(key) <= 64  # noqa: PLR2004 - what BLAKE2b takes as a key
        self._key = key
        self._known: dict[str, str] = {}

    def of(self, name: str) -> str | None:
        """Give the pseudonym of a counterparty; case, accents and spaces do not count."""
        known = self._known.get(name)
        if known is None:
            plain = " ".join(_words(name))
            if not plain:
                return None
            known = self._known[name] = self._digest(plain)
        return known

    def holder(self, name: str) -> tuple[str, ...]:
        """Give the pseudonyms of the words of a name, so that their order does not count."""
        return tuple(sorted({self._digest("holder " + word) for word in _words(name)}))

    def _digest(self, text: str) -> str:
        return hashlib.blake2b(text.encode(), key=self._key, digest_size=8).hexdigest()


def _words(name: str) -> list[str]:
    # Decomposed, so that an accent is a character of its own, which is then left out.
    text = unicodedata.normalize("NFKD", name).casefold()
    kept = "".join(
        sign if sign.isalnum() or sign == "*" else "" if unicodedata.combining(sign) else " "
        for sign in text
    )
    return kept.split()
