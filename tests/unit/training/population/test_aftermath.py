"""What becomes of synthetic loans is drawn from their true risk, and told as far as it is known."""

from __future__ import annotations

from collections import defaultdict

import msgspec
import numpy as np
import pytest

from alama.core.intake import Intake
from alama.core.monitoring.news import News, State
from alama.core.product import PRODUCT
from alama.scoring.sequels import DEFAULTS
from alama.training.population.aftermath import Lent, applicants, news_of, worse
from alama.training.population.people import PopulationOptions, batches

OPTIONS = PopulationOptions(rows=400, seed=3)
DAY = 20_000


def loans(count: int, risk: float = 0.2, term_days: int = 30) -> Lent:
    return Lent(
        [f"req_{place:028x}" for place in range(count)],
        np.full(count, risk),
        np.full(count, DAY),
        np.full(count, DAY + term_days),
        np.full(count, 1_000.0),
        np.full(count, 1_200.0),
    )


def told(lent: Lent, today: int = DAY + 10_000, seed: int = 1) -> dict[str, list[News]]:
    found: dict[str, list[News]] = defaultdict(list)
    for one in news_of(lent, np.random.default_rng(seed), 30, today):
        found[one.request_id].append(one)
    return found


def test_applications_are_the_rows_of_the_population_as_an_applicant_would_send_them() -> None:
    [people] = applicants(OPTIONS, [], None)
    [batch] = batches(OPTIONS)
    assert len(people.bodies) == 400
    assert people.risk.tolist() == batch.column("true_default_probability").to_pylist()
    intake = Intake(PRODUCT)
    for body, row in zip(people.bodies, batch.to_pylist(), strict=True):
        intake.read(body)
        sent = msgspec.json.decode(body)
        assert sent == {name: row[name] for name in sent}
        assert "default" not in sent


def test_fields_that_must_not_be_sent_are_left_out() -> None:
    [people] = applicants(OPTIONS, ["region"], None)
    assert not any("region" in msgspec.json.decode(body) for body in people.bodies)


def test_from_a_row_on_two_thirds_say_half_of_their_inflow() -> None:
    [calm], [drifting] = applicants(OPTIONS, [], None), applicants(OPTIONS, [], 100)
    assert calm.bodies[:100] == drifting.bodies[:100]
    pairs = [
        (msgspec.json.decode(was), msgspec.json.decode(now))
        for was, now in zip(calm.bodies[100:], drifting.bodies[100:], strict=True)
    ]
    halved = [(was, now) for was, now in pairs if was != now]
    assert 0.55 < len(halved) / len(pairs) < 0.75
    for was, now in halved:
        assert now == was | {"avg_inflow": was["avg_inflow"] / 2.0}
    assert calm.risk.tolist() == drifting.risk.tolist()


def test_as_many_default_as_the_true_risk_says() -> None:
    found = told(loans(20_000))
    defaulted = sum(any(one.state in DEFAULTS for one in some) for some in found.values())
    assert defaulted / 20_000 == pytest.approx(0.2, abs=0.01)


def test_a_default_is_one_from_the_day_on_that_makes_it_one() -> None:
    for some in told(loans(500)).values():
        if some[0].state is State.REPAID:
            assert len(some) == 1
            assert DAY < some[0].happened_on < DAY + 60
        else:
            first, last = some
            assert first.happened_on == DAY + 60
            assert last.state in {State.REPAID, State.WRITTEN_OFF}
            assert last.happened_on > first.happened_on


def test_nothing_is_told_before_it_has_happened() -> None:
    whole, today = told(loans(500)), DAY + 35
    young = told(loans(500), today)
    assert young
    assert len(young) < len(whole)
    for request_id, some in young.items():
        assert some == [one for one in whole[request_id] if one.happened_on <= today]


def test_nobody_repays_before_the_loan() -> None:
    for some in told(loans(500, risk=0.0, term_days=2)).values():
        assert some[0].happened_on > DAY


def test_news_come_in_the_order_of_their_days() -> None:
    found = news_of(loans(500), np.random.default_rng(1), 30, DAY + 10_000)
    days = [one.happened_on for one in found]
    assert days == sorted(days)


def test_worse_times_multiply_the_odds() -> None:
    assert worse(np.array([0.5, 0.1]), 2.0) == pytest.approx([2 / 3, 2 / 11])
    assert worse(np.array([0.3]), 1.0) == pytest.approx([0.3])
