"""What a simulation on stored scores learns of their loans: mature ones, of its own book."""

from __future__ import annotations

import pytest

from alama.core.lending.earnings import Known
from alama.core.product import PRODUCT
from alama.platform.database.database import Database
from alama.platform.files.packaged import sample_application
from alama.scoring.replay import StoredCases
from tests.contract.outcomes import (
    SENT,
    TODAY,
    defaulted,
    outcomes_in,
    repaid,
)
from tests.entries import DEMO, UMOJA
from tests.stores import lenders_in, scores_in
from tests.vaults import a_record, an_entry_of, vault_of

LATER = TODAY + 1_000


@pytest.fixture
def cases(database: Database) -> StoredCases:
    lenders_in(database, DEMO.lender, UMOJA.lender)
    return StoredCases(scores_in(database), vault_of(database), DEMO, PRODUCT, LATER)


def kept(database: Database, count: int, lender: str = "demo") -> list[str]:
    """Keep applications that can be read again."""
    ring, book = vault_of(database).ring(lender), DEMO if lender == "demo" else UMOJA
    record = a_record(sample_application())
    entries = [
        entry._replace(unsealed=entry.unsealed._replace(record=record))
        for entry in (an_entry_of(ring, f"A-{number}", book=book) for number in range(count))
    ]
    scores_in(database).commit(entries)
    return [entry.score.request_id for entry in entries]


def test_the_outcome_of_a_mature_loan_is_known_and_which_share_came_back(
    cases: StoredCases, database: Database
) -> None:
    good, bad, unvalued, silent = kept(database, 4)
    (theirs,) = kept(database, 1, "umoja")
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
    (request_id,) = kept(database, 1)
    outcomes_in(database).record(DEMO, [repaid(request_id)], SENT)
    early = StoredCases(scores_in(database), vault_of(database), DEMO, PRODUCT, TODAY + 1)
    assert [case.known for case in early.first(10)] == [None]
    assert [case.known for case in cases.first(10)] == [Known(is_default=False)]
