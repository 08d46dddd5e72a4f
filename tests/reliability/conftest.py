"""What the tests of reliability share."""

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def only_our_own_progress() -> None:
    """`make reliability` shows the log of the tests; that of their HTTP client is of no use."""
    logging.getLogger("httpx").setLevel(logging.WARNING)


@pytest.fixture(scope="package", autouse=True)
def services_run_as_fast_as_they_can() -> Iterator[None]:
    """A service that ends in SIGKILL says nothing of its coverage, and to count it takes time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("COVERAGE_PROCESS_CONFIG", raising=False)
        yield
