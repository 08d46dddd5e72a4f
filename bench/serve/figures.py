"""What the measured runs say: medians over rounds, ratios within a round, what was aimed at."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

QUANTILES: Final = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999}
_BEYOND_MIN: Final = 5
"""A quantile is told where at least so many requests lie beyond it: the slowest one is luck."""


def order(names: Sequence[str], number: int) -> list[str]:
    """Give the order of a round: forth, then back, so that a drift of the machine hits all."""
    return list(names) if number % 2 == 0 else list(reversed(names))


def middle(rates: Sequence[float | None]) -> float | None:
    """Give the median of the rounds that are not void."""
    valid = [rate for rate in rates if rate is not None]
    return median(valid) if valid else None


def ratio(ours: Sequence[float | None], theirs: Sequence[float | None]) -> float | None:
    """Give the median over the rounds of ours to theirs; a void run voids its round."""
    pairs = zip(ours, theirs, strict=True)
    return middle([a / b if a is not None and b is not None else None for a, b in pairs])


def top_rate(rates: Mapping[str, Sequence[float | None]]) -> float | None:
    """Give the most a subject carried, over the numbers of connections."""
    medians = [rate for runs in rates.values() if (rate := middle(runs)) is not None]
    return max(medians, default=None)


def others_share(document: Mapping[str, Any]) -> float | None:
    """Give the share of the machine that others used, in the median of all runs.

    A PostgreSQL of ours counts among the others while it is loaded; the median does not mind.
    """
    entries = document.get("subjects", {}).values()
    return middle([share for entry in entries for share in entry.get("others_share", [])])


def quantiles_ms(microseconds: Sequence[float]) -> dict[str, float]:
    """Give the quantiles that so many requests can tell, in milliseconds."""
    return {
        name: round(float(np.quantile(microseconds, share)) / 1e3, 2)
        for name, share in QUANTILES.items()
        if len(microseconds) * (1 - share) >= _BEYOND_MIN - 1e-6
    }


@dataclass(frozen=True, slots=True)
class Aim:
    """One thing that was promised before it was measured."""

    said: str
    measured: float
    bound: float
    at_least: bool
    unit: str

    @property
    def met(self) -> bool:
        """Say whether the measured figure keeps the promise."""
        if self.at_least:
            return self.measured >= self.bound
        return self.measured <= self.bound


_KNOWN: Final = "alama, known applicants"

RATIOS: Final = (
    ("throughput of FastAPI + LightGBM + shap", "alama", "fastapi", 12.0),
    ("throughput of BentoML + LightGBM + shap", "alama", "bentoml", 10.0),
    ("share of the ceiling", "alama", "ceiling", 0.4),
    ("share of Alama without storage", "alama", "alama, dropping", 0.6),
    ("share of Alama as it was", "alama", "alama, earlier", 0.8),
    ("those who come back: share of Alama without memory", _KNOWN, "alama, no memory", 0.9),
)
"""What is said, of whom, beside whom, and what is promised."""


def aims(document: Mapping[str, Any]) -> list[Aim]:
    """Hold what was measured against what was aimed at; what is not measured is left out.

    A ratio counts at the number of connections that is worst for us.
    """
    subjects = document.get("subjects", {})
    ours = subjects.get("alama", {})
    found = []
    for said, name, other, bound in RATIOS:
        ratios = ratios_to(document, other, name)
        if ratios:
            found.append(Aim(said, min(ratios), bound, at_least=True, unit="x"))
    if "p99" in (quantiles := ours.get("latency", {}).get("ms", {})):
        found.append(Aim("p99 at half load", quantiles["p99"], 10.0, at_least=False, unit="ms"))
    alone = document.get("alone", {})
    if known := [size for size in alone.get("memory_mb", []) if size is not None]:
        said = f"memory after {alone['requests'][-1]:,} requests"
        found.append(Aim(said, known[-1], 150.0, at_least=False, unit="MB"))
    if alone.get("start_s"):
        said = "start to first answer"
        found.append(Aim(said, round(median(alone["start_s"]), 2), 1.5, at_least=False, unit="s"))
    return found


def ratios_to(document: Mapping[str, Any], other: str, name: str = "alama") -> list[float]:
    """Give the ratios of one subject to another, one for each number of connections."""
    subjects = document.get("subjects", {})
    ours, theirs = subjects.get(name, {}).get("rates"), subjects.get(other, {}).get("rates")
    if not ours or not theirs:
        return []
    found = [ratio(ours[connections], theirs[connections]) for connections in ours]
    return [value for value in found if value is not None]
