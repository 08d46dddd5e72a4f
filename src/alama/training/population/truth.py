"""The true default probability of a synthetic loan: a known function of its 17 complete fields.

Real data never tell the true risk of an applicant, so no claim about a model can be checked on
them to the last digit. Here the risk is the formula below. It is smooth, and monotone as a whole
in the seven fields with a risk direction: each curve is, and each pair and the three-way term
multiply non-negative factors that all move the risk the same way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from alama.training.portable import Floats, logistic, saturating

if TYPE_CHECKING:
    import numpy.typing as npt

    Codes = npt.NDArray[np.int8]

    Integers = npt.NDArray[np.int32]


DEVICE_TYPES: Final = ("smartphone", "feature_phone", "basic_phone", "tablet")
LOAN_PURPOSES: Final = (
    "business",
    "household",
    "education",
    "medical",
    "agriculture",
    "emergency",
    "asset",
)

PROBABILITY_DECIMALS: Final = 9

_INTERCEPT: Final = -3.445
_THREE_WAY: Final = 1.6
_DEVICE_RISK: Final[Floats] = np.array([0.0, 0.10, 0.18, -0.06])
_PURPOSE_RISK: Final[Floats] = np.array([-0.04, 0.04, -0.10, 0.02, 0.08, 0.14, -0.06])
_REGION_RISK: Final[Floats] = np.array(
    [0.02, 0.06, 0.02, -0.03, -0.08, -0.04, 0.0, 0.03, 0.08, 0.10]
)


@dataclass(frozen=True, slots=True)
class Loans:
    """Complete fields of some applications, one array each.

    Money is in the lender's currency. Words are positions: in DEVICE_TYPES, in LOAN_PURPOSES and in
    the currency's list of regions.
    """

    mm_months: Integers
    avg_inflow: Floats
    avg_outflow: Floats
    avg_balance: Floats
    balance_stability: Floats
    counterparties: Integers
    tx_frequency: Floats
    weekend_activity: Floats
    airtime_avg: Floats
    airtime_freq: Floats
    airtime_regularity: Floats
    device_type: Codes
    device_age_months: Integers
    requested_amount: Floats
    requested_term_days: Integers
    loan_purpose: Codes
    region: Codes


@dataclass(frozen=True, slots=True)
class _Factors:
    """The seven directed fields from 0 to 1; `load` raises the risk, all others lower it."""

    tenure: Floats
    income: Floats
    cushion: Floats
    steadiness: Floats
    network: Floats
    rhythm: Floats
    load: Floats


def true_default_probability(
    loans: Loans, *, reference_inflow: float, shift: float | Floats = 0.0
) -> Floats:
    """Chance that each loan is ever 30 days past due by its due date + 30, to 9 decimals.

    `reference_inflow` is the currency's (core/model.py); `shift` is added to the log-odds and is
    not 0 only where the population drifts.
    """
    risk = logistic(true_log_odds(loans, reference_inflow=reference_inflow) + shift)
    return np.round(risk, PROBABILITY_DECIMALS)


def true_log_odds(loans: Loans, *, reference_inflow: float) -> Floats:
    """Log-odds of default: base, curves, pairs and the three-way term."""
    factors = _factors(loans, reference_inflow)
    return (
        _INTERCEPT
        + _directed_curves(factors)
        + _free_curves(loans, reference_inflow)
        + _word_effects(loans)
        + _pairs(loans, factors, reference_inflow)
        + three_way_effect(loans, reference_inflow=reference_inflow)
    )


def _factors(loans: Loans, reference_inflow: float) -> _Factors:
    return _Factors(
        tenure=saturating(loans.mm_months.astype(np.float64), 14.0),
        income=saturating(loans.avg_inflow / reference_inflow, 0.8),
        cushion=saturating(loans.avg_balance / reference_inflow, 0.10),
        steadiness=loans.balance_stability,
        network=saturating(loans.counterparties.astype(np.float64), 9.0),
        rhythm=loans.airtime_regularity,
        load=saturating(loans.requested_amount / reference_inflow, 0.5),
    )


def _directed_curves(f: _Factors) -> Floats:
    """Monotone in each field: the unit of a weight is log-odds over the field's whole range."""
    return (
        -0.20 * f.tenure
        - 0.40 * f.income
        - 0.45 * f.cushion
        - 0.15 * f.steadiness
        - 0.30 * f.network
        - 0.80 * f.rhythm
        + 0.20 * f.load
    )


def _free_curves(loans: Loans, reference_inflow: float) -> Floats:
    """U shapes and humps; the straight parts balance the pairs that the field takes part in."""
    airtime = saturating(loans.airtime_avg / reference_inflow, 0.03)
    topups = saturating(loans.airtime_freq, 6.0)
    traffic = _traffic(loans)
    device_age = saturating(loans.device_age_months.astype(np.float64), 20.0)
    term = _term(loans)
    outflow = saturating(loans.avg_outflow / reference_inflow, 0.8)
    return (
        2.0 * _squared(airtime - 0.5)
        + 2.0 * _squared(topups - 0.6)
        + 1.6 * _squared(traffic - 0.55)
        - 0.9 * traffic
        + 1.2 * _squared(device_age - 0.4)
        + 1.0 * _squared(term - 0.5)
        - 0.6 * term
        + 1.0 * _squared(outflow - 0.5)
        + 0.2 * _weekend_excess(loans)
    )


def _word_effects(loans: Loans) -> Floats:
    return (
        _DEVICE_RISK[loans.device_type]
        + _PURPOSE_RISK[loans.loan_purpose]
        + _REGION_RISK[loans.region]
    )


def _pairs(loans: Loans, f: _Factors, reference_inflow: float) -> Floats:
    """Six pairs; every factor beside a directed field is at least 0, so directions survive."""
    inflow = loans.avg_inflow / reference_inflow
    amount = loans.requested_amount / reference_inflow
    outflow = loans.avg_outflow / reference_inflow
    # Written so that rounding cannot break the direction: each step is monotone in floats too.
    burden = 1.0 / (1.0 + _squared((0.6 * inflow + 0.05) / amount))
    overspending = saturating(_squared(_squared(outflow / (outflow + inflow + 0.05))), 0.06)
    unsteady = 1.0 - f.steadiness
    return (
        1.20 * burden
        + 1.30 * overspending
        + 2.20 * unsteady * (1.0 - f.tenure)
        + 1.60 * f.load * _term(loans)
        + 1.80 * unsteady * _weekend_excess(loans)
        + 2.00 * (1.0 - f.network) * _traffic(loans)
    )


def three_way_effect(loans: Loans, *, reference_inflow: float) -> Floats:
    """Log-odds added where a large loan meets an unsteady and a young wallet."""
    f = _factors(loans, reference_inflow)
    large = _gate(f.load, 0.55)
    unsteady = _gate(1.0 - f.steadiness, 0.55)
    young = _gate(1.0 - f.tenure, 0.45)
    return _THREE_WAY * large * unsteady * young


def _traffic(loans: Loans) -> Floats:
    return saturating(loans.tx_frequency, 25.0)


def _term(loans: Loans) -> Floats:
    return saturating(loans.requested_term_days.astype(np.float64), 30.0)


def _weekend_excess(loans: Loans) -> Floats:
    """0 for an even week (2 days in 7), towards 1 for a wallet that lives on few days only."""
    return saturating(_squared(loans.weekend_activity - 0.286), 0.02)


def _gate(x: Floats, half: float) -> Floats:
    """0 to 1, steep around `half` but without a cliff: what makes three fields act together."""
    # Not half**4: a power may differ in the last bit between maths libraries.
    return saturating(_squared(_squared(x)), half * half * half * half)


def _squared(x: Floats) -> Floats:
    return x * x
