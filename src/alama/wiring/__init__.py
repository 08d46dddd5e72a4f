"""The composition root: settings in, running objects out. Nothing else connects the parts.

What a command needs is here; what it takes to serve and to deliver is imported by those who do:
it takes longer to load than most commands run.
"""

from alama.wiring.installation import (
    Installation,
    open_as_it_is,
    open_installation,
    operator,
    stopwatch_us,
    wall_us,
)

__all__ = [
    "Installation",
    "open_as_it_is",
    "open_installation",
    "operator",
    "stopwatch_us",
    "wall_us",
]
