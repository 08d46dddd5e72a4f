"""Why nothing arrived: what a lender is told of it."""

from __future__ import annotations

import pytest

from alama.webhooks.records import ADDRESS_REFUSED, SendError, told_to_lenders

HIDDEN = {SendError.NAME_NOT_RESOLVED, SendError.ADDRESS_FORBIDDEN}


@pytest.mark.parametrize("error", sorted(HIDDEN))
def test_a_lender_cannot_tell_which_names_there_are_in_the_operators_network(error: str) -> None:
    assert told_to_lenders(error) == ADDRESS_REFUSED


@pytest.mark.parametrize("error", [None, "of_a_newer_release", *sorted(set(SendError) - HIDDEN)])
def test_every_other_error_is_told_as_it_is(error: str | None) -> None:
    assert told_to_lenders(error) == error
