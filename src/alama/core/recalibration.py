"""A model on the level of today: every base moved by the same points, and nothing else.

Who is riskier than whom is what the tables say, and that lasts for years. How many default in all
goes up and down with harvests and prices. So where only the level is off, nothing has to be
learned again: one number moves, and contributions, monotone directions, the order of applicants
and everything that was shown about them stay as they were signed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

from alama.core import calibration
from alama.core import model as models
from alama.core.model import Recalibrated
from alama.core.tables import on_grid
from alama.core.tally import SCORE_STEP

if TYPE_CHECKING:
    from alama.core.model import Model, Reference
    from alama.core.monitoring.calibration_shift import Shift

_SUFFIX: Final = re.compile(r", recalibrated \d{4}-\d{2}-\d{2}$")


def points_of(shift: Shift) -> float:
    """Give the points that a shift of the log-odds of default moves every score by, on the grid."""
    return on_grid(-shift.log_odds * calibration.POINTS_PER_LOG_ODDS)


def recalibrated(model: Model, shift: Shift, on: str) -> Model:
    """Give the model with every base moved by a shift; `on` is the day, as 2026-11-16.

    It is sealed, and read back as any model is: `InvalidModel` where its cells would reach too far.
    """
    points = points_of(shift)
    was_made = Recalibrated(
        model_id=model.id,
        on=on,
        shift=shift.log_odds,
        points=points,
        loans=shift.loans,
        defaults=shift.defaults,
    )
    moved = models.seal(
        msgspec.structs.replace(
            model,
            name=f"{_SUFFIX.sub('', model.name)}, recalibrated {on}",
            cards=tuple(
                msgspec.structs.replace(card, base=on_grid(card.base + points))
                for card in model.cards
            ),
            references=tuple(_moved(reference, points) for reference in model.references),
            lineage=msgspec.structs.replace(model.lineage, recalibrated=was_made),
        )
    )
    return models.decode(models.encode(moved))


def _moved(reference: Reference, points: float) -> Reference:
    """Move the edges along with the scores, in whole steps of what is counted.

    Up to half a step is left, which moves a few in a hundred scores to the next band: far less than
    what is called drift. An edge that leaves the scale is left out, with its band in the next one:
    nobody has such a score any more.
    """
    step = SCORE_STEP * round(points / SCORE_STEP)
    edges: list[int] = []
    shares = [reference.score_shares[0]]
    for edge, share in zip(reference.score_edges, reference.score_shares[1:], strict=True):
        there = edge + step
        if calibration.SCORE_MIN < there <= calibration.SCORE_MAX:
            edges.append(there)
            shares.append(share)
        else:
            shares[-1] += share
    return msgspec.structs.replace(reference, score_edges=tuple(edges), score_shares=tuple(shares))
