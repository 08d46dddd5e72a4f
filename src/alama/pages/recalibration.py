"""The pack of a recalibrated model as one page: what moves, why, and whether it may be signed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from alama.pages import charts
from alama.pages.charts import Rate
from alama.pages.render import render

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alama.core.monitoring.level import Band
    from alama.core.monitoring.recalibration_pack import Pack

_GATES: Final = {
    "recent_outcomes": "Enough recent outcomes",
    "shift_no_chance": "More than chance",
    "shift_size": "A level, and no more",
    "calibration_slope": "Calibration slope",
    "later_half": "Holds for later loans",
}
_SHORT_ID: Final = 8


def recalibration_page(pack: Pack, unsigned: str | None = None) -> str:
    """Give the pack as one self-contained HTML page, without script.

    `unsigned` says why nobody signs for it, whatever the gates say; None where people do.
    """
    return render(
        "pages/templates/recalibration.html",
        pack=pack,
        unsigned=unsigned,
        short_id=pack.model_id.removeprefix("sha256:")[:_SHORT_ID],
        gates=[(_GATES.get(gate.name, gate.name), gate) for gate in pack.gates],
        interval=_interval(pack),
        bands=list(zip(pack.before, pack.after, strict=True)),
        before=charts.reliability(_rates(pack.before), "As it answers now"),
        after=charts.reliability(_rates(pack.after), "As recalibrated"),
    )


def _interval(pack: Pack) -> tuple[float, float]:
    """Give the 95 % interval of the points that scores move by."""
    reach = 1.96 * pack.shift_error * abs(pack.points / pack.shift) if pack.shift else 0.0
    return pack.points - reach, pack.points + reach


def _rates(bands: Sequence[Band]) -> list[Rate]:
    return [Rate(one.predicted, one.observed, one.low, one.high, one.loans) for one in bands]
