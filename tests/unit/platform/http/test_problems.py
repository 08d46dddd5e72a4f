"""Each error is a problem of RFC 9457: one status, one code, whole sentences, the due headers."""

import inspect
import re
from collections import Counter
from typing import Any

import msgspec
import pytest

from alama.core.errors import (
    FAULTS_MAX,
    AlamaError,
    FieldProblem,
    InvalidApplication,
    InvalidModel,
    MalformedDocument,
)
from alama.lenders import records as lenders_records
from alama.lenders.records import Signed
from alama.monitoring import reviews
from alama.onboarding import records as onboarding_records
from alama.onboarding.records import Gate
from alama.platform import errors
from alama.platform.http import problems
from alama.platform.http.problems import BadParameter, InvalidRequest, MethodNotAllowed
from alama.protection import applicants, receipts, retention
from alama.scoring import lists
from alama.scoring import records as scoring_records
from alama.scoring.scores_api import listed_reply
from alama.webhooks import records as webhooks_records
from tests.entries import DEMO, NOON_US, an_entry

KINDS = problems.kinds()
ROOMS = (
    errors,
    lenders_records,
    scoring_records,
    webhooks_records,
    reviews,
    applicants,
    receipts,
    retention,
)
PATH, REQUEST_ID = "/v1/score", "req_" + "0" * 28
ONE_FAULT = InvalidApplication([FieldProblem("a/b~c", "unknown_field", "is not a field")])

EXAMPLES: dict[type[AlamaError], AlamaError] = {
    errors.KeyMissing: errors.KeyMissing(),
    errors.ScopeMissing: errors.ScopeMissing("scores:read"),
    lenders_records.OnboardingIncomplete: lenders_records.OnboardingIncomplete(
        "no model has been trained"
    ),
    errors.ModelUnavailable: errors.ModelUnavailable(InvalidModel("the model is damaged")),
    scoring_records.UnknownScore: scoring_records.UnknownScore(),
    receipts.NoReceipt: receipts.NoReceipt(),
    applicants.UnknownApplicant: applicants.UnknownApplicant(DEMO),
    applicants.UnderHold: applicants.UnderHold(
        [applicants.Hold(1, DEMO, "apk_1", "civil suit 12", NOON_US, None)]
    ),
    webhooks_records.UnknownEndpoint: webhooks_records.UnknownEndpoint(),
    webhooks_records.UnknownEvent: webhooks_records.UnknownEvent(),
    lenders_records.UnknownModel: lenders_records.UnknownModel(),
    webhooks_records.EndpointDisabled: webhooks_records.EndpointDisabled(),
    webhooks_records.TooManyEndpoints: webhooks_records.TooManyEndpoints(20),
    errors.Erased: errors.Erased(NOON_US),
    reviews.AlreadyReviewed: reviews.AlreadyReviewed(NOON_US),
    errors.Busy: errors.Busy(),
    scoring_records.IdempotencyInFlight: scoring_records.IdempotencyInFlight(),
    scoring_records.IdempotencyKeyReused: scoring_records.IdempotencyKeyReused(),
    errors.TooManyRequests: errors.TooManyRequests(7),
    lists.ListsFull: lists.ListsFull(),
    reviews.PortfolioFull: reviews.PortfolioFull(["nairobi_c"]),
    onboarding_records.UnknownHistory: onboarding_records.UnknownHistory(),
    onboarding_records.UnknownCandidate: onboarding_records.UnknownCandidate(),
    onboarding_records.UnknownJob: onboarding_records.UnknownJob(),
    onboarding_records.FewerEyes: onboarding_records.FewerEyes(),
    onboarding_records.LawElsewhere: onboarding_records.LawElsewhere("Uganda", "demo", "KES"),
    onboarding_records.JobUnderWay: onboarding_records.JobUnderWay("job_" + "0" * 28),
    onboarding_records.HistoriesFull: onboarding_records.HistoriesFull(),
    onboarding_records.HistoryForgotten: onboarding_records.HistoryForgotten(),
    onboarding_records.GateFailed: onboarding_records.GateFailed(
        [Gate("psi", passed=False, words="0.31")]
    ),
    onboarding_records.ModelWithdrawn: onboarding_records.ModelWithdrawn(
        "sha256:" + "0" * 64, "can_" + "0" * 28, Signed(NOON_US, "W. Mutua", "arrears")
    ),
    onboarding_records.NothingBefore: onboarding_records.NothingBefore("demo"),
    InvalidApplication: ONE_FAULT,
    InvalidRequest: InvalidRequest([FieldProblem("url", "missing_field", "is required")]),
    MalformedDocument: MalformedDocument("is not JSON"),
    MethodNotAllowed: MethodNotAllowed("GET, HEAD"),
}

ONBOARDING = [
    kind
    for _, kind in inspect.getmembers(onboarding_records, inspect.isclass)
    if issubclass(kind, AlamaError) and kind.__module__ == onboarding_records.__name__
    if not issubclass(kind, errors.StoreUnfit)  # what is damaged is for operators
    # How a file is read is settled by `alama onboard map`.
    if kind is not onboarding_records.Unmapped
]


def example(kind: type[AlamaError]) -> AlamaError:
    return EXAMPLES.get(kind) or kind("something happened", hint="do this next")


def said(error: Exception) -> dict[str, Any]:
    problem: dict[str, Any] = msgspec.json.decode(problems.reply(error, PATH, REQUEST_ID).body)
    return problem


def headers(error: Exception) -> dict[bytes, bytes]:
    return dict(problems.reply(error, PATH, REQUEST_ID).headers)


def test_a_problem_has_every_member_and_agrees_with_its_status(subtests: pytest.Subtests) -> None:
    for kind in KINDS:
        with subtests.test(kind.__name__):
            reply = problems.reply(example(kind), PATH, REQUEST_ID)
            problem = msgspec.json.decode(reply.body)
            members = ["type", "title", "status", "detail", "instance", "code", "request_id"]
            assert list(problem)[:7] == members
            assert reply.status == problem["status"] == KINDS[kind].status
            assert problem["type"] == f"/docs/problems/{problem['code']}"
            assert problem["instance"] == PATH
            assert problem["request_id"] == REQUEST_ID
            assert dict(reply.headers)[b"content-type"] == b"application/problem+json"


def test_a_detail_is_made_of_sentences(subtests: pytest.Subtests) -> None:
    for kind in KINDS:
        with subtests.test(kind.__name__):
            detail = said(example(kind))["detail"]
            assert detail[0].isupper() or detail[0].isdigit()
            assert detail.endswith(".")
            assert not detail.endswith("..")


def test_each_code_is_of_one_kind() -> None:
    codes = Counter(kind.code for kind in [*KINDS.values(), problems.INTERNAL])
    assert set(codes.values()) == {1}


def test_every_error_that_serving_can_raise_at_a_caller_has_a_kind() -> None:
    """The others are raised at operators, by commands and at a start."""
    for_operators = {
        lenders_records.UnknownLender,
        lenders_records.UnknownFields,
        lenders_records.NoMapping,
        lenders_records.UnknownKey,
        lenders_records.UnknownPolicy,
        applicants.UnknownHold,
        errors.ClockLeapt,
        retention.NoPeriod,
        retention.PeriodTooShort,
        retention.LawUnknown,
        errors.InvalidName,
        errors.StoreUnfit,
        errors.MasterKeyMissing,  # callers hear of it as of a database that is away
    }
    raised = {
        kind
        for room in ROOMS
        for _, kind in inspect.getmembers(room, inspect.isclass)
        if issubclass(kind, AlamaError) and kind.__module__ == room.__name__
    }
    assert raised - for_operators <= KINDS.keys()


@pytest.mark.parametrize("kind", ONBOARDING, ids=lambda kind: kind.__name__)
def test_every_error_on_the_way_to_a_live_key_is_told_with_its_hint(kind: type[AlamaError]) -> None:
    error = example(kind)
    problem = said(error)
    missing = kind.__name__.startswith("Unknown")
    assert problem["status"] == (404 if missing else 409)
    assert problem["code"] == re.sub("(?<!^)(?=[A-Z])", "_", kind.__name__).lower()
    assert (error.hint is None) == missing
    if error.hint is not None:
        assert problem["detail"].endswith(f"{error.hint[0].upper()}{error.hint[1:]}.")


def test_what_is_left_of_an_erased_score_is_told_with_it() -> None:
    row = an_entry().score
    problem = said(errors.Erased(NOON_US, listed_reply(row.summary)))
    assert problem["status"] == 410
    assert problem["detail"].startswith(
        "What the applicant of this score sent was erased on 2026-11-15."
    )
    assert problem["remains"] == {
        "request_id": row.request_id,
        "created_at": "2026-11-15T12:00:00Z",
        "score": 661,
        "tier": "B",
        "default_probability": 0.049,
        "decision": "APPROVED",
        "recommended_limit": 12_500,
        "recommended_term_days": 60,
        "recommended_apr": 36.5,
    }
    assert "remains" not in said(errors.Erased(NOON_US))


def test_a_hint_is_part_of_the_detail() -> None:
    error = BadParameter("limit is wrong", hint="send a number")
    assert said(error)["detail"] == "Limit is wrong. Send a number."


def test_faults_are_listed_with_their_pointers_and_counted() -> None:
    problem = said(ONE_FAULT)
    assert problem["detail"] == "1 rule is broken: see errors."
    assert problem["errors"] == [
        {"pointer": "/a~1b~0c", "code": "unknown_field", "detail": "is not a field"}
    ]


def test_other_problems_have_no_list_of_faults() -> None:
    assert "errors" not in said(MalformedDocument("is not JSON"))


def test_thousands_of_faults_are_counted_and_the_first_are_listed() -> None:
    faults = [FieldProblem(f"f{number}", "unknown_field", "no") for number in range(200)]
    problem = said(InvalidApplication(faults, unlisted=2_800))
    assert len(problem["errors"]) == FAULTS_MAX
    assert problem["detail"] == "3000 rules are broken: see errors; the first 100 are listed."


def test_who_is_not_recognised_is_told_how_to_be() -> None:
    challenge = headers(errors.KeyMissing())[b"www-authenticate"]
    assert challenge == b'Bearer realm="alama"'
    challenge = headers(errors.KeyRefused("mistyped"))[b"www-authenticate"]
    assert challenge == b'Bearer realm="alama", error="invalid_token"'


def test_who_may_come_back_is_told_when() -> None:
    assert headers(errors.TooManyRequests(7))[b"retry-after"] == b"7"
    for kind in (
        errors.Busy,
        errors.StoreUnavailable,
        scoring_records.IdempotencyInFlight,
        errors.ModelUnavailable,
    ):
        assert int(headers(example(kind))[b"retry-after"]) >= 1


def test_a_wrong_method_is_told_the_right_ones() -> None:
    assert headers(MethodNotAllowed("GET, HEAD"))[b"allow"] == b"GET, HEAD"


@pytest.mark.parametrize(
    "defect", [ValueError("s3cret"), errors.StoreUnfit("s3cret", hint="s3cret")]
)
def test_what_is_nobody_elses_fault_is_told_without_a_word_of_it(defect: Exception) -> None:
    problem = said(defect)
    assert (problem["status"], problem["code"]) == (500, "internal_error")
    assert "s3cret" not in str(problem)
