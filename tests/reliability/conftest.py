"""What the tests of reliability share."""

import logging

import pytest


@pytest.fixture(autouse=True)
def only_our_own_progress() -> None:
    """`make reliability` shows the log of the tests; that of their HTTP client is of no use."""
    logging.getLogger("httpx").setLevel(logging.WARNING)
