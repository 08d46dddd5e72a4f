"""Numbers as people write them: separators, units, true minus signs, no false precision."""

from __future__ import annotations

import math
from typing import Final

MINUS: Final = "\u2212"
NARROW_SPACE: Final = "\u202f"
NO_BREAK: Final = "\u00a0"
NOTHING: Final = "\u2013"
"""What stands where there is no number."""

_THOUSAND: Final = 1_000.0
_MILLION: Final = 1_000_000.0
_SHORTEN_FROM: Final = 10_000.0
_UNITS: Final = ((1e12, "tn"), (1e9, "bn"), (1e6, "M"), (1e3, "k"))


def fixed(value: float | None, decimals: int = 3) -> str:
    """Write a number with so many decimals: 0.812."""
    if value is None or not math.isfinite(value):
        return NOTHING
    rounded = round(value, decimals)
    return _minus(f"{rounded + 0.0:,.{decimals}f}")


def signed(value: float | None, decimals: int = 0) -> str:
    """Write a number with its sign, none for zero: +12, -3 with a true minus."""
    if value is None or not math.isfinite(value):
        return NOTHING
    rounded = round(value, decimals) + 0.0
    return _minus(f"{rounded:+,.{decimals}f}") if rounded else f"{0.0:.{decimals}f}"


def percent(share: float | None, decimals: int = 1) -> str:
    """Write a share as a percentage: 12.3 %."""
    if share is None or not math.isfinite(share):
        return NOTHING
    return fixed(100.0 * share, decimals) + NARROW_SPACE + "%"


def percent_tick(share: float) -> str:
    """Write a share for an axis, with no more figures than it has: 2.5 %."""
    return f"{100.0 * share:.6g}{NARROW_SPACE}%"


def count(number: int) -> str:
    """Write a whole number: 123,456."""
    return _minus(f"{number:,}")


def exact(value: float) -> str:
    """Write a number with all its digits and no more: 0.35, 12, 20,000."""
    return _minus(f"{value:,.12g}")


def short(value: float) -> str:
    """Write a number for an axis: 0.35, 12, 20k, 1.5M; three figures from ten thousand on."""
    size = abs(value)
    if size >= _MILLION:
        return _minus(f"{value / _MILLION:.3g}M")
    if size >= _SHORTEN_FROM:
        return _minus(f"{value / _THOUSAND:.3g}k")
    return _minus(f"{value:,.6g}")


def large(amount: float | None) -> str:
    """Write an amount with three figures from ten thousand on: 8,250, 12.5k, 1.25bn."""
    if amount is None or not math.isfinite(amount):
        return NOTHING
    size = abs(amount)
    if size < _SHORTEN_FROM:
        return fixed(amount, 0)
    # A little below a unit three figures round up to it.
    scale, unit = next((s, u) for s, u in _UNITS if size >= 0.9995 * s)
    written = f"{amount / scale:.3g}" if size < 999.5 * scale else f"{amount / scale:,.0f}"
    return _minus(written) + unit


def money(amount: float | None, currency: str) -> str:
    """Write money: KES 8,250, UGX 1.25bn."""
    written = large(amount)
    return written if written == NOTHING else f"{currency}{NO_BREAK}{written}"


def plural(number: int, noun: str) -> str:
    """Write a count with its noun: 1 pair, 4 pairs."""
    return f"{count(number)} {noun}" + ("" if number == 1 else "s")


def between(low: str, high: str) -> str:
    return f"{low} to {high}"


def _minus(written: str) -> str:
    return written.replace("-", MINUS)
