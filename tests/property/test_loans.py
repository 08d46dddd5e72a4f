"""Looking up two fields again gives what scoring the changed application gives, to the bit."""

import msgspec
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from alama.core import product
from alama.core.catalogue import Catalogue
from alama.core.loan import AMOUNT, TERM, Loans, LoanTables
from alama.core.model import ReadyModel
from tests.applications import random_application
from tests.factories import a_model

SEEDS = st.integers(0, 2**32 - 1)
CATALOGUES = (
    product.PRODUCT,
    product.PRODUCT.only([f.name for f in product.PRODUCT.model_fields if f.name != AMOUNT]),
    product.PRODUCT.only([f.name for f in product.PRODUCT.model_fields if f.name != TERM]),
)


@given(SEEDS, st.sampled_from(CATALOGUES), st.sampled_from([None, "UGX"]), st.data())
@settings(max_examples=200)
def test_another_loan_scores_as_if_it_had_been_asked_for(
    seed: int, catalogue: Catalogue, currency: str | None, data: st.DataObject
) -> None:
    # Many pairs, so that amount and term meet each other and most other fields.
    ready = ReadyModel(a_model(seed, catalogue=catalogue, pairs=60), currency)
    application = random_application(np.random.default_rng(seed), ready)
    scorecard = ready.scorecard_for(application)
    loans = Loans(LoanTables(scorecard, ready), scorecard.score(application.values))
    amount = data.draw(st.integers(1, 2_000_000))
    days = data.draw(st.integers(1, 200))

    changed = list(application.values)
    for name, value in ((AMOUNT, amount), (TERM, days)):
        if name in catalogue.position:
            changed[catalogue.position[name]] = value
    of_term = loans.of_term(days)
    assert of_term.points(of_term.band(amount)) == scorecard.score(changed).points


def test_a_card_that_reads_neither_says_the_same_of_every_loan() -> None:
    ready = ReadyModel(a_model())
    compact = ready.scorecards[0]
    assert not {AMOUNT, TERM} & set(compact.fields)
    application = random_application(np.random.default_rng(0), ready)
    scored = compact.score(application.values)
    of_term = Loans(LoanTables(compact, ready), scored).of_term(30)
    assert of_term.points(of_term.band(7)) == of_term.points(of_term.band(70_000)) == scored.points


def test_a_model_may_hold_no_pair_of_the_two() -> None:
    model = a_model(pairs=0)
    ready = ReadyModel(msgspec.structs.replace(model, cards=model.cards[-1:]))
    application = random_application(np.random.default_rng(1), ready)
    scorecard = ready.scorecards[0]
    of_term = Loans(LoanTables(scorecard, ready), scorecard.score(application.values)).of_term(60)
    assert of_term.points(of_term.band(100)) >= of_term.points(of_term.band(50_000))
