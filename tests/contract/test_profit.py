"""What mature loans brought, and how those went that a lot gave: sums of a database."""

from __future__ import annotations

import msgspec
import pytest

from alama.core.lending.draft import default_policy
from alama.core.lending.policy import Decision, Product
from alama.monitoring.profit import explored_of, products_told, profit_of
from alama.monitoring.records import AmountRow, GrantedRow, ProductRow
from alama.monitoring.store import SqlMonitoring
from alama.platform.database.database import Database
from tests.contract.outcomes import SENT, TODAY, defaulted, outcomes_in, repaid
from tests.entries import DEMO, UMOJA, an_entry
from tests.stores import lenders_in, scores_in

MODEL = "sha256:model"
LATER = TODAY + 1_000


def scored(
    database: Database, *lots: float | None, decision: Decision = Decision.APPROVED
) -> list[str]:
    """Scores by lot, or not."""
    entries = [an_entry(DEMO, decision=decision) for _ in lots]
    drawn = [
        entry._replace(score=entry.score._replace(propensity=lot))
        for entry, lot in zip(entries, lots, strict=True)
    ]
    scores_in(database).commit(drawn)
    return [entry.score.request_id for entry in drawn]


@pytest.fixture
def store(database: Database) -> SqlMonitoring:
    lenders_in(database, DEMO.lender, UMOJA.lender)
    return SqlMonitoring(database)


def test_amounts_are_summed_where_both_are_known(store: SqlMonitoring, database: Database) -> None:
    good, flat, bad, silent = scored(database, None, None, None, None)
    news = [
        repaid(good, disbursed_amount=1_000.0, repaid_amount=1_250.0),
        repaid(flat, disbursed_amount=500.0, repaid_amount=500.0),
        defaulted(bad, disbursed_amount=1_000.0, repaid_amount=400.0),
        repaid(silent, disbursed_amount=1_000.0),
    ]
    outcomes_in(database).record(DEMO, news, SENT)
    (row,) = store.amounts(DEMO, MODEL, LATER)
    assert row == AmountRow(
        202611, 60, 1, 3, 1, 2_500.0, 2_150.0, 2_250_000.0, 1_972_500.0, 1_900_000.0
    )
    assert store.amounts(UMOJA, MODEL, LATER) == []
    assert store.amounts(DEMO, MODEL, TODAY) == [], "none of them is mature"


def test_profit_is_what_each_loan_brought_less_what_it_took(
    store: SqlMonitoring, database: Database
) -> None:
    loans = [(1_000.0, 1_250.0), (500.0, 620.0), (2_000.0, 300.0)] * 12
    ids = scored(database, *[None] * len(loans))
    news = [
        repaid(one, disbursed_amount=given, repaid_amount=back)
        for one, (given, back) in zip(ids, loans, strict=True)
    ]
    outcomes_in(database).record(DEMO, news, SENT)
    policy = default_policy("KES")
    found = profit_of(store.amounts(DEMO, MODEL, LATER), policy)
    assert found is not None
    pricing = policy.pricing
    # Instalments every 30 days: of two payments three quarters of a loan are owed on average.
    share = pricing.funding / 100.0 * 60 / 365 * 0.75 + pricing.cost_share
    brought = [back - given * (1.0 + share) - pricing.cost_per_loan for given, back in loans]
    assert found.profit == pytest.approx(sum(brought))
    (month,) = found.months
    assert month.repaid - month.disbursed - month.funding - month.cost - month.tax == (
        pytest.approx(found.profit)
    )
    mean = sum(brought) / len(brought)
    spread = sum((one - mean) ** 2 for one in brought) / (len(brought) - 1)
    reach = 1.959964 * (spread * len(brought)) ** 0.5
    assert found.low == pytest.approx(found.profit - reach)
    assert found.high == pytest.approx(found.profit + reach)


def test_loans_by_lot_are_weighed_by_their_chance(store: SqlMonitoring, database: Database) -> None:
    often, seldom, sure = scored(database, 0.5, 0.1, None)
    (chosen,) = scored(database, 0.1, decision=Decision.REVIEW)
    news = [repaid(often), defaulted(seldom), repaid(sure), repaid(chosen)]
    outcomes_in(database).record(DEMO, news, SENT)
    found = explored_of(store.by_lot(DEMO, MODEL, LATER))
    assert found is not None
    assert (found.count, found.defaults) == (2, 1)
    assert found.stand_for == pytest.approx(12.0)
    assert found.realised == pytest.approx(10.0 / 12.0)
    assert found.low < 10.0 / 12.0 < found.high
    assert explored_of(store.by_lot(UMOJA, MODEL, LATER)) is None
    assert profit_of(store.amounts(DEMO, MODEL, LATER), default_policy("KES")) is None


def test_each_product_is_told_apart_and_reckoned_by_its_own_terms(
    store: SqlMonitoring, database: Database
) -> None:
    usual = default_policy("KES")
    costly = msgspec.structs.replace(usual.pricing, cost_per_loan=usual.pricing.cost_per_loan + 90)
    weekly = Product("weekly", pricing=costly)
    policy = msgspec.structs.replace(usual, products=(weekly, Product("usual", default=True)))
    kinds = [None, "weekly", "usual", "weekly", "gone"]
    entries = [an_entry(DEMO, limit=100.0) for _ in kinds]
    scores_in(database).commit(
        [
            entry._replace(score=entry.score._replace(product=kind))
            for entry, kind in zip(entries, kinds, strict=True)
        ]
    )
    ids = [entry.score.request_id for entry in entries]
    news = [repaid(one, disbursed_amount=1_000.0, repaid_amount=1_250.0) for one in ids[:4]]
    news.append(defaulted(ids[4]))
    outcomes_in(database).record(DEMO, news, SENT)
    rates, rows = store.by_product(DEMO, MODEL, LATER), store.amounts(DEMO, MODEL, LATER)
    assert rates == [
        ProductRow("gone", 1, 1, 0.049),
        ProductRow("usual", 1, 0, 0.049),
        ProductRow("weekly", 2, 0, 0.098),
    ]
    granted = store.granted(DEMO, TODAY)
    assert granted == [
        GrantedRow("gone", 1, 100.0),
        GrantedRow("usual", 1, 100.0),
        GrantedRow("weekly", 2, 200.0),
    ]
    assert store.granted(DEMO, TODAY + 1) == store.granted(UMOJA, TODAY) == []
    told = products_told(rates, granted, rows, policy)
    assert [(one.product, one.offered, one.approved, one.rate.count) for one in told] == [
        ("usual", True, 1, 1),
        ("weekly", True, 2, 2),
        ("gone", False, 1, 1),
    ]
    each, whole = told[0].profit, profit_of(rows, policy)
    assert each is not None
    assert whole is not None
    assert [one.profit for one in told] == [each, pytest.approx(2 * (each - 90)), None]
    assert whole.profit == pytest.approx(each + each + 2 * (each - 90))
    assert [one.valued for one in told] == [1, 2, 0]
