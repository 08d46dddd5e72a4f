"""POST /v1/applicants/export and /erase: what is given out, what is erased, what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from alama.lenders.installation import Installation
from alama.platform.acts import Act, ActKind, decode
from alama.platform.book import USUAL_SCOPES, Book, Mode, Scope
from alama.protection.applicants import Applicants
from alama.protection.audit.store import Trail
from tests.audited import verdict_on
from tests.callers import Lender
from tests.exchanges import Received
from tests.served import BODY

EXPORT = "/v1/applicants/export"
ERASE = "/v1/applicants/erase"
SCOPES = (*USUAL_SCOPES, Scope.APPLICANTS_READ, Scope.APPLICANTS_WRITE)


@pytest.fixture
def lender(installed: Installation) -> Lender:
    return Lender(installed, scopes=SCOPES)


def score(lender: Lender, reference: str) -> str:
    body = BODY[:-1] + f', "applicant_ref": "{reference}"}}'.encode()
    request_id: str = lender.ask("POST", "/v1/score", body).json()["request_id"]
    return request_id


def export(lender: Lender, reference: str) -> Received:
    return lender.ask("POST", EXPORT, {"applicant_ref": reference})


def erase(lender: Lender, reference: str) -> dict[str, Any]:
    received = lender.ask("POST", ERASE, {"applicant_ref": reference})
    assert received.status == 200, received.json()
    told: dict[str, Any] = received.json()
    return told


def acts(lender: Lender, kind: ActKind) -> list[Act]:
    links = Trail(lender.installed.database).links("main", 0, 10_000)
    every = [decode(link.body) for link in links if link.kind == kind]
    return [act for act in every if act.lender == lender.book.lender]


def key_id(lender: Lender) -> str:
    (key,) = lender.installed.registry.keys(lender.book.lender)
    return key.id


def test_an_export_holds_all_scores_of_one_applicant_and_is_audited(lender: Lender) -> None:
    first, _, second = (score(lender, who) for who in ("A-1", "A-2", "A-1"))
    received = export(lender, " A-1 ")
    assert received.status == 200
    assert received.headers["cache-control"] == "no-store"
    told = received.json()
    assert [one["request_id"] for one in told["scores"]] == [first, second]
    assert told["scores"][0]["application"]["applicant_ref"] == "A-1"
    assert (told["lender"], told["mode"]) == (lender.book.lender, "test")
    (act,) = acts(lender, ActKind.APPLICANT_EXPORTED)
    assert (act.by, act.details) == (key_id(lender), {"scores": 2})
    assert "A-1" not in repr(act)


def test_nothing_of_another_lender_or_mode_is_given_out_or_erased(lender: Lender) -> None:
    request_id = score(lender, "A-1")
    other = Lender(lender.installed, scopes=SCOPES)
    live = Lender(lender.installed, Book(lender.book.lender, Mode.LIVE), SCOPES)
    for stranger in (other, live):
        received = export(stranger, "A-1")
        assert (received.status, received.json()["code"]) == (404, "unknown_applicant")
        assert erase(stranger, "A-1")["erased"] is False
    assert lender.read(f"/v1/scores/{request_id}")["request_id"] == request_id
    assert len(export(lender, "A-1").json()["scores"]) == 1


def test_an_erasure_is_done_once_and_may_be_sent_again(lender: Lender) -> None:
    request_id = score(lender, "A-1")
    told = erase(lender, "A-1")
    assert (told["erased"], told["scores"], told["replies"], told["complete"]) == (True, 1, 0, True)
    assert lender.ask("GET", f"/v1/scores/{request_id}").status == 410
    assert export(lender, "A-1").status == 404
    again = erase(lender, "A-1")
    assert again == {
        "erased": False,
        "scores": 0,
        "replies": 0,
        "erased_at": None,
        "applicant_key": None,
        "complete": True,
    }
    (act,) = acts(lender, ActKind.APPLICANT_ERASED)
    assert (act.subject, act.by) == (told["applicant_key"], key_id(lender))
    installed = lender.installed
    assert verdict_on(installed.database, vault=installed.vault).findings == []


def test_nothing_is_erased_while_a_legal_hold_stands(lender: Lender) -> None:
    score(lender, "A-1")
    applicants = Applicants.at(lender.installed)
    hold = applicants.hold(lender.book, "A-1", "civil suit 12")
    received = lender.ask("POST", ERASE, {"applicant_ref": "A-1"})
    assert (received.status, received.json()["code"]) == (409, "under_hold")
    assert "civil suit 12" in received.json()["detail"]
    applicants.release(hold.number)
    assert erase(lender, "A-1")["scores"] == 1


@pytest.mark.parametrize(("path", "scope"), [(EXPORT, "read"), (ERASE, "write")])
def test_a_key_has_these_scopes_only_where_they_were_named(
    installed: Installation, path: str, scope: str
) -> None:
    usual = Lender(installed)
    received = usual.ask("POST", path, {"applicant_ref": "A-1"})
    assert (received.status, received.json()["code"]) == (403, "scope_missing")
    assert f"applicants:{scope}" in received.json()["detail"]


@pytest.mark.parametrize("path", [EXPORT, ERASE])
@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "missing_field"),
        ({"applicant_ref": None}, "missing_field"),
        ({"applicant_ref": 7}, "wrong_type"),
        ({"applicant_ref": " "}, "out_of_range"),
        ({"applicant_ref": "x" * 65}, "out_of_range"),
        ({"applicant_ref": "secret\u0000"}, "out_of_range"),
        ({"applicant_ref": "secret@example.org"}, "out_of_range"),
        ({"applicant_ref": "secret", "aplicant": 1}, "unknown_field"),
    ],
)
def test_a_body_that_breaks_a_rule_is_refused_by_field_and_not_repeated(
    lender: Lender, path: str, body: dict[str, Any], code: str
) -> None:
    received = lender.ask("POST", path, body)
    assert (received.status, received.json()["code"]) == (422, "invalid_request")
    assert [fault["code"] for fault in received.json()["errors"]] == [code]
    assert b"secret" not in received.body


def test_a_reference_with_a_space_that_does_not_break_can_be_exported(lender: Lender) -> None:
    score(lender, "A\u00a01")
    assert len(export(lender, "A\u00a01").json()["scores"]) == 1
