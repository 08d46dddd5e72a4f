"""Loan histories over HTTP: sealed as they come, whole or not at all, and read by others."""

from __future__ import annotations

import asyncio
import gzip

import pytest

from alama.lenders.installation import Installation
from alama.onboarding import histories, jobs_api, schema
from alama.onboarding.records import PART_BYTES, FileFormat, Job, Wishes, decode_read_order
from alama.onboarding.remote import Arrival
from alama.onboarding.store import Stores
from alama.platform.book import PILOT_SCOPES
from alama.platform.errors import StoreUnavailable
from tests.callers import Lender
from tests.exchanges import Received
from tests.onboarded import a_history
from tests.unit.onboarding.calls import HISTORIES, candidate_of, code, job_of, with_terms

CSV = {"content-type": "text/csv"}
PARQUET = {"content-type": "application/vnd.apache.parquet"}


@pytest.fixture
def lender(installed: Installation) -> Lender:
    return Lender(installed, scopes=PILOT_SCOPES)


def send(lender: Lender, pieces: list[bytes | None]) -> Received | None:
    """Hand in a file that comes in pieces, and without a length."""
    return lender.service.ask_in_pieces(HISTORIES, pieces, CSV)


def parts_left(lender: Lender) -> int:
    table = schema.history_parts
    with lender.installed.database.reading() as connection:
        rows = connection.execute(table.select().where(table.c.lender == lender.book.lender))
        return len(rows.all())


def test_a_file_is_sealed_as_it_comes_and_waits_to_be_read(lender: Lender) -> None:
    with_terms(lender)
    file = b"borrower_id,amount\n" + b"b1,200\n" * 200_000
    pieces: list[bytes | None] = [file[at : at + 65_536] for at in range(0, len(file), 65_536)]
    reply = send(lender, pieces)
    assert reply is not None
    assert reply.status == 202
    job = job_of(lender, reply)
    assert reply.headers["location"] == f"/v1/onboarding/jobs/{job.id}"
    order = decode_read_order(job.order)
    assert (order.file_format, order.days_past_due) == (FileFormat.CSV, 30)
    assert order.part_count == parts_left(lender) == -(-len(file) // PART_BYTES)
    record = a_history(lender.book.lender, id=job.makes, part_count=order.part_count)
    assert b"".join(Stores.at(lender.installed).histories.received(record)) == file
    told = lender.read(f"/v1/onboarding/histories/{reply.json()['history_id']}")
    assert (told["state"], told["rows"], told["report"]) == ("unread", None, None)
    again = lender.ask("POST", HISTORIES, b"more", CSV)
    assert (again.status, code(again)) == (409, "job_under_way")
    assert job.id in again.json()["detail"]
    assert "it waits for a worker" in lender.read("/v1/onboarding")["steps"][1]["words"]


def test_other_callers_do_not_wait_while_the_head_of_a_file_is_looked_at(
    lender: Lender, monkeypatch: pytest.MonkeyPatch
) -> None:
    held_up: list[object] = []

    def looked_at(*_: object) -> None:
        try:
            held_up.append(asyncio.get_running_loop())
        except RuntimeError:
            held_up.append(None)

    monkeypatch.setattr(jobs_api, "check_csv_head", looked_at)
    with_terms(lender)
    assert lender.ask("POST", HISTORIES, b"a,b\n1,2\n", CSV).status == 202
    assert held_up == [None]


@pytest.mark.parametrize(
    "query",
    [
        "region=true&exclude=avg_balance&groups=gender,age%20band",
        "region=True&groups=gender&exclude=avg_balance&groups=age%20band",
    ],
)
def test_what_may_be_an_input_is_said_with_the_file(lender: Lender, query: str) -> None:
    with_terms(lender)
    reply = lender.ask("POST", f"{HISTORIES}?{query}", b"PAR1 and so on", PARQUET)
    order = decode_read_order(job_of(lender, reply).order)
    assert order.wishes == Wishes(
        region=True, exclude=("avg_balance",), groups=("gender", "age band")
    )
    assert order.file_format is FileFormat.PARQUET


def test_a_list_as_long_as_it_may_be_can_be_said_one_by_one(lender: Lender) -> None:
    with_terms(lender)
    names = [f"column_{number}" for number in range(jobs_api.COLUMNS_MAX)]
    query = "&".join(f"groups={name}" for name in names)
    reply = lender.ask("POST", f"{HISTORIES}?{query}", b"PAR1 and so on", PARQUET)
    assert decode_read_order(job_of(lender, reply).order).wishes.groups == tuple(names)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("exclude=Zq7%20marked", "the parameter exclude names what is no field"),
        ("keep=avg_balanc", "the nearest is avg_balance"),
        ("region=yes", "region must be true or false"),
        ("groups=a%0ab", "groups must be at most 50 names"),
        ("grops=gender", "the nearest is groups"),
    ],
)
def test_an_option_that_is_none_is_refused_before_the_file_is_read(
    lender: Lender, query: str, said: str
) -> None:
    with_terms(lender)
    reply = lender.ask("POST", f"{HISTORIES}?{query}", b"rows", CSV)
    assert (reply.status, code(reply)) == (400, "invalid_parameter")
    assert said.lower() in reply.json()["detail"].lower()
    assert b"Zq7" not in reply.body
    assert parts_left(lender) == 0


@pytest.mark.parametrize(
    "headers",
    [
        {"content-type": "application/json"},
        {"content-type": "text/csv; charset=latin-1"},
        {"content-type": ""},
        CSV | {"content-encoding": "br"},
    ],
)
def test_a_body_that_is_no_plain_file_is_refused(lender: Lender, headers: dict[str, str]) -> None:
    with_terms(lender)
    reply = lender.ask("POST", HISTORIES, b"rows", headers)
    assert (reply.status, code(reply)) == (415, "unsupported_media_type")


def test_a_file_that_is_packed_on_its_way_is_kept_plain(lender: Lender) -> None:
    with_terms(lender)
    file, said = b"a,b\n" + b"1,2\n" * PART_BYTES, CSV | {"content-encoding": "gzip"}
    refused = lender.ask("POST", HISTORIES, gzip.compress(file)[:-5], said)
    assert (refused.status, code(refused)) == (422, "invalid_file")
    assert parts_left(lender) == 0
    reply = lender.ask("POST", HISTORIES, gzip.compress(file), said)
    job = job_of(lender, reply)
    parts = decode_read_order(job.order).part_count
    record = a_history(lender.book.lender, id=job.makes, part_count=parts)
    assert b"".join(Stores.at(lender.installed).histories.received(record)) == file


def test_a_packed_file_that_is_too_large_once_it_is_unpacked_leaves_nothing(
    lender: Lender, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_terms(lender)
    monkeypatch.setattr(jobs_api, "FILE_BYTES_MAX", 2 * PART_BYTES)
    packed = gzip.compress(b"a\n" * (2 * PART_BYTES))
    reply = lender.ask("POST", HISTORIES, packed, CSV | {"content-encoding": "gzip"})
    assert (reply.status, code(reply)) == (413, "body_too_large")
    assert parts_left(lender) == 0


def test_a_file_that_is_too_large_is_refused_and_leaves_nothing(
    lender: Lender, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_terms(lender)
    monkeypatch.setattr(jobs_api, "FILE_BYTES_MAX", 2 * PART_BYTES)
    announced = lender.ask("POST", HISTORIES, b"rows", CSV | {"content-length": "9999999999"})
    found: Received | None = send(lender, [b"a\n" * (PART_BYTES // 2)] * 3)
    assert found is not None
    for reply in (announced, found):
        assert (reply.status, code(reply)) == (413, "body_too_large")
        assert "larger than 2 MiB" in reply.json()["detail"]
    assert parts_left(lender) == 0


@pytest.mark.parametrize(
    ("file", "headers", "words"),
    [
        (b",".join([b"c"] * 40_000) + b"\n1\n", CSV, "more than 1,000 columns"),
        (gzip.compress(b",".join([b"c"] * 40_000) + b"\n1\n"), CSV, "more than 1,000 columns"),
        (b"c" * 1_000 + b",d\n1,2\n", CSV, "longer than 256 letters"),
        (b"PAR1" + bytes(100), CSV, "not what its Content-Type says"),
        (b"a,b\n1,2\n", PARQUET, "not what its Content-Type says"),
        (b"PK\x03\x04" + bytes(100), CSV, "not what its Content-Type says"),
    ],
    ids=["wide", "wide, packed", "long name", "parquet", "text", "spreadsheet"],
)
def test_what_the_first_bytes_show_is_refused_at_once(
    lender: Lender, file: bytes, headers: dict[str, str], words: str
) -> None:
    with_terms(lender)
    reply = lender.ask("POST", HISTORIES, file, headers)
    assert (reply.status, code(reply)) == (422, "invalid_file")
    assert words in reply.json()["detail"]
    assert parts_left(lender) == 0
    assert Stores.at(lender.installed).jobs.of(lender.book.lender) == []


def test_a_lender_with_as_much_as_it_may_have_is_told_what_makes_room(
    lender: Lender, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_terms(lender)
    monkeypatch.setattr(histories, "HISTORIES_BYTES_MAX", 2 * PART_BYTES)
    found = send(lender, [b"a\n" * (PART_BYTES // 2)] * 3)
    assert found is not None
    assert (found.status, code(found)) == (409, "histories_full")
    assert "erases the file" in found.json()["detail"]
    assert parts_left(lender) == 0


def test_an_empty_file_is_refused_with_what_to_send(lender: Lender) -> None:
    with_terms(lender)
    reply = lender.ask("POST", HISTORIES, b"", CSV)
    assert (reply.status, code(reply)) == (400, "invalid_parameter")
    assert "--data-binary @loans.csv" in reply.json()["detail"]


def test_a_caller_who_leaves_in_the_middle_leaves_nothing(lender: Lender) -> None:
    with_terms(lender)
    assert send(lender, [b"a\n" * (PART_BYTES // 2)] * 2 + [None]) is None
    assert parts_left(lender) == 0
    assert Stores.at(lender.installed).jobs.of(lender.book.lender) == []


def test_a_file_stays_where_its_job_was_kept_and_only_the_word_of_it_was_lost(
    lender: Lender, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish = Arrival.finish

    def lost(arrival: Arrival, file_format: FileFormat, wishes: Wishes, by: str) -> Job:
        finish(arrival, file_format, wishes, by)
        raise StoreUnavailable("the commit was not acknowledged in time")

    with_terms(lender)
    monkeypatch.setattr(Arrival, "finish", lost)
    assert lender.ask("POST", HISTORIES, b"rows", CSV).status == 503
    (job,) = Stores.at(lender.installed).jobs.of(lender.book.lender)
    assert (job.open, parts_left(lender)) == (True, 1)


def test_without_terms_nothing_is_taken(lender: Lender) -> None:
    for path, body, headers in (
        (HISTORIES, b"rows", CSV),
        ("/v1/onboarding/trainings", b"{}", {}),
    ):
        reply = lender.ask("POST", path, body, headers)
        assert (reply.status, code(reply)) == (409, "step_missing")
        assert "PUT /v1/onboarding/terms" in reply.json()["detail"]


def test_a_history_that_was_read_comes_with_its_report(lender: Lender) -> None:
    candidate = candidate_of(lender)
    told = lender.read(f"/v1/onboarding/histories/{candidate.history_id}")
    assert (told["state"], told["rows"], told["report"]) == ("read", 50_000, {"rows": 3})
    assert told["job_id"] is None
