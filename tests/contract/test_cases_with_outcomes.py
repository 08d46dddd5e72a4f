"""What a simulation on stored scores learns of their loans: mature ones, of its own book."""

from __future__ import annotations

import pytest

from alama.core.lending.earnings import Known
from alama.core.product import PRODUCT
from alama.platform.database.database import Database
from alama.scoring.replay import StoredCases
from tests.contract.outcomes import (
    SENT,
    TODAY,
    defaulted,
    outcomes_in,
    repaid,
    scored,
)
from tests.entries import DEMO, UMOJA
from tests.stores import lenders_in, scores_in, vault_of

LATER = TODAY + 1_000


@pytest.fixture
def cases(database: Database) -> StoredCases:
    lenders_in(database, DEMO.lender, UMOJA.lender)
    return StoredCases(scores_in(database), vault_of(database), DEMO, PRODUCT, LATER)


def test_the_outcome_of_a_mature_loan_is_known_and_which_share_came_back(
    cases: StoredCases, database: Database
) -> None:
    good, bad, unvalued, silent = scored(database, 4)
    theirs, *_ = scored(database, 1, UMOJA)
    outcomes = outcomes_in(database)
    news = [
        repaid(good, disbursed_amount=1_000.0, repaid_amount=1_250.0),
        defaulted(bad, disbursed_amount=1_000.0, repaid_amount=400.0),
        defaulted(unvalued),
    ]
    outcomes.record(DEMO, news, SENT)
    outcomes.record(UMOJA, [defaulted(theirs)], SENT)
    found = {case.reference: case.known for case in cases.first(100)}
    assert found == {
        good: Known(is_default=False, returned=1.25),
        bad: Known(is_default=True, returned=0.4),
        unvalued: Known(is_default=True),
        silent: None,
    }
    assert {case.month for case in cases.first(100)} == {"2026-11"}


def test_a_loan_that_may_still_default_is_not_taken_to_be_good(
    cases: StoredCases, database: Database
) -> None:
    (request_id,) = scored(database)
    outcomes_in(database).record(DEMO, [repaid(request_id)], SENT)
    early = StoredCases(scores_in(database), vault_of(database), DEMO, PRODUCT, TODAY + 1)
    assert [case.known for case in early.first(10)] == [None]
    assert [case.known for case in cases.first(10)] == [Known(is_default=False)]
