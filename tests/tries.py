"""How many examples a property is shown, by the profile that a run has."""

import os

from hypothesis import settings

TIMES = {"explore": 10.0, "quick": 0.1}.get(os.environ.get("HYPOTHESIS_PROFILE", ""), 1.0)


def tries(number: int) -> settings:
    """So many for a property that costs more, or needs more, than Hypothesis' usual hundred."""
    return settings(max_examples=max(1, round(TIMES * number)))
