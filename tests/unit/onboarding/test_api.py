"""/v1/onboarding: each step over HTTP, for the lender of the key and for no other."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from alama.core.lending import policy_text
from alama.core.lending.draft import default_text
from alama.lenders.installation import Installation
from alama.lenders.records import Signed
from alama.onboarding.api import GateLimits
from alama.onboarding.records import JobKind, TrainOrder, decode_train_order
from alama.onboarding.store import Stores
from alama.platform.book import PILOT_SCOPES, USUAL_SCOPES, Book, Mode, Scope
from alama.platform.files.packaged import builtin
from alama.policies import policies
from alama.training.validation.gates import FOR_EVERYONE, limits_text, tightened
from tests.callers import Lender
from tests.entries import NOON_US
from tests.onboarded import FAILED, MODEL, OTHER_MODEL, a_history
from tests.unit.onboarding.calls import TERMS, candidate_of, code, job_of, signatures, with_terms

WHO = {"name": "W. Mutua", "reason": "read the pack"}
OTHER = {"name": "J. Otieno", "reason": "accept its limits"}
UNKNOWN = "0" * 28


@pytest.fixture
def lender(installed: Installation) -> Lender:
    return Lender(installed, scopes=PILOT_SCOPES)


# ------------------------------------------------------------------------------- steps and terms


def test_a_lender_sees_six_steps_and_which_is_next(lender: Lender) -> None:
    told = lender.read("/v1/onboarding")
    assert [step["step"] for step in told["steps"]] == [
        *("lender", "history", "train", "validate", "approve", "key"),
    ]
    assert (told["next"], told["terms"], told["candidate_id"]) == ("lender", None, None)
    assert told["steps"][0]["how"] == "PUT /v1/onboarding/terms"
    with_terms(lender)
    told = lender.read("/v1/onboarding")
    assert (told["next"], told["terms"]["days_past_due"]) == ("history", 30)
    assert told["steps"][0]["state"] == "done"
    assert told["steps"][0]["by"].startswith("key_")


def test_gates_can_be_tightened_and_the_contract_has_the_limits_for_everyone(
    lender: Lender,
) -> None:
    with_terms(lender, gates={"auc_low_min": 0.65, "psi_max": 0.2})
    assert lender.read("/v1/onboarding")["terms"]["gates"] == {"auc_low_min": 0.65, "psi_max": 0.2}
    pilot = Stores.at(lender.installed).pilots.find(lender.book.lender)
    assert pilot is not None
    assert tightened(json.loads(pilot.gates)).auc_low_min == 0.65
    with_terms(lender, gates={"slope_max": 1.1, "defaults_min": 400, "auc_low_min": 1})
    pilot = Stores.at(lender.installed).pilots.find(lender.book.lender)
    assert pilot is not None
    # As a command writes it: a candidate counts only while the two texts are the same.
    assert pilot.gates == limits_text(json.loads(pilot.gates))
    assert lender.read("/v1/onboarding")["terms"]["gates"]["defaults_min"] == 400
    everyone = msgspec.structs.asdict(FOR_EVERYONE)
    assert set(GateLimits.__struct_fields__) == everyone.keys()
    for name, limit in everyone.items():
        assert lender.ask("PUT", "/v1/onboarding/terms", TERMS | {"gates": {name: limit}}).status
        looser = limit * (0.99 if name.endswith("_min") else 1.01)
        if isinstance(limit, int):
            looser = limit - 1
        reply = lender.ask("PUT", "/v1/onboarding/terms", TERMS | {"gates": {name: looser}})
        assert (reply.status, reply.json()["errors"][0]["pointer"]) == (422, "/gates"), name


@pytest.mark.parametrize(
    ("change", "field", "rule"),
    [
        ({"days_past_due": 0}, "days_past_due", "out_of_range"),
        ({"days_past_due": "30"}, "days_past_due", "wrong_type"),
        ({"days_past_due": None}, "days_past_due", "missing_field"),
        ({"approvers": 3}, "approvers", "out_of_range"),
        ({"approvers": True}, "approvers", "wrong_type"),
        ({"jurisdiction": "Zq7marked"}, "jurisdiction", "out_of_range"),
        ({"gates": {"Zq7marked": 1}}, "gates", "out_of_range"),
        ({"gates": []}, "gates", "wrong_type"),
        ({"aprovers": 2}, "aprovers", "unknown_field"),
    ],
)
def test_terms_that_break_a_rule_name_the_field_and_echo_nothing(
    lender: Lender, change: dict[str, Any], field: str, rule: str
) -> None:
    reply = lender.ask("PUT", "/v1/onboarding/terms", TERMS | change)
    assert reply.status == 422
    [fault] = reply.json()["errors"]
    assert (fault["pointer"], fault["code"]) == (f"/{field}", rule)
    assert b"Zq7marked" not in reply.body


def test_terms_over_http_draft_a_live_policy_in_the_name_of_the_key(lender: Lender) -> None:
    with_terms(lender)
    registry, live = lender.installed.registry, Book(lender.book.lender, Mode.LIVE)
    [step] = registry.deployments(live)
    assert policies.policy_by_id(registry, live, step.policy_id).jurisdiction == "KE"
    assert step.signed.by == lender.read("/v1/onboarding")["terms"]["set_by"]
    assert step.signed.by is not None
    assert step.signed.by.startswith("key_")
    with_terms(lender, days_past_due=60)
    assert registry.deployments(live) == [step]


def test_whoever_sets_terms_hears_what_became_of_the_live_policy(lender: Lender) -> None:
    registry, live = lender.installed.registry, Book(lender.book.lender, Mode.LIVE)
    set_terms = ("PUT", "/v1/onboarding/terms", TERMS)
    told = lender.ask(*set_terms).json()
    assert (told["policy_drafted"], told["other_law"]) == (True, None)
    told = lender.ask(*set_terms).json()
    assert (told["policy_drafted"], told["other_law"]) == (False, None)
    elsewhere = default_text("KES")
    signed = Signed(NOON_US, "W. Mutua", "none of a law")
    policies.activate(registry, live, elsewhere, signed, builtin)
    told = lender.ask(*set_terms).json()
    in_force = policy_text.read(elsewhere).jurisdiction
    assert (told["policy_drafted"], told["other_law"]) == (False, in_force)


def test_a_whole_number_may_be_written_with_a_point(lender: Lender) -> None:
    sent = TERMS | {"days_past_due": 30.0, "gates": {"defaults_min": 717.0}}
    reply = lender.ask("PUT", "/v1/onboarding/terms", sent)
    assert reply.status == 200
    assert reply.json()["days_past_due"] == 30
    assert reply.json()["gates"] == {"defaults_min": 717}


def test_the_law_of_another_currency_is_refused(lender: Lender) -> None:
    reply = lender.ask("PUT", "/v1/onboarding/terms", TERMS | {"jurisdiction": "UG"})
    assert (reply.status, reply.json()["code"]) == (409, "law_elsewhere")
    assert "does not lend in KES" in reply.json()["detail"]
    assert lender.read("/v1/onboarding")["terms"] is None


def test_four_eyes_cannot_become_two_over_http(lender: Lender) -> None:
    with_terms(lender, approvers=2)
    reply = lender.ask("PUT", "/v1/onboarding/terms", TERMS)
    assert (reply.status, reply.json()["code"]) == (409, "fewer_eyes")
    assert "Whoever runs the service can." in reply.json()["detail"]
    assert lender.read("/v1/onboarding")["terms"]["approvers"] == 2


# ------------------------------------------------------------------------------- training


def test_a_training_is_asked_for_and_its_progress_can_be_read(lender: Lender) -> None:
    with_terms(lender)
    history = candidate_of(lender).history_id
    wanted = {"region": True, "exclude": ["avg_balance"], "seed": 7, "refit": True}
    reply = lender.ask("POST", "/v1/onboarding/trainings", wanted)
    assert reply.status == 202, reply.body
    job = job_of(lender, reply)
    assert job.kind is JobKind.TRAIN
    assert decode_train_order(job.order) == TrainOrder(
        history, region=True, exclude=("avg_balance",), seed=7, refit=True
    )
    Stores.at(lender.installed).jobs.claim("worker_1", (JobKind.TRAIN,), job.created_us, 2**60)
    Stores.at(lender.installed).jobs.advance("worker_1", job.id, 0.41, "boosting", 2**60)
    told = lender.read(reply.headers["location"])
    assert (told["state"], told["share"], told["step"]) == ("running", 0.41, "boosting")
    assert (told["history_id"], told["candidate_id"]) == (history, None)
    again = lender.ask("POST", "/v1/onboarding/trainings")
    assert (again.status, code(again)) == (409, "job_under_way")
    Stores.at(lender.installed).jobs.finish("worker_1", job.id, job.created_us)
    assert lender.read(reply.headers["location"])["candidate_id"] == job.makes


def test_a_training_needs_a_history_that_is_there_and_by_the_terms_of_now(lender: Lender) -> None:
    with_terms(lender)
    trainings = "/v1/onboarding/trainings"
    assert code(lender.ask("POST", trainings)) == "step_missing"
    history = candidate_of(lender).history_id
    unknown = lender.ask("POST", trainings, {"history_id": f"his_{UNKNOWN}"})
    assert (unknown.status, code(unknown)) == (409, "step_missing")
    with_terms(lender, days_past_due=60)
    assert code(lender.ask("POST", trainings, {"history_id": history})) == "step_missing"
    with_terms(lender)
    Stores.at(lender.installed).histories.forget(lender.book.lender, history, 1, "W. Mutua")
    assert code(lender.ask("POST", trainings)) == "history_forgotten"
    assert lender.read(f"/v1/onboarding/histories/{history}")["state"] == "forgotten"


def test_a_field_that_gives_the_outcome_away_is_decided_about_before_a_training(
    lender: Lender,
) -> None:
    with_terms(lender)
    report = b'{"suspects":[{"column":"avg_balance","standing":"open"}]}'
    record = a_history(lender.book.lender)
    Stores.at(lender.installed).histories.keep(record, report, [b"rows"])
    step = lender.read("/v1/onboarding")["steps"][1]
    assert step["state"] == "blocked"
    assert "avg_balance tells the outcome almost alone, and nobody has decided" in step["words"]
    trainings = "/v1/onboarding/trainings"
    refused = lender.ask("POST", trainings)
    assert (refused.status, code(refused)) == (409, "step_missing")
    for said in ('"exclude": ["avg_balance"]', '"keep": ["avg_balance"]'):
        assert said in refused.json()["detail"]
    accepted = lender.ask("POST", trainings, {"exclude": ["avg_balance"]})
    assert accepted.status == 202
    assert lender.read("/v1/onboarding")["steps"][1]["state"] == "done"


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"seed": -1}, "/seed"),
        ({"exclude": ["Zq7marked"]}, "/exclude/0"),
        ({"history_id": "his_Zq7marked"}, "/history_id"),
        ({"region": "yes"}, "/region"),
        ({"refit": 1}, "/refit"),
    ],
)
def test_a_training_that_breaks_a_rule_names_the_field_and_echoes_nothing(
    lender: Lender, body: dict[str, Any], pointer: str
) -> None:
    reply = lender.ask("POST", "/v1/onboarding/trainings", body)
    assert (reply.status, reply.json()["errors"][0]["pointer"]) == (422, pointer)
    assert b"Zq7marked" not in reply.body


# ------------------------------------------------------------------------------- candidates


def test_a_candidate_comes_with_gates_and_pack_or_as_a_page(lender: Lender) -> None:
    candidate = candidate_of(lender, gates=FAILED)
    path = f"/v1/onboarding/candidates/{candidate.id}"
    told = lender.read(path)
    assert (told["passed"], told["pack"], told["signatures"]) == (False, {"pack": 1}, [])
    assert told["gates"][-1] == {"name": "psi", "passed": False, "words": FAILED[-1].words}
    page = lender.ask("GET", path, headers={"accept": "text/html,*/*;q=0.8"})
    assert (page.status, page.body) == (200, b"<p>pack</p>")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert page.headers["cache-control"] == "no-store"


def test_four_eyes_are_two_keys_and_two_names(installed: Installation, lender: Lender) -> None:
    with_terms(lender, approvers=2)
    candidate = candidate_of(lender)
    first = lender.ask("POST", signatures(candidate), WHO)
    assert (first.status, first.json()["live"], first.json()["needed"]) == (201, False, 2)
    same_key = lender.ask("POST", signatures(candidate), OTHER)
    colleague = Lender(installed, lender.book, PILOT_SCOPES)
    same_name = colleague.ask("POST", signatures(candidate), WHO | {"name": "w mutua"})
    for refused in (same_key, same_name):
        assert (refused.status, code(refused)) == (409, "signature_refused")
    last = colleague.ask("POST", signatures(candidate), OTHER)
    assert (last.status, last.json()["live"]) == (201, True)
    live = Book(lender.book.lender, Mode.LIVE)
    drafted = installed.registry.deployments(live)[0].policy_id
    assert installed.registry.deployed(live) == (MODEL.id, drafted)
    assert last.headers["location"] == f"/v1/onboarding/candidates/{candidate.id}"
    told = lender.read(last.headers["location"])
    assert ([one["name"] for one in told["signatures"]], told["live"]) == (
        ["W. Mutua", "J. Otieno"],
        True,
    )


def test_a_failed_gate_and_changed_terms_block_every_signature(lender: Lender) -> None:
    with_terms(lender)
    failed = lender.ask("POST", signatures(candidate_of(lender, gates=FAILED)), WHO)
    assert (failed.status, code(failed)) == (409, "gate_failed")
    assert "psi" in failed.json()["detail"]
    candidate = candidate_of(lender)
    with_terms(lender, gates={"psi_max": 0.1})
    blocked = lender.ask("POST", signatures(candidate), WHO)
    assert (blocked.status, code(blocked)) == (409, "approval_blocked")


@pytest.mark.parametrize("said", ["", "  ", "a\nb", "x" * 201, "\u202eturned", 7, None])
@pytest.mark.parametrize("field", ["name", "reason"])
def test_a_signature_says_who_and_why_on_one_line(lender: Lender, field: str, said: object) -> None:
    for path in (f"/v1/onboarding/candidates/can_{UNKNOWN}/signatures", "/v1/onboarding/rollbacks"):
        reply = lender.ask("POST", path, WHO | {field: said})
        assert (reply.status, reply.json()["errors"][0]["pointer"]) == (422, f"/{field}")


def test_a_roll_back_goes_to_the_model_before_and_names_person_and_key(lender: Lender) -> None:
    with_terms(lender)
    rollbacks = "/v1/onboarding/rollbacks"
    nothing = lender.ask("POST", rollbacks, WHO)
    assert (nothing.status, code(nothing)) == (409, "nothing_before")
    for model in (MODEL, OTHER_MODEL):
        assert lender.ask("POST", signatures(candidate_of(lender, model)), WHO).status == 201
    back = lender.ask("POST", rollbacks, WHO)
    assert (back.status, back.json()) == (201, {"model": MODEL.id})
    assert lender.read(back.headers["location"]).keys() >= {"lender", "steps"}
    *_, last = lender.installed.registry.deployments(Book(lender.book.lender, Mode.LIVE))
    assert last.signed.by is not None
    assert last.signed.by.startswith("W. Mutua (key_")
    again = lender.ask("POST", rollbacks, WHO)
    assert (again.status, code(again)) == (409, "model_withdrawn")


# ------------------------------------------------------------------------------- apart


def test_nothing_of_one_lender_is_found_by_another(installed: Installation, lender: Lender) -> None:
    with_terms(lender)
    candidate = candidate_of(lender)
    asked = lender.ask("POST", "/v1/onboarding/trainings")
    stranger = Lender(installed, scopes=PILOT_SCOPES)
    with_terms(stranger)
    for path, said in (
        (f"/v1/onboarding/histories/{candidate.history_id}", "unknown_history"),
        (f"/v1/onboarding/candidates/{candidate.id}", "unknown_candidate"),
        (asked.headers["location"], "unknown_job"),
    ):
        reply = stranger.ask("GET", path)
        assert (reply.status, code(reply)) == (404, said)
    assert code(stranger.ask("POST", signatures(candidate), WHO)) == "unknown_candidate"
    wanted = {"history_id": candidate.history_id}
    assert code(stranger.ask("POST", "/v1/onboarding/trainings", wanted)) == "step_missing"
    assert stranger.read("/v1/onboarding")["candidate_id"] is None


def test_reading_and_writing_need_scopes_that_no_key_has_by_itself(
    installed: Installation,
) -> None:
    usual = Lender(installed, scopes=USUAL_SCOPES)
    reader = Lender(installed, usual.book, (Scope.PILOT_READ,))
    writer = Lender(installed, usual.book, (Scope.PILOT_WRITE,))
    reads = [("GET", "/v1/onboarding"), ("GET", f"/v1/onboarding/jobs/job_{UNKNOWN}")]
    writes = [("PUT", "/v1/onboarding/terms"), ("POST", "/v1/onboarding/rollbacks")]
    for caller, refused in ((usual, reads + writes), (reader, writes), (writer, reads)):
        for method, path in refused:
            reply = caller.ask(method, path, None if method == "GET" else TERMS)
            assert (reply.status, code(reply)) == (403, "scope_missing")
