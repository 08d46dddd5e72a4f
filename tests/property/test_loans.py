"""Looking up two fields again gives what scoring the changed application gives, to the bit."""

from bisect import bisect_left

import msgspec
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from alama.core import product
from alama.core.catalogue import Catalogue
from alama.core.lending.loan import AMOUNT, TERM, Loans, LoanTables
from alama.core.model import ReadyModel
from tests.applications import random_application
from tests.factories import a_model
from tests.tries import tries

SEEDS = st.integers(0, 2**32 - 1)
CATALOGUES = (
    product.PRODUCT,
    product.PRODUCT.only([f.name for f in product.PRODUCT.model_fields if f.name != AMOUNT]),
    product.PRODUCT.only([f.name for f in product.PRODUCT.model_fields if f.name != TERM]),
)


@given(SEEDS, st.sampled_from(CATALOGUES), st.sampled_from([None, "UGX"]), st.data())
@tries(100)
def test_another_loan_scores_as_if_it_had_been_asked_for(
    seed: int, catalogue: Catalogue, currency: str | None, data: st.DataObject
) -> None:
    # Many pairs, so that amount and term meet each other and most other fields.
    ready = ReadyModel(a_model(seed, catalogue=catalogue, pairs=60), currency)
    application = random_application(np.random.default_rng(seed), ready)
    scorecard = ready.scorecard_for(application)
    step = data.draw(st.integers(1, 5_000))
    amounts = range(step, step * data.draw(st.integers(1, 400)) + 1, step)
    amount = data.draw(st.sampled_from(amounts))
    days = data.draw(st.integers(1, 200))
    loan_tables = LoanTables(scorecard, ready, amounts, [days])

    changed = list(application.values)
    for name, value in ((AMOUNT, amount), (TERM, days)):
        if name in catalogue.position:
            changed[catalogue.position[name]] = value
    loans = Loans(loan_tables, scorecard.score(application.values))
    band = bisect_left(loan_tables.lasts, amount)
    assert loans.points(0, band) == scorecard.score(changed).points


@given(SEEDS, st.integers(1, 5_000), st.integers(1, 400))
@tries(50)
def test_the_bands_hold_every_amount_on_offer_once_and_in_order(
    seed: int, step: int, count: int
) -> None:
    ready = ReadyModel(a_model(seed))
    amounts = range(step, step * count + 1, step)
    for scorecard in ready.scorecards:
        bands = LoanTables(scorecard, ready, amounts, [30])
        held = [
            amount
            for first, last in zip(bands.firsts, bands.lasts, strict=True)
            for amount in range(first, last + 1, step)
        ]
        assert held == list(amounts)


def test_a_card_that_reads_neither_says_the_same_of_every_loan() -> None:
    ready = ReadyModel(a_model())
    compact = ready.scorecards[0]
    assert not {AMOUNT, TERM} & set(compact.fields)
    application = random_application(np.random.default_rng(0), ready)
    scored = compact.score(application.values)
    loan_tables = LoanTables(compact, ready, range(10, 70_001, 10), [30, 90])
    assert (loan_tables.firsts, loan_tables.lasts) == ((10,), (70_000,))
    loans = Loans(loan_tables, scored)
    assert loans.points(0, 0) == loans.points(1, 0) == scored.points


def test_a_model_may_hold_no_pair_of_the_two() -> None:
    model = a_model(pairs=0)
    ready = ReadyModel(msgspec.structs.replace(model, cards=model.cards[-1:]))
    application = random_application(np.random.default_rng(1), ready)
    scorecard = ready.scorecards[0]
    loan_tables = LoanTables(scorecard, ready, range(100, 50_001, 100), [60])
    loans = Loans(loan_tables, scorecard.score(application.values))
    assert loans.points(0, 0) >= loans.points(0, len(loan_tables.lasts) - 1)
