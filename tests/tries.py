"""How many examples a property is shown, by the profile that a run has."""

import os

from hypothesis import settings

PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "brief")
"""`make test` shows the first few of them; `make test-long` has `ci`, which shows them all."""

TIMES = {"explore": 10.0, "ci": 1.0, "brief": 0.3, "quick": 0.1}[PROFILE]


def tries(number: int) -> settings:
    """So many for a property that costs more, or needs more, than Hypothesis' usual hundred."""
    return settings(max_examples=max(1, round(TIMES * number)))
