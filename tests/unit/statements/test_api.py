"""POST /v1/fields derives and keeps nothing; POST /v1/score believes no figure but those."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import inspect, text

from alama.lenders import installation, keys
from alama.lenders.installation import Installation
from alama.platform import settings
from alama.platform.book import Book, Mode
from alama.training.population.formats import HOLDER
from alama.training.population.ledgers import Wanted, draw_ledger, figures
from alama.training.population.printed import mpesa_lines
from tests.entries import DEMO
from tests.exchanges import Received
from tests.served import Service
from tests.statement_pdfs import Sheet, draw_mpesa

BOUNDARY = "xXx"
FORM = {"content-type": f"multipart/form-data; boundary={BOUNDARY}"}


def statement(*, wrong: bool = False, name: str = "Jane Doe") -> bytes:
    """A wallet of the last eight months, each with a salary, a bill, airtime and a transfer."""
    today = datetime.now(UTC).date()
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
