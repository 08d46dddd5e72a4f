"""Events: what is signed is made once, and says nothing of what an applicant sent."""

import json
from datetime import UTC, datetime, timedelta

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from alama.platform import events, ids
from alama.platform.events import EventKind, ScoreGiven, event, score_created
from tests.entries import DEMO, NOON_US, a_request_id

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
CHANCE = bytes(ids.RANDOM_BYTES)


def given_score(request_id: str) -> ScoreGiven:
    return ScoreGiven("test", request_id, 661, "B", "APPROVED", "sha256:model", "sha256:policy")


@given(st.integers(0, 253_402_300_799_999_999))
def test_a_moment_is_written_as_rfc_3339_to_the_microsecond(at_us: int) -> None:
    written = events.moment(at_us)
    assert datetime.fromisoformat(written) == EPOCH + timedelta(microseconds=at_us)
    assert len(written) == len("2026-11-15T12:00:00.000000Z")


def test_the_event_of_a_score_is_what_any_event_of_it_would_be() -> None:
    told = given_score(a_request_id())
    data = msgspec.structs.asdict(told)
    data.pop("mode")
    made = score_created(DEMO.lender, told, NOON_US)
    usual = event(DEMO, EventKind.SCORE_CREATED, told.request_id, data, NOON_US, CHANCE)
    assert made._replace(id="") == usual._replace(id="")


def test_the_event_of_a_score_is_named_after_it() -> None:
    request_id = a_request_id()
    made = score_created(DEMO.lender, given_score(request_id), NOON_US)
    assert made.id == "evt_" + request_id.removeprefix("req_")
    assert ids.is_sortable(events.PREFIX, made.id)
    assert made.id.startswith(ids.beginning(events.PREFIX, NOON_US))


def test_the_payload_of_a_score_names_ids_and_what_was_decided_and_no_more() -> None:
    made = score_created(DEMO.lender, given_score("req_" + "0" * 28), NOON_US)
    assert json.loads(made.payload) == {
        "type": "score.created",
        "timestamp": "2026-11-15T12:00:00.000000Z",
        "data": {
            "mode": "test",
            "request_id": "req_" + "0" * 28,
            "score": 661,
            "tier": "B",
            "decision": "APPROVED",
            "model": "sha256:model",
            "policy": "sha256:policy",
        },
    }
