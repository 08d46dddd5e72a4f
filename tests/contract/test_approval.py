"""Signing: enough people, each once, and a model answers; all of it or nothing."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
import pytest
from sqlalchemy import select, update

from alama.core import document
from alama.core.errors import AlamaError
from alama.lenders import schema
from alama.lenders.records import Signed, UnknownLender
from alama.monitoring.outcomes_cli import book_of
from alama.onboarding import schema as onboarding_schema
from alama.onboarding.records import (
    ApprovalBlocked,
    GateFailed,
    Remedy,
    SignatureRefused,
    UnknownCandidate,
    UnknownHistory,
)
from alama.onboarding.store import Candidates
from alama.platform.acts import Act, ActKind, ActLog
from alama.platform.book import Book, Mode
from alama.platform.database import tables
from alama.platform.database.database import Database
from alama.platform.errors import InvalidName
from alama.protection.audit.records import Trouble
from tests.audited import verdict_on
from tests.entries import LIVE, NOON_US
from tests.factories import a_model
from tests.onboarded import (
    FAILED,
    MODEL,
    OTHER_MODEL,
    PASSED,
    House,
    a_candidate,
    a_history,
    a_pilot,
    acts_of,
    announced,
)
from tests.stores import lenders_in

NJERI, MUTUA = "A. Njeri", "W. Mutua"


@pytest.fixture
def house(database: Database) -> House:
    house = House(database)
    house.begin()
    house.stores.pilots.set(a_pilot(approvers=2))
    house.stores.pilots.set(a_pilot("umoja"))
    return house


# ------------------------------------------------------------------------------- candidates


def test_a_candidate_is_found_by_its_lender_alone(house: House) -> None:
    candidate, candidates = house.trained(), house.stores.candidates
    assert candidates.of("demo") == [candidate]
    assert candidates.find("demo", candidate.id) == candidate
    assert candidates.document("demo", candidate.id) == document.encode(MODEL)
    assert candidates.pack("demo", candidate.id) == b'{"pack":1}'
    assert candidates.of("umoja") == []
    assert candidates.signatures("umoja", candidate.id) == []
    for ask in (candidates.find, candidates.document, candidates.pack):
        with pytest.raises(UnknownCandidate):
            ask("umoja", candidate.id)


def test_a_candidate_of_another_lenders_history_is_not_kept(house: House) -> None:
    theirs = a_history("umoja")
    house.stores.histories.keep(theirs, b"{}", [b"rows"])
    stolen = msgspec.structs.replace(a_candidate(theirs), lender="demo")
    with pytest.raises(UnknownHistory):
        house.stores.candidates.add(stolen, b"{}", b"{}")


# ------------------------------------------------------------------------------- signing


def test_with_the_last_signature_the_model_answers_and_not_before(house: House) -> None:
    candidate, registry = house.trained(), house.stores.registry
    assert not house.signed(candidate, NJERI)
    assert (registry.deployed(LIVE), announced(house.database)) == (None, [])
    house.now_us += 7
    assert house.signed(candidate, MUTUA)
    assert registry.deployed(LIVE) == (MODEL.id, None)
    assert registry.model(MODEL.id) == document.encode(MODEL)
    (deployment,) = registry.deployments(LIVE)
    people = f"{NJERI}, {MUTUA}"
    assert deployment.signed == Signed(NOON_US + 7, people, "it holds what it promises")
    assert announced(house.database) == [("demo", "model.activated", MODEL.id)]
    signatures = house.stores.candidates.signatures("demo", candidate.id)
    assert [one.person for one in signatures] == [NJERI, MUTUA]


def test_the_policy_of_the_book_stays_when_a_model_is_approved(house: House) -> None:
    registry = house.stores.registry
    registry.keep_policy("sha256:p", b"policy", NOON_US)
    registry.deploy_policy(LIVE, None, Signed(NOON_US))
    candidate = house.trained()
    house.signed(candidate, NJERI)
    house.signed(candidate, MUTUA)
    assert [step.model_id for step in registry.deployments(LIVE)] == [None, MODEL.id]


def test_one_person_is_enough_where_the_lender_says_so(house: House) -> None:
    assert house.signed(house.trained("umoja"), NJERI)


@pytest.mark.parametrize("name", [NJERI, "a njeri", " A.  NJERI "])
def test_nobody_signs_twice_however_they_write_their_name(house: House, name: str) -> None:
    candidate = house.trained()
    house.signed(candidate, NJERI)
    with pytest.raises(SignatureRefused, match=r"A\. Njeri has signed this model already"):
        house.signed(candidate, name)
    assert len(house.stores.candidates.signatures("demo", candidate.id)) == 1


def test_over_http_two_people_come_with_two_keys(house: House) -> None:
    candidate = house.trained()
    house.signed(candidate, NJERI, "key_1")
    with pytest.raises(SignatureRefused, match="this API key has signed"):
        house.signed(candidate, MUTUA, "key_1")
    assert house.signed(candidate, MUTUA, "key_2")


def test_on_the_machine_of_the_service_two_people_may_share_it(house: House) -> None:
    candidate = house.trained()
    house.signed(candidate, NJERI)
    assert house.signed(candidate, MUTUA)


def test_where_four_eyes_became_two_who_has_signed_signs_again_under_the_new_terms(
    house: House,
) -> None:
    candidate = house.trained()
    house.signed(candidate, NJERI, "key_1")
    house.stores.pilots.set(a_pilot(approvers=1))
    assert house.stores.registry.deployed(LIVE) is None  # terms alone put nothing in force
    assert house.signed(candidate, NJERI, "key_1")
    (deployment,) = house.stores.registry.deployments(LIVE)
    assert (deployment.model_id, deployment.signed.by) == (MODEL.id, NJERI)
    assert verdict_on(house.database).findings == []


def test_a_failed_gate_blocks_whoever_signs_and_says_why(house: House) -> None:
    candidate = house.trained(gates=FAILED)
    with pytest.raises(GateFailed, match=r"psi: 0\.31, and at most 0\.25 is allowed"):
        house.signed(candidate, NJERI)
    with pytest.raises(GateFailed, match="none was measured"):
        house.signed(house.trained(gates=()), NJERI)


@pytest.mark.parametrize("changed", [{"days_past_due": 60}, {"gates": '{"auc":0.65}'}])
def test_a_model_that_was_judged_by_other_terms_cannot_be_signed(
    house: House, changed: dict[str, Any]
) -> None:
    candidate = house.trained()
    house.stores.pilots.set(a_pilot(**changed))
    with pytest.raises(ApprovalBlocked, match="terms of the lender have changed") as caught:
        house.signed(candidate, NJERI)
    assert caught.value.remedy is Remedy.TRAIN


def test_nobody_signs_for_a_lender_without_terms(house: House) -> None:
    lenders_in(house.database, "new")
    with pytest.raises(ApprovalBlocked, match="nobody knows how many must sign") as caught:
        house.signed(house.trained("new"), NJERI)
    assert caught.value.remedy is Remedy.SET_TERMS


def test_what_answers_already_need_not_be_signed(house: House) -> None:
    house.signed(house.trained("umoja"), NJERI)
    with pytest.raises(SignatureRefused, match="answers in live mode already"):
        house.signed(house.trained("umoja"), MUTUA)


def test_a_model_that_is_not_the_one_that_was_judged_is_blocked(house: House) -> None:
    candidate = house.trained("umoja")
    broken = msgspec.structs.replace(candidate, id="can_broken")
    house.stores.candidates.add(broken, b"{}", b"{}")
    with pytest.raises(ApprovalBlocked, match="is damaged"):
        house.signed(broken, NJERI)
    another = msgspec.structs.replace(candidate, id="can_another", model_id=OTHER_MODEL.id)
    house.stores.candidates.add(another, document.encode(MODEL), b"{}")
    with pytest.raises(ApprovalBlocked, match="it is another one"):
        house.signed(another, NJERI)


@pytest.mark.parametrize(
    ("lender", "person", "error"),
    [
        ("umoja", NJERI, UnknownCandidate),
        ("nobody", NJERI, UnknownLender),
        ("demo", " ", InvalidName),
        ("demo", "two\nlines", InvalidName),
    ],
)
def test_what_is_refused_leaves_nothing_behind(
    house: House, lender: str, person: str, error: type[AlamaError]
) -> None:
    candidate = house.trained()
    before = acts_of(house.database)
    with pytest.raises(error):
        house.signed(msgspec.structs.replace(candidate, lender=lender), person)
    assert house.stores.candidates.signatures("demo", candidate.id) == []
    assert acts_of(house.database) == before


class FullLog(ActLog):
    """A log of acts that has no room for a deployment."""

    def append(self, connection: object, act: Act) -> None:
        if act.kind is ActKind.DEPLOYED:
            raise OSError("no room")
        super().append(connection, act)  # type: ignore[arg-type]  # as it came


def test_activation_is_all_or_nothing(house: House) -> None:
    candidate = house.trained("umoja")
    stored = house.stores.candidates
    assert isinstance(stored, Candidates)
    stored._log.__class__ = FullLog
    with pytest.raises(OSError, match="no room"):
        house.signed(candidate, NJERI)
    stored._log.__class__ = ActLog
    assert stored.signatures("umoja", candidate.id) == []
    assert house.stores.registry.deployments(LIVE) == []
    assert announced(house.database) == []
    with house.database.reading() as connection:
        assert connection.execute(select(schema.models)).all() == []
    assert house.signed(candidate, NJERI)


def test_of_two_who_sign_at_once_one_is_the_last(house: House, elsewhere: Database) -> None:
    other = House(elsewhere)
    for number in range(5):
        candidate = house.trained(model=a_model(name=f"model {number}"))
        start = threading.Barrier(2)

        def sign(
            mine: House, name: str, start: threading.Barrier = start, one: object = candidate
        ) -> bool:
            start.wait()
            return mine.signed(one, name)  # type: ignore[arg-type]  # bound for each round

        with ThreadPoolExecutor(2) as pool:
            told = list(pool.map(sign, (house, other), (NJERI, MUTUA)))
        assert sorted(told) == [False, True]
        deployed = house.stores.registry.deployed(LIVE)
        assert deployed is not None
        assert deployed[0] == candidate.model_id
    assert len(house.stores.registry.deployments(LIVE)) == 5


def test_what_is_loaded_for_a_lender_in_shadow_goes_into_its_live_book(house: House) -> None:
    registry = house.stores.registry
    assert book_of(registry, "demo", None) == Book("demo", Mode.TEST)
    house.stores.pilots.begin_shadow("demo", NOON_US, MUTUA)
    assert book_of(registry, "demo", None) == Book("demo", Mode.LIVE)


# ------------------------------------------------------------------------------- the audit


def test_every_deed_is_in_the_audit_with_who_and_when(house: House) -> None:
    for model in (MODEL, OTHER_MODEL):
        house.signed(house.trained("umoja", model), NJERI)
    house.stores.pilots.begin_shadow("demo", NOON_US, MUTUA)
    house.stores.pilots.begin_shadow("demo", NOON_US + 1, NJERI)
    house.approval.roll_back("umoja", MUTUA, "it approves too many")
    done = acts_of(house.database)[2:]
    by = [(act.kind.value, act.lender, act.by) for act in done]
    each = [
        ("history_kept", "umoja", MUTUA),
        ("candidate_made", "umoja", MUTUA),
        ("candidate_signed", "umoja", NJERI),
        ("deployed", "umoja", NJERI),
    ]
    assert by == [
        ("pilot_set", "demo", MUTUA),
        ("pilot_set", "umoja", MUTUA),
        *each,
        *each,
        ("shadow_begun", "demo", MUTUA),
        ("rolled_back", "umoja", MUTUA),
        ("deployed", "umoja", MUTUA),
    ]
    assert done[-2].details == {"leaves": OTHER_MODEL.id, "reason": "it approves too many"}
    assert verdict_on(house.database).findings == []


def test_why_fewer_people_approve_is_in_the_audit(house: House) -> None:
    house.stores.pilots.set(a_pilot(approvers=1), reason="J. Otieno has left")
    assert acts_of(house.database)[-1].details["reason"] == "J. Otieno has left"
    assert verdict_on(house.database).findings == []


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("pilots", "approvers", 1),
        ("pilots", "shadow_us", 5),
        ("histories", "report", b'{"rows":9}'),
        ("histories", "row_count", 7),
        ("histories", "kept_by", "A. Nother"),
        ("candidates", "limits", '{"auc_low_min":0.1}'),
        ("candidates", "days_past_due", 1),
        ("candidates", "made_by", "A. Nother"),
        ("candidates", "pack", b"{}"),
        ("candidates", "page", b"<p>all is well</p>"),
        ("signatures", "person", "A. Nother"),
    ],
)
@pytest.mark.alike
def test_what_was_changed_behind_its_back_is_found(
    house: House, table: str, column: str, value: object
) -> None:
    house.signed(house.trained(), NJERI)
    assert verdict_on(house.database).findings == []
    with house.database.writing() as connection:
        forged = update(tables.METADATA.tables[table]).values({column: value})
        connection.execute(forged)
    found = verdict_on(house.database).findings
    assert {finding.trouble for finding in found} == {Trouble.STANDING}
    assert any(column in finding.what for finding in found)


def test_a_failed_gate_that_was_made_to_pass_in_the_database_is_found(house: House) -> None:
    candidate = house.trained("umoja", gates=FAILED)
    with house.database.writing() as connection:
        passed = msgspec.json.encode(PASSED).decode()
        connection.execute(update(onboarding_schema.candidates).values(gates=passed))
    assert house.signed(candidate, NJERI)
    found = verdict_on(house.database).findings
    assert [(finding.trouble, finding.where, finding.what) for finding in found] == [
        (Trouble.STANDING, f"candidate {candidate.id}", "gates_hash is not what was set")
    ]


@pytest.mark.parametrize("column", ["gates", "pack", "page"])
def test_what_has_another_type_in_a_candidate_is_found(house: House, column: str) -> None:
    if not house.database.embedded:
        pytest.skip("PostgreSQL lets no other type in")
    house.trained()
    with house.database.writing() as connection:
        connection.exec_driver_sql(f"UPDATE candidates SET {column} = 7")  # noqa: S608  our own names
    found = verdict_on(house.database).findings
    assert [finding.what for finding in found] == [f"{column}_hash is not what was set"]
