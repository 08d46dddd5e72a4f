"""What `fields/1` publishes of each field: formula, unit, direction, who can change it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from alama.core.catalogue import Direction, Way
from alama.core.product import PRODUCT

if TYPE_CHECKING:
    from collections.abc import Iterator


class Published(NamedTuple):
    """A derived field; `change` is which way an applicant can move it, None: no way.

    `in_catalogue`: every application may have it. The others are for a lender that declares them.
    """

    name: str
    unit: str
    direction: Direction
    change: Way | None
    formula: str
    in_catalogue: bool


_OF_THE_CATALOGUE: Final = {
    "mm_months": "whole months from the first transaction, or the opening date that the statement "
    "tells, to the day of application",
    "avg_inflow": "sum of inflow in the window / months, to the cent",
    "avg_outflow": "sum of outflow in the window / months, to the cent",
    "avg_balance": "mean over all days of the window of the balance at the end of the day, the "
    "last known carried forward, to the cent; missing where it is below 0",
    "balance_stability": "1 / (1 + sd / mean) of those end-of-day balances; 0 where the mean is 0 "
    "or below",
    "counterparties": "mean over months of the distinct counterparties of inflow and outflow, "
    "rounded, halves up",
    "tx_frequency": "acts (groups, not legs) / months",
    "weekend_activity": "acts on the two weekend days of the country / acts; 0 without acts",
    "airtime_avg": "sum of airtime and data / months, to the cent",
    "airtime_freq": "acts that buy airtime or data / months",
    "airtime_regularity": "1 / (1 + sd / mean) of the gaps in days between days with a top-up; 0 "
    "with fewer than three such days",
}

_BEYOND: Final = (
    (
        "inflow_trend",
        "share a month",
        Direction.SAFER,
        None,
        "slope of the least-squares line through monthly inflow / its mean; missing below 3 months",
    ),
    (
        "inflow_regularity",
        "share",
        Direction.SAFER,
        None,
        "1 / (1 + sd / mean) of the inflow of each month; 0 without inflow; missing below 3 months",
    ),
    (
        "largest_payer_share",
        "share",
        Direction.FREE,
        None,
        "inflow from the counterparty that paid most / inflow",
    ),
    ("salary_share", "share", Direction.SAFER, None, "salary / inflow"),
    (
        "cash_out_share",
        "share",
        Direction.FREE,
        Way.EITHER,
        "cash taken out at agents and machines / outflow",
    ),
    ("days_inactive", "days a month", Direction.FREE, Way.EITHER, "days without an act / months"),
    (
        "days_near_zero",
        "days a month",
        Direction.RISKIER,
        Way.DOWN,
        "days that end with a balance of at most a hundredth of avg_inflow / months",
    ),
    (
        "loan_inflow_share",
        "share",
        Direction.RISKIER,
        Way.DOWN,
        "loans received / (loans received + inflow)",
    ),
    (
        "lenders_seen",
        "lenders",
        Direction.RISKIER,
        Way.DOWN,
        "distinct counterparties of loans received and repaid in the window",
    ),
    (
        "overdraft_days",
        "days a month",
        Direction.RISKIER,
        Way.DOWN,
        "days on which an overdraft was drawn / months",
    ),
    (
        "overdraft_share",
        "share",
        Direction.RISKIER,
        Way.DOWN,
        "overdraft drawn / outflow, at most 1",
    ),
    ("betting_share", "share", Direction.RISKIER, Way.DOWN, "betting / outflow"),
    (
        "failed_payments",
        "per month",
        Direction.RISKIER,
        Way.DOWN,
        "acts that would have paid and failed / months",
    ),
)


def _published() -> Iterator[Published]:
    for name, formula in _OF_THE_CATALOGUE.items():
        field = PRODUCT.field(name)
        change = None if field.change is None else field.change.way
        yield Published(name, field.unit or "", field.direction, change, formula, True)  # noqa: FBT003
    for name, unit, direction, change, formula in _BEYOND:
        yield Published(name, unit, direction, change, formula, False)  # noqa: FBT003


FIELDS: Final = tuple(_published())
NAMES: Final = tuple(field.name for field in FIELDS)
CATALOGUED: Final = frozenset(field.name for field in FIELDS if field.in_catalogue)
