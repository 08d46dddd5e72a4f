"""Money across currencies: a reference monthly inflow for each.

A wallet that receives 20,000 a month is ordinary in shillings and impossible in euros. Every amount
a model sees is therefore divided by the reference inflow of its currency first. The table is a
convention, not a statistic: one round, plausible monthly mobile-money inflow of somebody who asks
for a digital loan. Models freeze the figure they were trained with, so a later edit here moves no
score that was already given.
"""

from collections.abc import Mapping
from datetime import date
from types import MappingProxyType
from typing import Final

REFERENCE_INFLOWS_AS_OF: Final = date(2025, 7, 1)
"""The day whose price levels the table speaks of; written into each model beside its figure."""

REFERENCE_INFLOW_MONTHLY: Final[Mapping[str, int]] = MappingProxyType(
    {
        "KES": 20_000,
        "UGX": 600_000,
        "TZS": 400_000,
        "RWF": 200_000,
        "GHS": 2_000,
        "NGN": 200_000,
        "XOF": 100_000,
        "XAF": 100_000,
        "ZAR": 4_000,
        "ZMW": 4_000,
        "ETB": 20_000,
        "EGP": 8_000,
        "INR": 20_000,
        "BDT": 20_000,
        "PKR": 40_000,
        "PHP": 10_000,
        "IDR": 3_000_000,
        "USD": 200,
        "EUR": 200,
    }
)
"""ISO 4217 code -> reference monthly inflow, in units of that currency."""
