"""What Schemathesis takes for a mistake of the service and is none. Runs in .venv-api."""

from __future__ import annotations

import json
import os
import re
from typing import Any

import schemathesis  # type: ignore[import-not-found]  # installed where this runs
from hypothesis import strategies as st
from schemathesis.openapi.checks import (  # type: ignore[import-not-found]  # as above
    RejectedPositiveData,
)

SHAPE = re.compile("we_[0-9a-f]{28}")
NAME = re.compile("[a-z][a-z0-9-]{0,63}", re.IGNORECASE | re.ASCII)
PAST = "2024"
UNSAYABLE = (
    # What a field of one kind of event is to another, and which day is before which.
    "is no field of ",
    "is required of ",
    "is required beside ",
    "must be a date from ",
    "must be before the day of application",
    "must be 2000-01-01 or later, and not yet to come",
    # Whether a policy has products.
    "is not a field: the lender's policy has no products",
    # Which clocks are known; what is in a note, and in a file.
    "must be a country of two letters whose clock is known",
    "must be a zone that is known",
    "must be an object that names the columns",
    "must not be yet to come",
    "must be one line, at most 200 characters, and name no applicant",
)
UNREADABLE = (b"invalid_file", b"statement_unreadable", b"mapping_needed")
CONTRADICTIONS = (
    b'"detail":"From must be before to."',
    b'"detail":"Waiting=true lists scores that say REVIEW, and decision names another."',
    b'"detail":"Limit is the old spelling of ways. Send ways alone."',
)


def is_a_finding(_context: object, failure: Any, case: Any, response: Any) -> bool:
    # A key that came with another body before is refused, however valid the body: a schema has no
    # words for that. Only that refusal: a body that is refused for its fields stays a finding.
    key_reused = b'"code":"idempotency_key_reused"' in response.content
    # Which of the names that a tier may have are tiers, the policy of the key says, and no schema.
    no_tier = b'"detail":"Target names nothing to aim at.' in response.content
    # Which hosts are addresses that nothing is sent to, no pattern can say.
    no_url = b'"code":"invalid_url"' in response.content
    # Nor can a schema say what two parameters may not say together, nor whether a time has passed.
    contradicted = any(said in response.content for said in CONTRADICTIONS)
    no_past = b'"detail":"the time is in the future' in response.content
    # One who was erased by an earlier request is gone.
    erased = b'"code":"erased"' in response.content
    # Nor which evidence was ever given, and of what: it is signed.
    no_evidence = b'"code":"evidence_' in response.content
    # Nor what is in a file.
    unread = any(b'"code":"%s"' % code in response.content for code in UNREADABLE)
    unread = unread or (case.path == "/v1/fields" and response.status_code < 500)
    excused = (
        unread
        or unsayable(response)
        or key_reused
        or no_tier
        or no_url
        or contradicted
        or no_past
        or erased
        or no_evidence
    )
    return not (excused and isinstance(failure, RejectedPositiveData))


def unsayable(response: Any) -> bool:
    # Every rule that is broken has to be one that the schema cannot say.
    try:
        errors = json.loads(response.content).get("errors", [])
    except ValueError:
        return False
    return bool(errors) and all(one["detail"].startswith(UNSAYABLE) for one in errors)


def with_one_that_stands(context: Any, path_parameters: dict[str, Any] | None) -> Any:
    # What one request adds another deletes: left to chance, some operations would meet none.
    named = (path_parameters or {}).get("endpoint_id")
    if isinstance(named, str) and SHAPE.fullmatch(named) and context.operation.method != "delete":
        return {**(path_parameters or {}), "endpoint_id": os.environ["FUZZ_ENDPOINT"]}
    return path_parameters


def with_what_goes_on(_context: object, case: Any, _kwargs: object) -> None:
    body = case.body
    if not isinstance(body, dict):
        return
    # The key that asks would end, and nothing more could be asked under it.
    hours = body.get("overlap_hours")
    if case.path == "/v1/keys/rotate" and type(hours) in (int, float) and hours == 0:
        case.body = {**body, "overlap_hours": 1}
    # A time of chance lies mostly in the future, where nothing was to be sent.
    since = body.get("since")
    if case.path.endswith("/resend") and isinstance(since, str) and since[:4] > PAST:
        case.body = {**body, "since": PAST + since[4:]}
    # Nobody is found by chance.
    named = body.get("applicant_ref")
    if case.path == "/v1/applicants/export" and isinstance(named, str) and NAME.fullmatch(named):
        case.body = {**body, "applicant_ref": os.environ["FUZZ_APPLICANT"]}


def without_contradictions(_context: object, query: dict[str, Any] | None) -> Any:
    # Left to chance, every other list would be refused for what two parameters say together.
    asked = dict(query or {})
    for one, other in (("from", "to"), ("waiting", "decision"), ("ways", "limit")):
        if one in asked:
            asked.pop(other, None)
    return asked if query is not None else None


schemathesis.hook("filter_failure")(is_a_finding)
schemathesis.hook("before_call")(with_what_goes_on)
schemathesis.hook("map_query")(without_contradictions)
schemathesis.hook("map_path_parameters")(with_one_that_stands)

# Files of any content are taken: whoever reads them says what is wrong.
for media_type in ("text/csv", "application/vnd.apache.parquet"):
    schemathesis.openapi.media_type(media_type, st.binary(min_size=1, max_size=500))
