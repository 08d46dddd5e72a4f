"""Examples of outcomes for the OpenAPI document, made by the code that answers callers."""

from __future__ import annotations

import json
from typing import Any, Final

from alama.api import outcomes, wire_outcomes
from alama.api.examples_webhooks import AT_US, REQUEST_ID
from alama.service import ids
from alama.service.days import DAY_US, date_of, day_of
from alama.service.outcomes.judging import Heard, judge
from alama.service.outcomes.recording import Result
from alama.service.outcomes.records import Said, State

Json = dict[str, Any]

_OTHER_ID: Final = ids.request_id(AT_US + 1_000_000, bytes.fromhex("0c44e1b7a2905f"))
_UNKNOWN_ID: Final = ids.request_id(AT_US + 2_000_000, bytes.fromhex("77aa01c39d5be2"))
_SAID: Final = Said(AT_US, 202609, day_of(AT_US) + 60, "", 661, "B", 0.049, "APPROVED")
_LATER_US: Final = AT_US + 120 * DAY_US


def _date(days_after: int) -> str:
    return date_of(day_of(AT_US) + days_after).isoformat()


def requests() -> dict[str, Json]:
    """Give the bodies of requests by name, each with what it is for."""
    repaid = {
        "request_id": REQUEST_ID,
        "outcome": State.REPAID.value,
        "date": _date(58),
        "disbursed_amount": 12_500,
        "repaid_amount": 13_220,
    }
    defaulted = {"request_id": _OTHER_ID, "outcome": State.DEFAULTED.value, "date": _date(90)}
    unknown = {"request_id": _UNKNOWN_ID, "outcome": State.REPAID.value, "date": _date(60)}
    return {
        "outcome": {"summary": "One loan, repaid", "value": repaid},
        "outcomes": {
            "summary": "Three loans, of which one is not known",
            "value": {"outcomes": [repaid, defaulted, unknown]},
        },
    }


def replies() -> dict[str, Json]:
    """Give the bodies of replies by name."""
    news = wire_outcomes.read(json.dumps(requests()["outcomes"]["value"]).encode())
    heard = Heard(_LATER_US, None)
    results = []
    for one in news:
        said = None if one.request_id == _UNKNOWN_ID else _SAID
        answer, outcome, *_ = judge(one, said, None, heard)
        results.append(Result(one.request_id, answer, outcome and outcome.is_default))
    told = json.loads(outcomes.rendered(results))
    return {"outcome_results": {"summary": "Reply to the three loans", "value": told}}
