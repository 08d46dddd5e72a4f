"""Challengers, put together: who begins, ends and compares them, and who asks them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alama.files.models import builtin
from alama.jobs.shadow import Shadow
from alama.service.monitoring.challengers import Challenges
from alama.service.monitoring.comparing import Comparing
from alama.service.monitoring.shadowing import Shadowing
from alama.storage.challengers import SqlChallengers
from alama.storage.comparisons import SqlComparisons
from alama.storage.database import safe_for_several

if TYPE_CHECKING:
    from alama.telemetry.deliveries import DeliveryWatch
    from alama.wiring.installation import Installation


def challenges(installed: Installation) -> Challenges:
    """Give who begins and ends challengers."""
    challengers = SqlChallengers(installed.database, installed.log)
    return Challenges(challengers, installed.registry, installed.clock, builtin)


def comparing(installed: Installation) -> Comparing:
    """Give who holds them against what decides."""
    challengers = SqlChallengers(installed.database, installed.log)
    comparisons = SqlComparisons(installed.database)
    return Comparing(challengers, comparisons, installed.registry, installed.clock, builtin)


def can_shadow(installed: Installation) -> bool:
    """Say whether a worker here asks challengers: not where it is a thread of the service.

    There it would take turns of the interpreter from scores.
    """
    return safe_for_several(installed.database)


def shadow(installed: Installation, watch: DeliveryWatch) -> Shadow:
    """Give who asks them, in the process of a worker."""
    challengers = SqlChallengers(installed.database, installed.log)
    return Shadow(
        Shadowing(challengers, installed.registry, installed.vault, installed.clock), watch
    )
