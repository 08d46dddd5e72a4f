"""Products over the wire: asked for by name, told in the answer, frozen in what is kept."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from alama.core.lending import draft
from alama.core.receipts import decode, failures
from alama.lenders import installation, keys
from alama.lenders.installation import Installation
from alama.lenders.records import Signed
from alama.platform import settings
from alama.policies import policies
from alama.scoring.replay import open_score, recall, replay
from alama.scoring.store import Scores
from tests.entries import DEMO
from tests.served import BODY, MODEL, Service
from tests.unit.core.lending.test_products import TWO

WEEKLY = json.dumps(json.loads(BODY) | {"product": "weekly"}).encode()


@pytest.fixture
def installed(tmp_path: Path) -> Iterator[Installation]:
    opened = installation.open_installation(settings.read({"ALAMA_HOME": str(tmp_path)}))
    yield opened
    opened.close()


@pytest.fixture
def served(installed: Installation) -> Service:
    answer_by(installed, TWO)
    key, _ = keys.issue(installed.registry, installed.clock, installed.pepper, DEMO)
    return Service(installed, key)


def answer_by(installed: Installation, more: str) -> None:
    text = draft.default_text("KES") + more.encode()
    signed = Signed(installed.clock(), "W. Mutua")
    policies.activate(installed.registry, DEMO, text, signed, lambda: MODEL)


def score(served: Service, body: bytes, query: str = "", **headers: str) -> Any:
    reply = served.ask(f"/v1/score{query}", body=body, headers=headers)
    assert reply.status == 200, reply
    return reply.json()


def differences(installed: Installation, request_id: str) -> Any:
    stored = Scores.at(installed).find(DEMO, request_id)
    return replay(recall(installed.registry, installed.vault, stored))


def test_the_product_that_is_asked_for_decides_and_the_answer_names_it(served: Service) -> None:
    expand = "?expand=offer,offers,schedule"
    weekly, monthly = (score(served, body, expand) for body in (WEEKLY, BODY))
    assert (weekly["product"], monthly["product"]) == ("weekly", "monthly")
    assert weekly["recommended_term_days"] in {28, 56}
    assert {one["term_days"] for one in weekly["offers"]} <= {28, 56}
    assert weekly["schedule"]["payments"][0]["due_in_days"] == 7
    assert monthly["recommended_term_days"] in {30, 60, 90, 120, 180}


def test_a_policy_without_products_answers_as_before(installed: Installation) -> None:
    key, _ = keys.issue(installed.registry, installed.clock, installed.pepper, DEMO)
    served = Service(installed, key)
    assert "product" not in score(served, BODY)
    refused = served.ask("/v1/score", body=WEEKLY)
    assert refused.status == 422
    assert [one["pointer"] for one in refused.json()["errors"]] == ["/product"]


@pytest.mark.parametrize("path", ["/v1/score", "/v1/explain"])
def test_an_unknown_product_is_refused_without_an_echo(served: Service, path: str) -> None:
    sent = json.dumps(json.loads(BODY) | {"product": "daily-for-wanjiru"}).encode()
    refused = served.ask(path, body=sent)
    assert refused.status == 422
    assert refused.json()["errors"] == [
        {
            "pointer": "/product",
            "code": "out_of_range",
            "detail": "must be one of monthly, weekly",
        }
    ]
    assert b"wanjiru" not in refused.body


def test_an_explanation_says_of_a_product_what_its_score_says(served: Service) -> None:
    told = served.ask("/v1/explain", body=WEEKLY).json()
    given = score(served, WEEKLY)
    for name in ("product", "score", "decision", "recommended_limit", "recommended_apr"):
        assert told[name] == given[name]


def test_the_product_is_kept_and_replays_after_the_policy_has_moved_on(
    installed: Installation, served: Service
) -> None:
    given = [score(served, body) for body in (WEEKLY, BODY)]
    for more in (TWO.replace("4_000", "9_000"), ""):
        answer_by(installed, more)
        for one in given:
            assert differences(installed, one["request_id"]) == ()
    path = f"/v1/scores/{given[0]['request_id']}"
    kept = served.ask(path).json()
    receipt = served.ask(f"{path}/receipt")
    assert receipt.json()["assessment"]["offer"]["product"] == "weekly"
    assert failures(decode(receipt.body)) == ()
    assert kept["product"] == kept["application"]["product"] == "weekly"
    stored = Scores.at(installed).find(DEMO, given[1]["request_id"])
    assert open_score(installed.vault, stored).assessment.product == "monthly"


CAP = """
[[portfolio]]
name = "weekly_loans"
per = "day"
number_max = 1
products = ["weekly"]
"""


def test_a_cap_on_a_product_leaves_the_others_be_and_replays(installed: Installation) -> None:
    answer_by(installed, CAP + TWO)
    key, _ = keys.issue(installed.registry, installed.clock, installed.pepper, DEMO)
    served = Service(installed, key)
    said = [score(served, body, "?expand=offer") for body in (BODY, WEEKLY, WEEKLY, BODY)]
    assert [(one["decision"], one["offer"]["rules"]) for one in said] == [
        ("APPROVED", []),
        ("APPROVED", []),
        ("REVIEW", ["weekly_loans"]),
        ("APPROVED", []),
    ]
    told = served.ask("/v1/explain", body=WEEKLY).json()
    assert told["decision"] == "REVIEW"
    for one in said:
        assert differences(installed, one["request_id"]) == ()
    counted = Scores.at(installed).approved(DEMO, 0)
    assert {part.product: one.number for part, one in counted.items()} == {
        "weekly": 1,
        "monthly": 2,
    }


def test_monitoring_tells_each_product_apart(installed: Installation, served: Service) -> None:
    for body in (WEEKLY, WEEKLY, BODY):
        score(served, body)
    told = served.ask("/v1/monitoring").json()["products"]
    assert [(one["product"], one["offered"], one["approved"]) for one in told] == [
        ("monthly", True, 1),
        ("weekly", True, 2),
    ]
    assert {one["rate"]["verdict"] for one in told} == {"too_few"}
    answer_by(installed, "")
    told = served.ask("/v1/monitoring").json()["products"]
    assert [(one["product"], one["offered"]) for one in told] == [
        ("monthly", False),
        ("weekly", False),
    ]


def test_one_key_is_for_one_product(served: Service) -> None:
    first = served.ask("/v1/score", body=WEEKLY, headers={"idempotency-key": "a"})
    again = served.ask("/v1/score", body=WEEKLY, headers={"idempotency-key": "a"})
    assert again.body == first.body
    other = served.ask("/v1/score", body=BODY, headers={"idempotency-key": "a"})
    assert other.json()["code"] == "idempotency_key_reused"


def test_a_fixture_of_the_sandbox_is_of_the_product_that_was_asked_for(served: Service) -> None:
    sent = json.loads(WEEKLY) | {"applicant_ref": "fixture-approved"}
    said = score(served, json.dumps(sent).encode())
    assert said["product"] == "weekly"
    assert said["recommended_term_days"] in {28, 56}


def test_the_catalogue_names_the_products(installed: Installation, served: Service) -> None:
    assert served.ask("/v1/catalogue").json()["products"] == ["monthly", "weekly"]
    answer_by(installed, "")
    assert served.ask("/v1/catalogue").json()["products"] == []
