"""What a lender says of a loan.

Times are microseconds since 1970, UTC; days are days since 1970.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class State(StrEnum):
    """What a lender can say of a loan. A loan that is not heard of is still open, never good."""

    REPAID = "repaid"
    DEFAULTED = "defaulted"
    WRITTEN_OFF = "written_off"
    RESTRUCTURED = "restructured"


class News(NamedTuple):
    """What a lender says of one loan.

    `corrects`: this is how it stands, whatever else was said of it. `defaulted_on`: since when it
    has been a default, where that is not the day of this news; never after it.
    """

    request_id: str
    state: State
    happened_on: int
    disbursed_amount: float | None = None
    repaid_amount: float | None = None
    corrects: bool = False
    defaulted_on: int | None = None
