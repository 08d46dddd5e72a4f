"""Read by every Python that is started with this folder on its path: its chores come often."""

from alama.app import upkeep
from alama.platform import clock

clock.LOOK_EVERY_S = 0.5  # type: ignore[misc]  # as a patch does
upkeep.FORGET_EVERY_S = 0.3  # type: ignore[misc]
upkeep.RETAIN_EVERY_S = 0.3  # type: ignore[misc]
upkeep.NOTE_HEADS_EVERY_S = 0.3  # type: ignore[misc]
