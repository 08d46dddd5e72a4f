"""How many examples a property is shown: enough in every run, ten times as many to explore."""

import os

from hypothesis import settings

TIMES = 10 if os.environ.get("HYPOTHESIS_PROFILE") == "explore" else 1


def tries(number: int) -> settings:
    """So many for a property that costs more, or needs more, than Hypothesis' usual hundred."""
    return settings(max_examples=TIMES * number)
