"""What was found in a lender's history: counts, columns, rules, months and rates, and no value.

It is kept and shown, so nothing here repeats what the file says of a person. Rows are counted from
1, without the header.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

from alama.platform.files.asis.inspection import Reading


class Enough(StrEnum):
    """What a history has enough defaults for."""

    NOTHING = "nothing"
    MODEL = "model"


STALE_DAYS: Final = 180
"""Books that nobody has looked at for longer say little about those who borrow now."""

FIRST_ROWS_MAX: Final = 5
"""Rows that are named where a rule is broken: enough to find the cause of all of them."""


class Fault(msgspec.Struct, frozen=True):
    """One rule that values of one column break; rows that break it are left out of the loans."""

    column: str
    rule: str
    rows: int
    first_rows: tuple[int, ...]


class Missing(msgspec.Struct, frozen=True):
    """The share of all rows in which a column says nothing; NA and the like say nothing."""

    column: str
    share: float


class Standing(StrEnum):
    """What becomes of a column that gives the outcome away."""

    OPEN = "open"  # it is a field of a request: somebody has to exclude it or keep it
    KEPT = "kept"  # it is an input, on somebody's word
    EXCLUDED = "excluded"  # it is a field of a request, and no input
    SET_ASIDE = "set aside"  # it is no field of a request, so it never is an input


class Suspect(msgspec.Struct, frozen=True):
    """A column that was probably not known before the loan.

    It gives the outcome away, or it is a `doubt`: something speaks for a later hand, and whoever
    knows the books may say otherwise. Only what gives the outcome away blocks approval.
    """

    column: str
    auc: float
    why: str
    standing: Standing
    doubt: bool = False

    @property
    def kept(self) -> bool:
        """Say whether the column is an input in spite of the doubt."""
        return self.standing is Standing.KEPT

    @property
    def blocks(self) -> bool:
        """Say whether no model that learnt from the column can be approved."""
        return self.kept and not self.doubt


class DuplicateKind(StrEnum):
    """How rows repeat each other."""

    WHOLE_ROW = "equal in every column"
    SAME_LOAN = "the same borrower, day and amount, but not equal"


class Duplicate(msgspec.Struct, frozen=True):
    """Rows that are left out because they repeat others.

    Of rows that are equal in every column the first stays. Of rows that name one loan and say
    different things of it none does: nobody here can tell which is right.
    """

    kind: DuplicateKind
    rows: int
    first_rows: tuple[int, ...]


class Month(msgspec.Struct, frozen=True):
    """Applications of one calendar month; `rate` is defaults a mature loan, None without any."""

    month: str
    applications: int
    booked: int
    mature: int
    defaults: int
    rate: float | None


class Drift(msgspec.Struct, frozen=True):
    """How far a field moved in the last three months from all months before (PSI)."""

    column: str
    psi: float


COLLECT: Final = (
    "Until then a shadow live key collects what is needed: every decision goes to a person, and "
    "every score is kept."
)


class OddityKind(StrEnum):
    """What a history is made of that makes a model of it less than it seems."""

    ROLLOVERS = "rollovers"
    TOP_UPS = "top_ups"
    EARLIER = "earlier_loans"
    PRODUCTS = "mixed_products"
    RATE = "break_in_rate"
    LEVEL = "break_in_level"
    LATE = "recorded_late"
    IDS = "ids"


class Oddity(msgspec.Struct, frozen=True):
    """One such finding: in words, in how many rows or loans, and the share that they are."""

    kind: OddityKind
    words: str
    rows: int
    share: float
    column: str | None = None


class Source(msgspec.Struct, frozen=True):
    """How a file was read that did not come as Alama writes one, and what was detected in it.

    `version` is that of the mapping that was kept for the lender; None: none was.
    """

    reading: Reading
    told: tuple[str, ...]
    version: int | None = None


class HistoryReport(msgspec.Struct, frozen=True):
    """All that was found. Every row is counted once among the five counts after `rows`.

    `mature` counts the loans that a model may learn from, `defaults` those of them that defaulted
    and `borrowers` the people behind them. `out_of_time_from` is the first day of the out-of-time
    part (YYYY-MM-DD), None without any loan: earlier loans teach the model, and those of the part
    judge it (`out_of_time_loans`), but for `returned_loans`, of borrowers with an earlier one.
    Where the file does not tell of restructuring, days past due alone make a default. `excluded`
    are fields of a request that somebody left out of the inputs. `books_age_days` is how old the
    last look at the books was on the day when the file was read, None without any loan.
    """

    currency: str
    days_past_due: int
    rows: int
    unsound: int
    repeated: int
    not_booked: int
    immature: int
    mature: int
    defaults: int
    borrowers: int
    first_applied_on: str | None
    last_applied_on: str | None
    last_observed_on: str | None
    out_of_time_from: str | None
    learning_loans: int
    learning_defaults: int
    out_of_time_loans: int
    out_of_time_defaults: int
    returned_loans: int
    inputs: tuple[str, ...]
    groups: tuple[str, ...]
    set_aside: tuple[str, ...]
    faults: tuple[Fault, ...]
    missing: tuple[Missing, ...]
    suspects: tuple[Suspect, ...]
    duplicates: tuple[Duplicate, ...]
    months: tuple[Month, ...]
    drift: tuple[Drift, ...]
    notes: tuple[str, ...]
    enough: Enough
    advice: tuple[str, ...]
    excluded: tuple[str, ...] = ()
    books_age_days: int | None = None
    tells_restructuring: bool = True
    source: Source | None = None
    structure: tuple[Oddity, ...] = ()

    @property
    def stale(self) -> bool:
        """Say whether the books are too old to speak of the loans of today."""
        return self.books_age_days is not None and self.books_age_days > STALE_DAYS

    @property
    def books_age(self) -> str:
        """Say how old the books were when the file was read; call it where their age is known."""
        return (
            f"The books were last looked at on {self.last_observed_on}, {self.books_age_days:,} "
            "days before the file was read"
        )

    @property
    def default_rate(self) -> float | None:
        """Give the defaults a mature loan, None without any loan."""
        return self.defaults / self.mature if self.mature else None

    @property
    def open_suspects(self) -> tuple[str, ...]:
        """Name the inputs that give the outcome away and about which nobody has decided."""
        return tuple(s.column for s in self.suspects if s.standing is Standing.OPEN)
