"""Which signatures count: those given since a model last stopped answering.

Whoever signed before stood for a model that was then left, for a reason. To put it back takes as
many people as to put it in force, and they may be the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from alama.service.onboarding.records import Signature
    from alama.service.policies import Deployment


def that_count(
    signatures: Iterable[Signature], model_id: str, deployments: Sequence[Deployment]
) -> list[Signature]:
    """Give those of the signatures for a model that count now.

    `deployments` are all of the lender's live book, oldest first. While the model answers nothing
    more is counted, so all do.
    """
    left_us = left_since(model_id, deployments)
    return [one for one in signatures if left_us is None or one.signed_us > left_us]


def left_since(model_id: str, deployments: Sequence[Deployment]) -> int | None:
    """Give when a model last stopped answering (microseconds); None: it never did, or answers."""
    after: Deployment | None = None
    for step in reversed(deployments):
        if step.model_id == model_id:
            return None if after is None else after.signed.at_us
        after = step
    return None
