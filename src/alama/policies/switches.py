"""The applications on which two policies differ, as a table for other programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from alama.core.lending.simulation import Stance, Switch, what_changes
from alama.platform.files import cells

if TYPE_CHECKING:
    from collections.abc import Iterable


_SIDE: Final = ("decision", "score", "tier", "limit", "term_days", "apr", "rules")

CSV_COLUMNS: Final = (
    "reference",
    "changed",
    *(f"{side}_{name}" for name in _SIDE for side in ("old", "new")),
)


def as_csv(switches: Iterable[Switch]) -> str:
    """Give one row an application: what changed, and both sides; lists have bars between them."""
    return cells.as_csv(
        CSV_COLUMNS,
        (
            {
                "reference": switch.reference,
                "changed": "|".join(what_changes(switch)),
                **_cells("old", switch.old),
                **_cells("new", switch.new),
            }
            for switch in switches
        ),
    )


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
