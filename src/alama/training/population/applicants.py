"""Synthetic applicants: who they are, and the 17 complete fields their phones would show.

Each applicant is a handful of hidden traits (income, discipline, engagement with digital services,
a recent shock). Fields are noisy, rounded readings of the traits, which is what correlates them.
Money is worked out in multiples of the currency's reference inflow, so that one seed gives the same
people in every currency.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from alama.training.population.truth import DEVICE_TYPES, LOAN_PURPOSES, Loans
from alama.training.portable import Floats, Words, bell, exponential, logistic, saturating, uniform

if TYPE_CHECKING:
    import numpy.typing as npt
    from numpy.typing import NDArray

    from alama.training.population.truth import Codes, Integers

    Mask = npt.NDArray[np.bool_]


KENYAN_REGIONS: Final = (
    "Nairobi",
    "Mombasa",
    "Kisumu",
    "Nakuru",
    "Kiambu",
    "Machakos",
    "Uasin Gishu",
    "Kakamega",
    "Kilifi",
    "Turkana",
)
GENERIC_REGIONS: Final = (
    "Capital",
    "Port City",
    "Lake",
    "Central Valley",
    "Capital Suburbs",
    "East Highlands",
    "West Highlands",
    "West",
    "Coast",
    "North",
)
# Shares of applicants and how far incomes lie from the country's (log), in the order of the names.
_REGION_SHARES: Final = (0.22, 0.11, 0.09, 0.11, 0.12, 0.08, 0.08, 0.08, 0.06, 0.05)
_REGION_INCOME: Final = np.array([0.30, 0.12, 0.0, 0.05, 0.18, -0.05, 0.0, -0.22, -0.28, -0.5])

TERMS_DAYS: Final = (7, 14, 30, 60, 90, 180)
_TERM_CUTS: Final = (-1.35, -0.55, 0.65, 1.15, 1.75)
# Amounts up to half a reference inflow come in fortieths of it, then in twentieths, then quarters.
_AMOUNT_STEP_ENDS: Final = (0.5, 2.5)
_AMOUNT_STEPS: Final = (0.025, 0.05, 0.25)
_PURPOSE_SHARES: Final = (0.30, 0.20, 0.12, 0.11, 0.11, 0.10, 0.06)

MM_MONTHS_MAX: Final = 200
DEVICE_AGE_MONTHS_MAX: Final = 120
_DEVICE_AGE_MEDIAN: Final = np.array([17.0, 26.0, 38.0, 20.0])
WORDS_PER_APPLICANT: Final = 33
"""Raw 64-bit words that one chunk takes for each of its rows; new draws are added at the end."""


class Draws:
    """Hands out rows of raw words in order, so that a draw's meaning depends on its place only."""

    def __init__(self, words: Words) -> None:
        """Take words shaped (draws, applicants)."""
        self._rows = iter(words)

    def bell(self) -> Floats:
        """Give one standard bell-shaped number an applicant."""
        return bell(next(self._rows))

    def uniform(self) -> Floats:
        """Give one number in [0, 1) an applicant."""
        return uniform(next(self._rows))


@dataclass(frozen=True, slots=True)
class Traits:
    """What is hidden behind the fields; standard deviations of about 1, shock >= 0 and mostly 0."""

    income: Floats
    discipline: Floats
    engagement: Floats
    shock: Floats
    thin: npt.NDArray[np.bool_]
    region: Codes


def draw_traits(draws: Draws, income_shift: float | Floats) -> Traits:
    """Hidden traits; `income` is the log of the monthly inflow in reference inflows."""
    region = _pick(draws.uniform(), _REGION_SHARES)
    status = draws.bell()
    discipline = 0.15 * status + 0.99 * draws.bell()
    engagement = 0.35 * status + 0.94 * draws.bell()
    shock = np.maximum(draws.bell() - 0.9, 0.0)
    thin = draws.uniform() < logistic(-2.3 - 0.7 * engagement)
    income = -0.15 + _REGION_INCOME[region] + 0.65 * status + income_shift
    return Traits(income, discipline, engagement, shock, thin, region)


def draw_loans(draws: Draws, traits: Traits, *, reference_inflow: float) -> Loans:
    """The complete fields of each applicant, rounded as a lender would see them."""
    wallet = _Wallet.draw(draws, traits)
    device_type = _device_type(draws, traits)
    loan_purpose = _pick(draws.uniform(), _PURPOSE_SHARES)
    term_position = np.searchsorted(_TERM_CUTS, 0.25 * traits.income + draws.bell())
    term = np.array(TERMS_DAYS, dtype=np.int32)[term_position]
    return Loans(
        mm_months=wallet.months,
        avg_inflow=_cents(wallet.inflow * reference_inflow),
        avg_outflow=_cents(wallet.outflow * reference_inflow),
        avg_balance=_cents(wallet.balance * reference_inflow),
        balance_stability=wallet.stability,
        counterparties=wallet.counterparties,
        tx_frequency=wallet.transactions,
        weekend_activity=_weekend(draws, wallet, loan_purpose),
        airtime_avg=_cents(_airtime(draws, traits) * reference_inflow),
        airtime_freq=_whole_tenths(
            7.0 * exponential(0.35 * traits.engagement + 0.45 * draws.bell())
        ),
        airtime_regularity=_share(
            0.25
            + 0.55 * traits.discipline
            + 0.30 * traits.engagement
            - 0.45 * traits.shock
            + 0.75 * draws.bell()
        ),
        device_type=device_type,
        device_age_months=_device_age(draws, device_type),
        requested_amount=_round_amount(_asked(draws, traits, term_position), reference_inflow),
        requested_term_days=term,
        loan_purpose=loan_purpose,
        region=traits.region,
    )


@dataclass(frozen=True, slots=True)
class _Wallet:
    """The mobile-money part; money in reference inflows."""

    months: Integers
    inflow: Floats
    outflow: Floats
    balance: Floats
    stability: Floats
    counterparties: Integers
    transactions: Floats

    @classmethod
    def draw(cls, draws: Draws, t: Traits) -> _Wallet:
        months = _months(draws, t)
        # A dormant wallet has months but no money: its averages are true zeros, not missing.
        active = np.where(draws.uniform() < np.where(t.thin, 0.12, 0.004), 0.0, 1.0)
        inflow = active * exponential(
            t.income - 0.30 * t.shock - np.where(t.thin, 0.35, 0.0) + 0.20 * draws.bell()
        )
        outflow = inflow * exponential(
            -0.12 - 0.12 * t.discipline + 0.15 * t.shock + 0.30 * draws.bell()
        )
        balance = inflow * exponential(
            -2.2 + 0.45 * t.discipline - 0.45 * t.shock + 0.60 * draws.bell()
        )
        stability = _share(
            0.20 + 0.75 * t.discipline - 0.65 * t.shock + 0.12 * t.income + 0.70 * draws.bell()
        )
        people = active * exponential(
            2.35 + 0.40 * t.engagement + 0.20 * t.income + 0.40 * draws.bell()
        )
        transactions = _whole_tenths(
            people * exponential(0.75 + 0.20 * t.engagement + 0.35 * draws.bell())
        )
        counterparties = np.floor(people).astype(np.int32)
        return cls(months, inflow, outflow, balance, stability, counterparties, transactions)


def _months(draws: Draws, t: Traits) -> Integers:
    """Months of history: the thin have had a wallet for half a year at most."""
    settled = 6.0 + 24.0 * exponential(0.30 * t.engagement + 0.65 * draws.bell())
    months = np.where(t.thin, 7.0 * draws.uniform(), settled)
    return np.minimum(months, MM_MONTHS_MAX).astype(np.int32)


def _airtime(draws: Draws, t: Traits) -> Floats:
    return 0.032 * exponential(0.45 * t.income + 0.30 * t.engagement + 0.50 * draws.bell())


def _weekend(draws: Draws, wallet: _Wallet, loan_purpose: Codes) -> Floats:
    """Traders are busier on market days; a wallet without transactions has no weekend either."""
    trader = np.where(loan_purpose == LOAN_PURPOSES.index("business"), 0.04, 0.0)
    share = np.clip(0.28 + trader + 0.11 * draws.bell(), 0.0, 1.0)
    return np.where(wallet.transactions > 0.0, np.round(share, 2), 0.0)


def _device_type(draws: Draws, t: Traits) -> Codes:
    """Better earning and more engaged applicants carry smartphones."""
    grade = 0.5 * t.income + 0.6 * t.engagement + 0.7 * draws.bell()
    smart, feature = DEVICE_TYPES.index("smartphone"), DEVICE_TYPES.index("feature_phone")
    basic, tablet = DEVICE_TYPES.index("basic_phone"), DEVICE_TYPES.index("tablet")
    codes = np.array([basic, feature, smart, tablet], dtype=np.int8)
    return codes[np.searchsorted((-1.15, -0.45, 1.95), grade)]


def _device_age(draws: Draws, device_type: Codes) -> Integers:
    months = _DEVICE_AGE_MEDIAN[device_type] * exponential(0.65 * draws.bell())
    return np.minimum(months, DEVICE_AGE_MONTHS_MAX).astype(np.int32)


def _asked(draws: Draws, t: Traits, term_position: npt.NDArray[np.intp]) -> Floats:
    """Amount wanted, in reference inflows: incomes, long terms and shocks make it larger."""
    wish = 0.55 * t.income + 0.16 * (term_position - 2.0) + 0.15 * t.shock
    return 0.42 * exponential(wish + 0.60 * draws.bell())


def _round_amount(amount: Floats, reference_inflow: float) -> Floats:
    """Reference inflows -> money on the steps people ask in (KES 500, then 1,000, then 5,000).

    The least anybody asks for is one step.
    """
    step = np.array(_AMOUNT_STEPS)[np.searchsorted(_AMOUNT_STEP_ENDS, amount, side="right")]
    steps = np.maximum(np.rint(amount / step), 1.0)
    return _cents(steps * (step * reference_inflow))


def _pick(draw: Floats, shares: tuple[float, ...]) -> Codes:
    """Uniform draws -> positions, each with its share."""
    edges = np.cumsum(shares)[:-1]
    return np.searchsorted(edges, draw, side="right").astype(np.int8)


def _share(log_odds: Floats) -> Floats:
    return np.round(logistic(log_odds), 3)


def _cents(money: Floats) -> Floats:
    return np.round(money, 2)


def _whole_tenths(count: Floats) -> Floats:
    return np.round(count, 1)


_DEVICE: Final = ("device_type", "device_age_months")
_HABITS: Final = ("airtime_avg", "airtime_freq", "weekend_activity", "tx_frequency")
_TERMS: Final = ("requested_amount", "requested_term_days", "loan_purpose")
_REST: Final = ("avg_outflow", "avg_balance", "counterparties", "region")

CHANNELS: Final = {
    "app": (),
    "ussd": _DEVICE,
    "agent": _HABITS,
    "enquiry": _TERMS,
    "app_without_location": ("region",),
    "compact": _DEVICE + _HABITS + _TERMS + _REST,
}
"""Channel -> the fields it never carries. The first is the complete application."""

# Odds of each channel beside the app's 1, and how fast they rise with frailty.
_CHANNEL_ODDS: Final = (0.145, 0.10, 0.075, 0.055, 0.058)
_CHANNEL_PULL: Final = (0.50, 0.45, 0.15, 0.10, 0.45)


def missing_fields(
    draws: Draws,
    traits: Traits,
    loans: Loans,
    *,
    reference_inflow: float,
    frailty_shift: float | Floats,
) -> dict[str, Mask]:
    """Field -> True where the application arrives without it; a field never missing is not named.

    `frailty_shift` moves the mix of channels: that is how a drifting population changes it.
    """
    channel = _channels(draws, traits, frailty_shift)
    masks = {
        field: np.isin(channel, [i for i, left in enumerate(CHANNELS.values()) if field in left])
        for field in _DEVICE + _HABITS + _TERMS + _REST
    }
    for field, chance in _withheld_chances(loans, reference_inflow).items():
        masks[field] |= draws.uniform() < chance
    return masks


def _channels(draws: Draws, t: Traits, frailty_shift: float | Floats) -> npt.NDArray[np.int8]:
    """Positions in CHANNELS."""
    frailty = (
        np.where(t.thin, 0.8, 0.0)
        - 0.5 * t.engagement
        - 0.5 * t.discipline
        - 0.3 * t.income
        + 0.4 * t.shock
        + frailty_shift
    )
    ladder = [np.ones_like(frailty)]
    for odds, pull in zip(_CHANNEL_ODDS, _CHANNEL_PULL, strict=True):
        ladder.append(ladder[-1] + odds * exponential(pull * frailty))
    draw = draws.uniform() * ladder[-1]
    channel = np.zeros(len(draw), dtype=np.int8)
    for step in ladder[:-1]:
        channel += draw >= step
    return channel


def _withheld_chances(loans: Loans, reference_inflow: float) -> dict[str, Floats]:
    """Chance that one field alone is left out, higher where it would look bad."""
    balance = saturating(loans.avg_balance / reference_inflow, 0.1)
    people = saturating(loans.counterparties.astype(np.float64), 9.0)
    overspent = loans.avg_outflow > loans.avg_inflow
    return {
        "avg_balance": 0.035 * (1.0 - balance),
        "counterparties": 0.03 * (1.0 - people),
        "avg_outflow": np.where(overspent, 0.025, 0.004),
        "region": np.full(len(balance), 0.006),
    }


# --------------------------------------------------------------------------------- a lender's books
#
# The same people as a lender's books show them: who borrowed again, when, and how late they paid.
# Everything is drawn from words of its own, so that fields, outcomes and true risk are the same
# with and without it. What the books say agrees with `default`: a mature loan was 30 days past due,
# or was restructured in distress, exactly where it defaulted.


OBSERVED_ON: Final = date(2025, 8, 31)
"""The day on which the books are closed, unless another is named: two months after the last
application."""

DAYS_PAST_DUE: Final = 30
"""What `default` of the population means."""

COLUMNS: Final[tuple[tuple[str, pa.DataType], ...]] = (
    ("borrower_id", pa.string()),
    ("disbursed_on", pa.date32()),
    ("due_on", pa.date32()),
    ("amount", pa.float64()),
    ("term_days", pa.int32()),
    ("largest_days_past_due", pa.int32()),
    ("restructured", pa.string()),
    ("observed_on", pa.date32()),
)
"""What a history has beside the columns of every population."""

WORDS_PER_LOAN: Final = 6
"""Raw 64-bit words that one chunk takes for each of its rows."""

_EPOCH: Final = date(1970, 1, 1)
_INCOME_STEPS: Final = 2.0
_AGAIN_SHARE: Final = 0.35
_DISBURSAL_DAYS_MAX: Final = 4.0
_LATE_SHARE: Final = 0.28
_RESTRUCTURED_SHARE: Final = 0.04
_LONG_LATE_DAYS: Final = 25.0


@dataclass(frozen=True, slots=True)
class Repayment:
    """What becomes of each application if it is booked; `applied_on` in days since 1970."""

    loans: Loans
    traits: Traits
    applied_on: NDArray[np.int32]
    defaulted: Mask

    def columns(self, words: Words, booked: Mask) -> list[pa.Array[Any]]:
        """Give COLUMNS from words shaped (WORDS_PER_LOAN, applications); empty if not booked."""
        again, names, delay, lateness, length, restructuring = words
        disbursed = self.applied_on + _whole(_DISBURSAL_DAYS_MAX * np.square(uniform(delay)))
        due = disbursed + self.loans.requested_term_days
        observed = np.full(len(due), (OBSERVED_ON - _EPOCH).days, dtype=np.int32)
        restructured = (
            self.defaulted & (uniform(restructuring) < _RESTRUCTURED_SHARE) & (due <= observed)
        )
        late = self._days_late(uniform(lateness), uniform(length), restructured)
        # On the day of the books nobody is later than the days since the loan was due.
        late = np.clip(np.minimum(late, observed - due), 0, None).astype(np.int32)
        told = np.array(["no", "yes"])[restructured.astype(np.intp)]
        return [
            pa.array([f"b{number:012x}" for number in self._people(again, names).tolist()]),
            pa.array(disbursed, mask=~booked).cast(pa.date32()),
            pa.array(due, mask=~booked).cast(pa.date32()),
            pa.array(self.loans.requested_amount, mask=~booked),
            pa.array(self.loans.requested_term_days, mask=~booked),
            pa.array(late, mask=~booked),
            pa.array(told, mask=~booked),
            pa.array(observed, mask=~booked).cast(pa.date32()),
        ]

    def _days_late(self, lateness: Floats, length: Floats, restructured: Mask) -> NDArray[np.int32]:
        """Give days past due as they will be in the end, whatever the day of the books."""
        below = np.where(
            lateness < _LATE_SHARE, 1 + _whole((DAYS_PAST_DUE - 1) * np.square(length)), 0
        )
        above = DAYS_PAST_DUE + _whole(_LONG_LATE_DAYS * length / (1.02 - length))
        return np.where(self.defaulted & ~restructured, above, below).astype(np.int32)

    def _people(self, again: Words, names: Words) -> Words:
        """Number the borrowers: like applications at different times may be one person's.

        Like are those of one region and of one step of income whose wallet was opened in one
        month. One person applies once a day at most, so no two rows are the same loan.
        """
        month = self.applied_on.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
        opened = month - self.loans.mm_months
        step = np.floor(_INCOME_STEPS * self.traits.income).astype(np.int64)
        order = np.lexsort((self.applied_on, step, opened, self.traits.region))
        linked = uniform(again[order]) < _AGAIN_SHARE
        linked[0] = False
        for key in (step, opened, self.traits.region):
            linked[1:] &= key[order[1:]] == key[order[:-1]]
        linked[1:] &= self.applied_on[order[1:]] > self.applied_on[order[:-1]]
        first = np.flatnonzero(~linked)
        person = np.empty(len(order), dtype=np.uint64)
        person[order] = (names >> np.uint64(16))[order[first]][np.cumsum(~linked) - 1]
        return person


def _whole(days: Floats) -> NDArray[np.int32]:
    return np.floor(days).astype(np.int32)
