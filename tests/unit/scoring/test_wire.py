"""The reply says what was assessed: ten fields in their order, and what was asked for besides."""

from datetime import datetime
from itertools import combinations
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alama.core.assess import Assessment, assess
from alama.core.lending.draft import default_policy
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.model import ReadyModel
from alama.core.reasons.dictionary import Language
from alama.core.reasons.tell import reasons
from alama.platform.files.packaged import languages
from alama.scoring import api as scoring_api
from alama.scoring import scores_api
from alama.scoring.directory import ActiveModel
from alama.scoring.records import ScoreRow, ScoreSummary, Sealed
from alama.scoring.scoring import Given
from alama.scoring.sequels import Sequel
from tests.applications import random_application
from tests.entries import NOON_US, an_entry
from tests.factories import a_model
from tests.interface import TEN_FIELDS

EXPANSIONS = ["base_score", "model", "policy", "offer", "reasons"]
ENGLISH, *_ = languages()

READY = ReadyModel(a_model(), "KES")
ACTIVE = ActiveModel(READY, ReadyPolicy(default_policy("KES"), READY))


def given_for(seed: int) -> Given:
    application = random_application(np.random.default_rng(seed), READY)
    assessment = assess(READY, ACTIVE.policy, application)
    return Given("req_" + f"{seed:028x}", 3, application, assessment, ACTIVE)


def decoded(body: bytes) -> dict[str, Any]:
    reply: dict[str, Any] = msgspec.json.decode(body)
    return reply


def subsets() -> list[frozenset[str]]:
    return [frozenset(chosen) for size in range(6) for chosen in combinations(EXPANSIONS, size)]


def test_a_reply_is_the_ten_fields_in_their_order() -> None:
    assert list(decoded(scoring_api.score_reply(given_for(1)))) == TEN_FIELDS


def test_what_is_asked_for_is_added_and_changes_nothing_else(subtests: pytest.Subtests) -> None:
    for names in subsets():
        with subtests.test(",".join(sorted(names)) or "none"):
            given = given_for(2)
            reply = decoded(scoring_api.expanded(names, ENGLISH)(given))
            assert list(reply) == TEN_FIELDS + [name for name in EXPANSIONS if name in names]
            assert {name: reply[name] for name in TEN_FIELDS} == decoded(
                scoring_api.score_reply(given)
            )


@given(st.integers(0, 10_000))
def test_base_and_contributions_add_up_to_the_score_before_rounding(seed: int) -> None:
    given = given_for(seed)
    reply = decoded(scoring_api.expanded(frozenset(EXPANSIONS), ENGLISH)(given))
    total = reply["base_score"] + sum(value["contribution"] for value in reply["shap_values"])
    assert total == pytest.approx(given.assessment.points, abs=0.01)
    assert reply["score"] == round(min(max(given.assessment.points, 300.0), 850.0))
    magnitudes = [abs(value["contribution"]) for value in reply["shap_values"]]
    assert magnitudes == sorted(magnitudes, reverse=True)


@pytest.mark.parametrize("language", languages(), ids=lambda language: language.code)
@given(seed=st.integers(0, 10_000))
def test_reasons_are_those_of_the_assessment_in_the_language_asked_for(
    language: Language, seed: int
) -> None:
    given = given_for(seed)
    reply = decoded(scoring_api.expanded(frozenset({"reasons"}), language)(given))
    told = reasons(ACTIVE.policy, given.application, given.assessment, language)
    assert [(one["code"], one["feature"], one["text"]) for one in reply["reasons"]] == [
        (one.code, one.feature, one.text) for one in told
    ]
    points = {shap["feature"]: shap["contribution"] for shap in reply["shap_values"]}
    assert all(one["contribution"] == points.get(one["feature"]) for one in reply["reasons"]), (
        "a reason costs exactly what its field does, and a rule costs none"
    )


@given(st.integers(0, 10_000))
def test_the_parts_of_a_price_add_up_to_the_apr(seed: int) -> None:
    reply = decoded(scoring_api.expanded(frozenset({"offer"}), ENGLISH)(given_for(seed)))
    offer = reply["offer"]
    assert sum(offer["price"].values()) == pytest.approx(reply["recommended_apr"], abs=0.06)
    assert offer["currency"] == "KES"
    assert (reply["decision"] == "APPROVED") == (offer["rules"] == [])


def a_row(assessment: Assessment) -> ScoreRow:
    return an_entry().score._replace(
        score=assessment.score, tier=assessment.tier, model_id=READY.model.id
    )


def test_a_record_is_the_reply_and_when_and_to_whom_and_to_what() -> None:
    given = given_for(3)
    row = a_row(given.assessment)
    sent = b'{ "mm_months" : 24.0 }'
    body = scores_api.score_record(row, Sealed(sent, given.assessment), Sequel(None, None))
    record = decoded(body)
    assert list(record)[:14] == TEN_FIELDS + EXPANSIONS[:4]
    assert sent in body
    assert (record["mode"], record["key_id"]) == ("test", "key_1")
    assert datetime.fromisoformat(record["created_at"]).timestamp() == NOON_US / 1e6
    assert record["shap_values"] == decoded(scoring_api.score_reply(given))["shap_values"]


def a_summary() -> ScoreSummary:
    row = an_entry().score
    return ScoreSummary(*[getattr(row, name) for name in ScoreSummary._fields])


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_a_page_has_a_cursor_exactly_if_there_is_more(count: int) -> None:
    rows = [a_summary() for _ in range(count)]
    page = decoded(scores_api.score_page(rows, 2))
    assert [line["request_id"] for line in page["data"]] == [row.request_id for row in rows[:2]]
    assert page["next_cursor"] == (rows[1].request_id if count > 2 else None)
