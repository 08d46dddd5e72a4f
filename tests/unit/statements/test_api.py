"""POST /v1/fields derives and keeps nothing; POST /v1/score believes no figure but those."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from sqlalchemy import inspect, text

from alama.core.assess import Proven
from alama.core.lending import draft
from alama.lenders import installation, keys
from alama.lenders.installation import Installation
from alama.lenders.mappings import Files, Mappings
from alama.lenders.records import Signed
from alama.platform import settings
from alama.platform.book import Book, Mode
from alama.policies import own_fields, policies
from alama.protection.applicants import Applicants
from alama.scoring import evidence
from alama.scoring.directory import Caller
from alama.scoring.replay import recall, replay
from alama.scoring.store import Scores
from alama.statements.proposing import header_of
from alama.statements.tables import Columns, Layout
from alama.training.population.formats import HOLDER
from alama.training.population.ledgers import Wanted, draw_ledger, figures
from alama.training.population.printed import mpesa_lines
from tests.entries import DEMO
from tests.exchanges import Received
from tests.own_fields import declared
from tests.served import BODY, MODEL, Service
from tests.statement_pdfs import Sheet, draw_mpesa

BOUNDARY = "xXx"
FORM = {"content-type": f"multipart/form-data; boundary={BOUNDARY}"}


def statement(*, wrong: bool = False, name: str = "Jane Doe", ends: int = 0) -> bytes:
    """A wallet of the last eight months, each with a salary, a bill, airtime and a transfer.

    It ends so many days before today.
    """
    today = datetime.now(UTC).date() - timedelta(days=ends)
    rows, balance, number = [], 1000, 0
    day = today - timedelta(days=240)
    while day < today:
        for words, moved in (
            ("Salary Payment from 300 - WORKS LTD", 900),
            ("Pay Bill to 888880 - KPLC Acc. 7", -300),
            ("Airtime Purchase", -50),
            ("Customer Transfer to 2547***1 - A B", -400),
        ):
            balance += moved
            at = f"{day} 10:{number % 4:02}:00"
            came, went = (f"{moved}.00", "") if moved > 0 else ("", f"{moved}.00")
            told = balance + (1 if wrong and number == 40 else 0)
            number += 1
            rows.append(f"UA{number:08},{at},{words},Completed,{came},{went},{told}.00")
        day += timedelta(days=15)
    header = "Receipt No.,Completion Time,Details,Transaction Status,Paid In,Withdrawn,Balance"
    top = f"Customer Name,{name}\nRequest Date,{today}\n"
    return "\n".join([top, header, *reversed(rows)]).encode()


def form(*parts: tuple[str, bytes]) -> bytes:
    told = b"".join(
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n'.encode()
        + content
        + b"\r\n"
        for name, content in parts
    )
    return told + f"--{BOUNDARY}--\r\n".encode()


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    installed = installation.open_installation(settings.read({"ALAMA_HOME": str(tmp_path)}))
    yield service_for(installed, DEMO)
    installed.close()


def service_for(installed: Installation, book: Book) -> Service:
    installed.vault.ring(book.lender)
    key, _ = keys.issue(installed.registry, installed.clock, installed.pepper, book)
    return Service(installed, key)


def derived(service: Service, *parts: tuple[str, bytes]) -> dict[str, Any]:
    reply = service.ask("/v1/fields", body=form(*parts), headers=FORM)
    assert reply.status == 200, reply.body
    found: dict[str, Any] = reply.json()
    return found


def scored(service: Service, body: dict[str, Any]) -> Received:
    return service.ask("/v1/score", body=json.dumps(body).encode())


def rows_of(service: Service) -> dict[str, list[Any]]:
    with service.installed.database.engine.connect() as connection:
        names = inspect(connection).get_table_names()
        return {
            name: [tuple(row) for row in connection.execute(text(f"SELECT * FROM {name}"))]  # noqa: S608
            for name in names
        }


def test_fields_are_derived_and_nothing_is_stored(
    service: Service, capfd: pytest.CaptureFixture[str]
) -> None:
    service.ask("/v1/scores")  # what a key itself leaves behind is there already
    before = rows_of(service)
    found = derived(service, ("file", statement()), ("applicant_name", b"DOE Jane"))
    assert rows_of(service) == before
    assert not any(capfd.readouterr())
    assert found["doubtful"] is False
    assert found["coverage"]["months"] == 6
    assert {"avg_inflow", "balance_stability", "airtime_regularity"} <= found["fields"].keys()
    assert "betting_share" in found["derived"]
    assert {check["verdict"] for check in found["checks"]} == {"pass", "cannot_tell"}
    assert found["digest"].startswith("sha256:")


def test_what_was_derived_is_a_body_for_a_score_and_its_evidence_is_kept(service: Service) -> None:
    found = derived(service, ("file", statement()))
    reply = scored(service, {**found["fields"], "evidence": found["evidence"]})
    assert reply.status == 200
    record = service.ask(f"/v1/scores/{reply.json()['request_id']}").json()
    assert record["evidence"]["digest"] == found["digest"]
    assert "evidence" not in record["application"]
    plain = scored(service, found["fields"]).json()
    assert plain["score"] == reply.json()["score"]
    assert service.ask(f"/v1/scores/{plain['request_id']}").json()["evidence"] is None


def test_altered_figures_are_refused_and_named(service: Service) -> None:
    found = derived(service, ("file", statement()))
    body = {**found["fields"], "evidence": found["evidence"]}
    body["avg_inflow"] += 0.01
    del body["avg_outflow"]
    refused = scored(service, body)
    assert refused.status == 422
    assert {fault["pointer"] for fault in refused.json()["errors"]} == {
        "/avg_inflow",
        "/avg_outflow",
    }
    explained = service.ask("/v1/explain", body=json.dumps(body).encode())
    assert explained.status == 422


DERIVED = declared(
    (
        'name = "branch"\ntype = "word"',
        'name = "betting_share"\ntype = "number"\nminimum = 0\nmaximum = 1',
    ),
    ('"earlier_loans"', '"lenders_seen"'),
    ('"bureau_score"', '"days_inactive"'),
)
"""Three figures that are derived beyond the product's; 200 days a month are more than there are."""


def declare(service: Service, text: bytes = DERIVED) -> None:
    installed = service.installed
    own_fields.activate(
        installed.registry, "demo", text, Signed(installed.clock(), "W. Mutua"), lambda: MODEL
    )


def test_no_figure_can_be_altered_and_none_left_out(service: Service) -> None:
    declare(service)
    found = derived(service, ("file", statement()))
    assert {"betting_share", "lenders_seen"} <= found["fields"].keys()
    assert "days_inactive" in found["derived"]
    body = {**found["fields"], "evidence": found["evidence"]}
    figures = found["fields"]
    for altered, names in (
        ({**body, **{name: value + 1 for name, value in figures.items()}}, figures),
        ({"evidence": found["evidence"]}, figures),
        ({**body, "days_inactive": 500}, ["days_inactive"]),
    ):
        refused = scored(service, altered)
        assert refused.status == 422
        faults = {(fault["pointer"], fault["code"]) for fault in refused.json()["errors"]}
        assert faults == {(f"/{name}", "evidence_differs") for name in names}
    reply = scored(service, body)
    assert reply.status == 200
    record = service.ask(f"/v1/scores/{reply.json()['request_id']}").json()
    assert set(record["evidence"]["fields"]) == found["fields"].keys()


def test_what_is_declared_after_it_was_derived_is_covered_too(service: Service) -> None:
    found = derived(service, ("file", statement()))
    body = {**found["fields"], "evidence": found["evidence"]}
    declare(service)
    service = service_for(service.installed, DEMO)
    refused = scored(service, {**body, "betting_share": 0.5, "lenders_seen": 1})
    assert refused.status == 422
    assert {fault["pointer"] for fault in refused.json()["errors"]} == {
        "/betting_share",
        "/lenders_seen",
    }
    told = {name: found["derived"][name] for name in ("betting_share", "lenders_seen")}
    assert scored(service, {**body, **told}).status == 200


@pytest.mark.parametrize("reference", ["c-2", None, "", 7, " c-1\n2"])
def test_evidence_of_one_applicant_is_refused_of_another(
    service: Service, reference: object
) -> None:
    found = derived(service, ("file", statement()), ("applicant_ref", b" c-1 "))
    body = {**found["fields"], "evidence": found["evidence"]}
    for path in ("/v1/score", "/v1/explain"):
        told = json.dumps({**body, "applicant_ref": reference}).encode()
        refused = service.ask(path, body=told)
        assert refused.status == 422
        assert [one["code"] for one in refused.json()["errors"]] == ["evidence_of_another"]
        assert service.ask(path, body=json.dumps(body).encode()).status == 422
    for _ in range(2):
        assert scored(service, {**body, "applicant_ref": "c-1"}).status == 200


def test_evidence_of_nobody_is_of_whom_it_first_comes_with(service: Service) -> None:
    found = derived(service, ("file", statement()))
    body = {**found["fields"], "evidence": found["evidence"]}
    explained = service.ask("/v1/explain", body=json.dumps(body).encode())
    assert explained.status == 200  # which binds nothing: nothing is stored
    for reference, status in (("c-1", 200), ("c-2", 422), ("c-1", 200)):
        assert scored(service, {**body, "applicant_ref": reference}).status == status
    refused = scored(service, body)
    assert [one["code"] for one in refused.json()["errors"]] == ["evidence_used"]


def test_evidence_of_nobody_for_nobody_serves_once_and_its_retries(service: Service) -> None:
    found = derived(service, ("file", statement()))
    body = json.dumps({**found["fields"], "evidence": found["evidence"]}).encode()
    once = {"idempotency-key": "k-1"}
    first = service.ask("/v1/score", body=body, headers=once)
    assert first.status == 200
    again = service.ask("/v1/score", body=body, headers=once)
    assert (again.status, again.body) == (200, first.body)
    for headers in ({}, {"idempotency-key": "k-2"}):
        refused = service.ask("/v1/score", body=body, headers=headers)
        assert [one["code"] for one in refused.json()["errors"]] == ["evidence_used"]
    # Another token of the same statement is another proof.
    other = derived(service, ("file", statement()))
    assert scored(service, {**other["fields"], "evidence": other["evidence"]}).status == 200


def test_evidence_of_an_erased_applicant_is_nobodys(service: Service) -> None:
    found = derived(service, ("file", statement()))
    body = {**found["fields"], "evidence": found["evidence"], "applicant_ref": "c-1"}
    assert scored(service, body).status == 200
    Applicants.at(service.installed).erase(DEMO, "c-1", None)
    refused = scored(service, body)
    assert [one["code"] for one in refused.json()["errors"]] == ["evidence_used"]


@pytest.mark.parametrize(("reference", "days"), [("c-1", 7), (None, 3)])
def test_evidence_grows_old(service: Service, reference: str | None, days: int) -> None:
    installed = service.installed
    _, key = keys.issue(installed.registry, installed.clock, installed.pepper, DEMO)
    caller = Caller(key, DEMO, None, installed.vault.ring("demo"))
    body = json.loads(BODY) | {"applicant_ref": "c-1"}
    for ago_s, codes in ((days * 86_400 - 60, None), (days * 86_400 + 60, ["evidence_expired"])):
        made_us = installed.clock() - ago_s * 1_000_000
        proven = Proven("sha256:0", "fields/1", "2026-01-01", (), (), doubtful=False)
        token = evidence.token(caller, reference, proven, {}, made_us)
        reply = scored(service, {**body, "evidence": token}).json()
        assert [one["code"] for one in reply["errors"]] == codes if codes else "score" in reply


def test_a_policy_may_ask_for_evidence_and_for_a_recent_statement(service: Service) -> None:
    unasked = scored(service, json.loads(BODY)).json()["request_id"]
    text = draft.default_text("KES").decode() + "\n[evidence]\nrequired = true\ndays_max = 1\n"
    installed = service.installed
    signed = Signed(installed.clock(), "W. Mutua")
    policies.activate(installed.registry, DEMO, text.encode(), signed, lambda: MODEL)
    found = derived(service, ("file", statement(ends=20)))
    assert found["doubtful"] is True
    for path in ("/v1/score", "/v1/explain"):
        refused = service.ask(path, body=json.dumps(found["fields"]).encode())
        assert refused.status == 422
        assert [one["code"] for one in refused.json()["errors"]] == ["evidence_required"]
    reply = scored(service, {**found["fields"], "evidence": found["evidence"]})
    assert reply.json()["decision"] == "REVIEW"
    for request_id in (unasked, reply.json()["request_id"]):
        stored = Scores.at(installed).find(DEMO, request_id)
        record = recall(installed.registry, installed.vault, stored)
        assert record.policy.evidence.required is (request_id != unasked)
        assert replay(record) == ()


def test_a_doubtful_statement_is_left_to_a_person(service: Service) -> None:
    found = derived(service, ("file", statement(wrong=True)))
    assert found["doubtful"] is True
    reply = scored(service, {**found["fields"], "evidence": found["evidence"]}).json()
    assert reply["decision"] == "REVIEW"
    record = service.ask(f"/v1/scores/{reply['request_id']}").json()
    assert "statement_doubtful" in record["offer"]["rules"]


@pytest.mark.parametrize("change", ["other", "cut", "number", "empty"])
def test_evidence_of_another_or_changed_is_refused(service: Service, change: str) -> None:
    found = derived(service, ("file", statement()))
    token: Any = found["evidence"]
    asking = service
    if change == "other":
        installed = service.installed
        keys.add_lender(installed.registry, installed.clock, "umoja", "Umoja", "KES")
        asking = service_for(installed, Book("umoja", Mode.TEST))
    token = {"other": token, "cut": token[:-2], "number": 7, "empty": ""}[change]
    refused = scored(asking, {**found["fields"], "evidence": token})
    assert refused.status == 422
    assert [fault["code"] for fault in refused.json()["errors"]] == ["evidence_invalid"]


def test_transactions_are_taken_as_json(service: Service) -> None:
    told = {
        "currency": "KES",
        "country": "KE",
        "transactions": [
            {
                "id": str(month),
                "at": f"2026-{month:02}-03T10:00:00+03:00",
                "amount": 100.5,
                "direction": "in",
                "kind": "salary_in",
                "balance_after": "100.50",
            }
            for month in range(1, 8)
        ],
        "as_of": "2026-08-02",
    }
    reply = service.ask("/v1/fields", body=json.dumps(told).encode())
    assert reply.status == 200, reply.body
    assert reply.json()["fields"]["avg_inflow"] == 100.5


@pytest.mark.parametrize(
    ("parts", "status", "code"),
    [
        ((), 422, "invalid_request"),
        ((("file", b"nothing"),), 422, "mapping_needed"),
        ((("file", b"<a/>"),), 422, "statement_unreadable"),
        ((("file", b"<a/>"), ("as_of", b"soon")), 422, "invalid_request"),
        ((("file", b"<a/>"), ("as_of", b"1999-12-31")), 422, "invalid_request"),
        ((("file", b"<a/>"), ("as_of", b"0001-01-01")), 422, "invalid_request"),
        ((("file", b"<a/>"), ("opened_on", b"1900-01-01")), 422, "invalid_request"),
        ((("file", b"<a/>"), ("opened_on", b"2999-01-01")), 422, "invalid_request"),
        ((("file", b"<a/>"), ("applicant_ref", b"+254 700 000 000")), 422, "invalid_request"),
        ((("file", b"<a/>"), ("country", b"XX")), 422, "invalid_request"),
        ((("file", b"<a/>"), ("mapping", b"{")), 422, "invalid_request"),
        ((("file", b"<a/>"), ("odd", b"1")), 422, "invalid_request"),
        ((("file", b'{"currency": "UGX", "transactions": []}'),), 422, "statement_unreadable"),
        ((("file", b'{"currency": "\\ud800", "data": [{}]}'),), 422, "statement_unreadable"),
        ((("file", b" " * 9_000_000),), 413, "body_too_large"),
    ],
)
def test_what_cannot_be_read_is_refused(
    service: Service, parts: tuple[tuple[str, bytes], ...], status: int, code: str
) -> None:
    refused = service.ask("/v1/fields", body=form(*parts), headers=FORM)
    assert (refused.status, refused.json()["code"]) == (status, code)


@pytest.mark.parametrize(
    ("name", "day"),
    [
        ("as_of", "0001-01-01"),
        ("as_of", "1999-12-31"),
        ("as_of", "9999-12-31"),
        ("opened_on", "0001-01-01"),
        ("opened_on", "1950-01-01"),
        ("opened_on", "9999-12-31"),
    ],
)
def test_a_day_out_of_time_is_refused_by_its_name_and_rule(
    service: Service, name: str, day: str
) -> None:
    told = json.dumps({"transactions": [], name: day}).encode()
    for refused in (
        service.ask("/v1/fields", body=form(("file", b"<a/>"), (name, day.encode())), headers=FORM),
        service.ask("/v1/fields", body=told),
    ):
        assert refused.status == 422
        (fault,) = refused.json()["errors"]
        assert (fault["pointer"], fault["code"]) == (f"/{name}", "invalid_value")
        assert fault["detail"].startswith("must be ")
        assert day.encode() not in refused.body


def test_a_refusal_does_not_say_what_currency_was_told(service: Service) -> None:
    told = {"currency": "SECRETS", "transactions": [{"at": "2026-01-01"}]}
    refused = service.ask("/v1/fields", body=json.dumps(told).encode())
    assert refused.status == 422
    assert b"SECRETS" not in refused.body
    other = json.dumps(told | {"currency": "ZMW", "transactions": []}).encode()
    assert b"ZMW" not in service.ask("/v1/fields", body=other).body


@pytest.mark.parametrize(
    "boundary", ["boundary*=a; boundary*0=b", "boundary*" + "9" * 5_000 + "=a", "boundary*=u''%E2"]
)
def test_a_form_whose_boundary_is_none_is_refused(service: Service, boundary: str) -> None:
    headers = {"content-type": f"multipart/form-data; {boundary}"}
    refused = service.ask("/v1/fields", body=b"--a--", headers=headers)
    assert refused.status == 415


HALF = '"\\ud800"'


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ('{"transactions": [], "applicant_name": ' + HALF + "}", 400),
        ('{"transactions": [], "mapping": {"at": ' + HALF + "}}", 400),
        ('{"transactions": [], "currency": ' + HALF + "}", 400),
        ('{"transactions": {}}', 422),
        ('{"transactions": [}', 400),
        ("[]", 400),
        ("", 400),
        ("[" * 100_000, 400),
        ('{"a":' * 100_000, 400),
    ],
)
def test_json_that_no_document_can_hold_is_refused(
    service: Service, body: str, status: int
) -> None:
    refused = service.ask("/v1/fields", body=body.encode())
    assert refused.status == status, refused.body


def test_from_a_pdf_to_a_decision_by_figures_that_are_known(service: Service) -> None:
    today = datetime.now(UTC).date()
    person = Wanted(26, 23_800, 21_000, 0.58, 14, 40, 0.3, 600, 8, 0.7)
    wallet = draw_ledger(person, today, "KES", seed=1, number=1)
    sheet = Sheet(
        HOLDER, "2547******12", wallet.opened_on, wallet.last_day, today, 0, wallet.closing
    )
    pdf = draw_mpesa(sheet, mpesa_lines(wallet.legs, 0, wallet.number))
    found = derived(
        service,
        ("file", pdf),
        ("applicant_name", HOLDER.title().encode()),
        ("as_of", str(today).encode()),
        ("country", b"KE"),
    )
    known = figures(wallet)
    assert found["fields"] | found["derived"] == pytest.approx(known, rel=0, abs=1e-9)
    assert found["doubtful"] is False
    assert not found["read"]["unread"]
    asked = {"requested_amount": 3_000, "requested_term_days": 30}
    decided = scored(service, {**found["fields"], **asked, "evidence": found["evidence"]}).json()
    by_truth = scored(service, {name: known[name] for name in found["fields"]} | asked).json()
    for name in ("score", "tier", "default_probability", "decision", "recommended_limit"):
        assert decided[name] == by_truth[name], name
    assert decided["decision"] == "APPROVED"


TABLE = b"""Savings and Credit of Nyeri;;;;;
Posted;No;Narrative;Money received;Money sent;Left
01/04/2026 08:00;R1;Salary JANE DOE;6.000,00;;6.000,00
13/05/2026 10:00;R2;Rent;;2.900,00;3.100,00
"""


def test_how_a_table_of_other_words_may_be_read_is_proposed_looked_at_and_sent_back(
    service: Service,
) -> None:
    service.ask("/v1/scores")  # as above
    before = rows_of(service)
    as_of = ("as_of", b"2026-06-02")
    refused = service.ask("/v1/fields", body=form(("file", TABLE), as_of), headers=FORM)
    assert (refused.status, refused.json()["code"]) == (422, "mapping_needed")
    proposal = refused.json()["proposal"]
    assert proposal["open"] == []
    assert (proposal["rows"], proposal["rows_read"]) == (2, 2)
    assert {one["by"] for one in proposal["columns"]} == {"likeness", "unsure"}
    mapping = json.dumps(proposal["mapping"]).encode()
    found = derived(service, ("file", TABLE), as_of, ("mapping", mapping))
    assert found["fields"]["avg_inflow"] == 3000.0
    assert rows_of(service) == before


def test_what_a_table_leaves_open_is_answered_beside_what_was_proposed(service: Service) -> None:
    parts = (("file", TABLE.replace(b"13/05", b"03/05")), ("as_of", b"2026-06-02"))
    refused = service.ask("/v1/fields", body=form(*parts), headers=FORM).json()
    assert refused["detail"].endswith("answer what is `open`, and send its `mapping` back.")
    (asked,) = refused["proposal"]["open"]
    assert asked == {"about": "dates", "answers": ["day first", "month first"]}
    mapping = refused["proposal"]["mapping"]
    again = service.ask(
        "/v1/fields", body=form(*parts, ("mapping", json.dumps(mapping).encode())), headers=FORM
    ).json()
    assert again["proposal"]["mapping"] == mapping
    assert {one["by"] for one in again["proposal"]["columns"]} == {"mapping"}
    said = json.dumps(mapping | {"dates": "month first"}).encode()
    found = derived(service, *parts, ("mapping", said))
    assert found["coverage"]["first_transaction"] == "2026-01-04"


def test_a_table_is_read_as_its_lender_has_said_of_such_ones_and_no_other_lender_s(
    service: Service,
) -> None:
    parts = (("file", TABLE.replace(b"13/05", b"03/05")), ("as_of", b"2026-06-02"))
    proposal = service.ask("/v1/fields", body=form(*parts), headers=FORM).json()["proposal"]
    columns = msgspec.convert(proposal["mapping"] | {"dates": "day first"}, Columns)
    header = header_of(TABLE)
    assert header is not None
    mappings = Mappings.at(service.installed, Layout)
    mappings.keep("demo", Files.STATEMENTS, Layout(header, columns), "A. Wanjiru")
    assert derived(service, *parts)["fields"]["avg_inflow"] == 3000.0
    said = json.dumps(proposal["mapping"] | {"dates": "month first"}).encode()
    found = derived(service, *parts, ("mapping", said))  # what comes with a file is said of it
    assert found["coverage"]["first_transaction"] == "2026-01-04"
    installed = service.installed
    keys.add_lender(installed.registry, installed.clock, "umoja", "Umoja", "KES")
    other = service_for(installed, Book("umoja", Mode.TEST))
    refused = other.ask("/v1/fields", body=form(*parts), headers=FORM)
    assert refused.json()["code"] == "mapping_needed"
