"""Synthetic applicants: who they are, and the 17 complete fields their phones would show.

Each applicant is a handful of hidden traits (income, discipline, engagement with digital services,
a recent shock). Fields are noisy, rounded readings of the traits, which is what correlates them.
Money is worked out in multiples of the currency's reference inflow, so that one seed gives the same
people in every currency.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from alama.training.population.truth import DEVICE_TYPES, LOAN_PURPOSES, Loans
from alama.training.portable import bell, exponential, logistic, uniform

if TYPE_CHECKING:
    import numpy.typing as npt

    from alama.training.population.truth import Codes, Integers
    from alama.training.portable import Floats, Words

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
