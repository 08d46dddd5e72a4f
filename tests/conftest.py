"""What every test shares: how hard Hypothesis looks.

`HYPOTHESIS_PROFILE=explore make test` looks where the repeatable run does not.
"""

import os

from hypothesis import HealthCheck, settings

# The same examples at every run, whatever the machine: a red build is red for everyone.
settings.register_profile(
    "ci",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
# New examples at every run, and many of them.
settings.register_profile("explore", deadline=None, max_examples=2_000)

settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
