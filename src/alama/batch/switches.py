"""The applications that two policies decide otherwise, as a table for other programs."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from alama.core.lending.simulation import Stance, Switch

_SIDE: Final = ("decision", "score", "tier", "limit", "term_days", "apr", "rules")

CSV_COLUMNS: Final = (
    "reference",
    *(f"{side}_{name}" for name in _SIDE for side in ("old", "new")),
)


def as_csv(switches: Iterable[Switch]) -> str:
    """Give one row an application; rules have bars between them."""
    text = io.StringIO()
    rows = csv.DictWriter(text, CSV_COLUMNS, lineterminator="\n")
    rows.writeheader()
    for switch in switches:
        rows.writerow(
            {
                "reference": switch.reference,
                **_cells("old", switch.old),
                **_cells("new", switch.new),
            }
        )
    return text.getvalue()


def _cells(side: str, stance: Stance) -> dict[str, object]:
    values = (
        stance.decision.value,
        stance.score,
        stance.tier,
        stance.limit,
        stance.term_days,
        stance.apr,
        "|".join(stance.rules),
    )
    return {f"{side}_{name}": value for name, value in zip(_SIDE, values, strict=True)}
