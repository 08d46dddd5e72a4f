"""Small bodies are read all at once or field by field, and nobody can tell which."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alama.monitoring import outcomes_api, reviews_api
from alama.onboarding import api as onboarding_api
from alama.onboarding import jobs_api
from alama.platform.http import fields
from alama.platform.http.problems import InvalidRequest
from alama.webhooks import endpoints_api

KINDS: list[tuple[type[Any], Any]] = [
    (outcomes_api.NewOutcome, outcomes_api.RULES),
    (reviews_api.NewReview, reviews_api.RULES),
    (endpoints_api.NewWebhookEndpoint, endpoints_api.RULES),
    (endpoints_api.WebhookEndpointChange, endpoints_api.RULES),
    (onboarding_api.NewTerms, onboarding_api.RULES),
    (jobs_api.NewTraining, jobs_api.RULES),
]
REQUEST_ID = "req_065bfeda25e0005d1f0a9c3b7e42"
VALUES = st.one_of(
    st.sampled_from(
        [None, True, False, 0, 1, -1, 30, 30.0, 30.5, 1e300, 2**60, "", "repaid", "APPROVED"]
    ),
    st.sampled_from(["income_verified", "2026-11-16", "20261116", REQUEST_ID, "W. Mutua"]),
    st.sampled_from(["https://example.com/hook", ["score.created"], ["nothing"], [1], [], {}]),
    st.text(max_size=5),
)


def no_zero(value: object) -> None:
    if value in (0, "0", ""):
        raise ValueError


@st.composite
def sent_to(draw: st.DrawFn, kind: type[Any]) -> list[tuple[str, object]]:
    names = st.one_of(st.sampled_from(kind.__struct_fields__), st.sampled_from(["more", "Date"]))
    chosen = draw(st.lists(names, max_size=len(kind.__struct_fields__) + 1))
    return [(name, draw(VALUES)) for name in chosen]


def told(kind: type[Any], sent: list[tuple[str, object]], rules: Any) -> object:
    checks = dict.fromkeys(kind.__struct_fields__, no_zero)
    try:
        return fields.read_members(kind, sent, rules, checks)
    except InvalidRequest as error:
        return [(one.pointer, one.code, one.detail) for one in error.problems]


@given(st.data(), st.sampled_from(KINDS))
def test_what_is_read_at_once_is_what_is_read_field_by_field(
    data: st.DataObject, of: tuple[type[Any], Any]
) -> None:
    kind, rules = of
    sent = data.draw(sent_to(kind))
    at_once = told(kind, sent, rules)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fields, "_at_once", lambda *_: None)
        assert told(kind, sent, rules) == at_once


def test_what_breaks_no_rule_is_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = [("request_id", REQUEST_ID), ("outcome", "repaid"), ("date", "2026-11-16")]
    more = [("disbursed_amount", 30.0), ("repaid_amount", None)]
    monkeypatch.setattr(fields, "_repeated", lambda _: pytest.fail("field by field"))
    found = fields.read_members(outcomes_api.NewOutcome, [*sent, *more], outcomes_api.RULES)
    assert (found.disbursed_amount, found.repaid_amount) == (30.0, None)
