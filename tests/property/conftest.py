"""Properties run at full speed: thousands of cases, whose lines the unit tests count already."""

import pytest


@pytest.fixture(autouse=True)
def uncounted(no_cover: None) -> None:
    """Leave these tests out of the coverage, which would take longer than they do."""
