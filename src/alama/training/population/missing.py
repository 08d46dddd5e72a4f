"""Which fields an application arrives without, and why: never at random.

Most gaps come from the channel: a USSD menu knows no device, an agent's form no airtime. Thinner
and riskier applicants use those channels more. A few gaps come from the value itself: a poor
balance is withheld more often than a good one. The four compact core fields always arrive.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from alama.training.portable import exponential, saturating

if TYPE_CHECKING:
    import numpy.typing as npt

    from alama.training.population.applicants import Draws, Traits
    from alama.training.population.truth import Loans
    from alama.training.portable import Floats

    Mask = npt.NDArray[np.bool_]

CORE_FIELDS: Final = ("mm_months", "avg_inflow", "balance_stability", "airtime_regularity")

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
