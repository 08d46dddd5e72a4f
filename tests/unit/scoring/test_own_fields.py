"""A lender's own fields over the wire: accepted from it alone, read by rules, told, replayed."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from alama.core import document
from alama.core.errors import InvalidFields, InvalidPolicy
from alama.core.lending import draft
from alama.lenders import installation, keys
from alama.lenders.installation import Installation
from alama.lenders.records import Signed
from alama.platform import settings
from alama.platform.book import Book, Mode
from alama.policies import own_fields, policies
from alama.scoring.replay import open_score, recall, replay
from alama.scoring.store import Scores
from tests.entries import DEMO
from tests.own_fields import TEXT, THREE, a_model_of, declared, the_three, without
from tests.served import BODY, MODEL, Service

LIVE = Book("demo", Mode.LIVE)
OWN = {"bureau_score": 640, "earlier_loans": 3, "branch": "Kisumu"}
FULL = json.dumps(json.loads(BODY) | OWN).encode()
MODEL_OF_OWN = a_model_of(the_three())
KISUMU_RULE = (
    '[[rules]]\nname = "kisumu"\nwhen = \'branch == "Kisumu" and bureau_score < 700\'\n'
    'decision = "REVIEW"\nsays = "our branch in Kisumu looks at these"\n'
)


@pytest.fixture
def installed(tmp_path: Path) -> Iterator[Installation]:
    opened = installation.open_installation(settings.read({"ALAMA_HOME": str(tmp_path)}))
    opened.registry.keep_model(MODEL_OF_OWN.id, document.encode(MODEL_OF_OWN), opened.clock())
    opened.registry.deploy(LIVE, MODEL_OF_OWN.id, None, opened.clock())
    yield opened
    opened.close()


def service(installed: Installation, book: Book = DEMO) -> Service:
    key, _ = keys.issue(installed.registry, installed.clock, installed.pepper, book)
    return Service(installed, key)


def activate(installed: Installation, text: bytes = TEXT) -> None:
    signed = Signed(installed.clock(), "W. Mutua", "our bureau")
    own_fields.activate(installed.registry, "demo", text, signed, lambda: MODEL)


def let_rule_answer(installed: Installation, book: Book = DEMO) -> None:
    text = draft.default_text("KES").decode() + "\n" + KISUMU_RULE
    signed = Signed(installed.clock(), "W. Mutua")
    policies.activate(installed.registry, book, text.encode(), signed, lambda: MODEL)


def differences(installed: Installation, request_id: str, book: Book) -> Any:
    stored = Scores.at(installed).find(book, request_id)
    return replay(recall(installed.registry, installed.vault, stored))


def test_an_undeclared_field_is_refused_and_so_is_that_of_another_lender(
    installed: Installation,
) -> None:
    reply = service(installed).ask("/v1/score", body=FULL)
    assert reply.status == 422
    assert {one["pointer"] for one in reply.json()["errors"]} == {f"/{name}" for name in OWN}
    activate(installed)
    assert service(installed).ask("/v1/score", body=FULL).status == 200
    keys.add_lender(installed.registry, installed.clock, "umoja", "Umoja Sacco", "KES")
    other = service(installed, Book("umoja", Mode.TEST))
    refused = other.ask("/v1/score", body=FULL)
    assert refused.status == 422
    assert {one["code"] for one in refused.json()["errors"]} == {"unknown_field"}
    assert other.ask("/v1/score", body=BODY).status == 200


def test_a_test_key_is_answered_alike_with_and_without_them(installed: Installation) -> None:
    activate(installed)
    asked = service(installed)
    plain, full = (asked.ask("/v1/score", body=body).json() for body in (BODY, FULL))
    assert plain["score"] == full["score"]
    assert plain["shap_values"] == full["shap_values"]


def test_a_live_model_reads_them_and_says_so_in_three_languages(installed: Installation) -> None:
    activate(installed)
    asked = service(installed, LIVE)
    said = asked.ask("/v1/score", body=FULL).json()
    assert set(THREE) <= {one["feature"] for one in said["shap_values"]}
    labels = {"en": "bureau", "sw": "ofisi ya taarifa", "fr": "bureau de crédit"}
    for language, label in labels.items():
        low = json.dumps(json.loads(FULL) | {"bureau_score": 200}).encode()
        told = asked.ask(f"/v1/explain?language={language}", body=low).json()
        texts = [reason["text"] for reason in told["reasons"] if reason["feature"] == THREE[0]]
        texts += [
            change["text"]
            for way in told["counterfactuals"]
            for change in way["changes"]
            if change["feature"] == THREE[0]
        ]
        assert texts, told
        assert all(label in text for text in texts)


def test_rules_read_them(installed: Installation) -> None:
    with pytest.raises(InvalidPolicy, match="branch"):
        let_rule_answer(installed)
    activate(installed)
    let_rule_answer(installed)
    said = service(installed).ask("/v1/score", body=FULL).json()
    assert said["decision"] in {"REVIEW", "DECLINED"}
    stored = Scores.at(installed).find(DEMO, said["request_id"])
    assert "kisumu" in open_score(installed.vault, stored).assessment.rules


@pytest.mark.parametrize("book", [DEMO, LIVE])
def test_a_score_replays_bit_for_bit_whatever_is_declared_later(
    installed: Installation, book: Book
) -> None:
    activate(installed)
    let_rule_answer(installed, book)
    given = service(installed, book).ask("/v1/score", body=FULL).json()["request_id"]
    # What reads them has to give way first.
    installed.registry.keep_model(MODEL.id, document.encode(MODEL), installed.clock())
    installed.registry.deploy(LIVE, MODEL.id, None, installed.clock())
    installed.registry.deploy_policy(DEMO, None, Signed(installed.clock()))
    for text in (declared(('"branch"', '"shop"')), without("bureau_score")):
        activate(installed, text)
        assert differences(installed, given, book) == ()


def test_a_score_from_before_they_were_declared_replays(installed: Installation) -> None:
    given = service(installed).ask("/v1/score", body=BODY).json()["request_id"]
    activate(installed)
    assert differences(installed, given, DEMO) == ()


def test_a_field_that_a_model_or_a_rule_reads_is_not_taken_away(installed: Installation) -> None:
    activate(installed)
    with pytest.raises(InvalidFields, match="live mode could not go on: the model reads bureau"):
        activate(installed, without("bureau_score"))
    installed.registry.deploy(LIVE, None, None, installed.clock())
    let_rule_answer(installed)
    with pytest.raises(InvalidFields, match="test mode could not go on: the rule kisumu"):
        activate(installed, without("bureau_score"))
    assert service(installed).ask("/v1/score", body=FULL).status == 200


def test_who_may_send_what_can_be_asked(installed: Installation) -> None:
    asked = service(installed)
    plain = asked.ask("/v1/catalogue").json()
    assert plain["fields_id"] is None
    assert not any(field["own"] for field in plain["fields"])
    activate(installed)
    told = asked.ask("/v1/catalogue").json()
    assert told["fields_id"] == the_three().id
    assert [field["name"] for field in told["fields"] if field["own"]] == list(THREE)
    assert told["fields"][: len(plain["fields"])] == plain["fields"]
