"""The models of a lender that one may go back to, and those that somebody went back from.

Both follow from what has answered, oldest first. A model that had answered before and answers again
while it is still one to go back to was gone back to: those that came after it are withdrawn. They
are nothing to go back to until people have signed for them again; a roll back is the deed of one.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from alama.service.policies import Deployment, Signed


class WayBack(NamedTuple):
    """`models` were each put in force after the one before it; the last of them answers now.

    `withdrawn` says of a model that was left for an earlier one who did that, when and why;
    the one that was withdrawn last is the last.
    """

    models: Sequence[str]
    withdrawn: Mapping[str, Signed]


def way_back(steps: Sequence[Deployment]) -> WayBack:
    """Find the way back through all that ever answered in a book; a change of policy is no step."""
    models: list[str] = []
    withdrawn: dict[str, Signed] = {}
    for step in steps:
        model_id = step.model_id
        if model_id is None:
            continue
        if model_id not in models:
            models.append(model_id)
            withdrawn.pop(model_id, None)
        while models[-1] != model_id:
            withdrawn[models.pop()] = step.signed
    return WayBack(models, withdrawn)


def withdrawn_for(steps: Sequence[Deployment]) -> tuple[str, Signed] | None:
    """Give the model that was left for the one of now, and by whom; None: it was put in force."""
    changes = [
        (earlier.model_id, later)
        for earlier, later in pairwise(steps)
        if earlier.model_id != later.model_id
    ]
    if not changes:
        return None
    left, change = changes[-1]
    signed = way_back(steps).withdrawn.get(left or "")
    return None if left is None or signed != change.signed else (left, signed)
