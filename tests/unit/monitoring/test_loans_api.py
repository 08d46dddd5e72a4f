"""POST /v1/loans and `alama loans load`: what is read, refused and answered."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alama.core.memory import Amount
from alama.memory.borrower import Ending, LoanEventKind
from alama.monitoring.loans_api import BATCH, read, replies, requests
from alama.monitoring.loans_cli import _batches
from alama.platform.days import day_number
from alama.platform.http.problems import InvalidRequest

LOAN: dict[str, Any] = {"applicant_ref": "cust-1", "loan": "L-1", "date": "2026-09-01"}
LENT = LOAN | {"kind": "disbursed", "amount": 900}
DAY = day_number(date(2026, 9, 1))


def read_one(sent: dict[str, Any]) -> Any:
    [told] = read(json.dumps(sent).encode())
    return told


def test_a_loan_in_instalments_falls_due_evenly_and_adds_up() -> None:
    said = LENT | {"due_date": "2026-11-30", "due_amount": 1_000, "instalments": 3}
    event = read_one(said).event
    assert event.kind is LoanEventKind.DISBURSED
    assert event.dues == (
        Amount(DAY + 30, 333.33),
        Amount(DAY + 60, 333.33),
        Amount(DAY + 90, 1_000.0 - 2 * 333.33),
    )


@given(st.integers(0, 10**9), st.integers(1, 120))
def test_no_instalment_is_less_than_nothing_however_small(hundredths: int, count: int) -> None:
    said = {"due_date": "2026-11-30", "due_amount": hundredths / 100, "instalments": count}
    dues = read_one(LENT | said).event.dues
    assert len(dues) == count
    assert min(due.money for due in dues) >= 0.0
    assert sum(due.money for due in dues) == pytest.approx(hundredths / 100)
    assert dues[-1].money - dues[0].money < 0.01 * count


def test_a_loan_without_more_falls_due_at_once_with_its_amount() -> None:
    assert read_one(LENT | {"due_date": "2026-10-01"}).event.dues == (Amount(DAY + 30, 900.0),)
    assert read_one(LENT).event.dues == ()


def test_what_is_closed_is_repaid_where_nothing_else_is_said() -> None:
    assert read_one(LOAN | {"kind": "closed"}).event.ending is Ending.REPAID
    given_up = LOAN | {"kind": "closed", "closed_as": "written_off"}
    assert read_one(given_up).event.ending is Ending.WRITTEN_OFF


@pytest.mark.parametrize(
    ("sent", "pointer"),
    [
        (LOAN | {"kind": "disbursed"}, "/amount"),
        (LOAN | {"kind": "payment"}, "/amount"),
        (LOAN | {"kind": "closed", "amount": 1}, "/amount"),
        (LOAN | {"kind": "payment", "amount": 1, "due_date": "2026-10-01"}, "/due_date"),
        (LENT | {"due_date": "2026-08-01"}, "/due_date"),
        (LENT | {"instalments": 3}, "/due_date"),
        (LENT | {"due_date": "2026-10-01", "first_due_date": "2026-10-02"}, "/first_due_date"),
        (LENT | {"applicant_ref": "+254 700 000 000"}, "/applicant_ref"),
        (LENT | {"applicant_ref": ""}, "/applicant_ref"),
        (LENT | {"kind": "sold"}, "/kind"),
        (LENT | {"request_id": "req_1"}, "/request_id"),
        (LENT | {"open_balance": 1}, "/open_balance"),
    ],
)
def test_what_breaks_a_rule_is_refused_by_its_place(sent: dict[str, Any], pointer: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        read_one(sent)
    assert pointer in {one.pointer for one in refused.value.problems}
    with pytest.raises(InvalidRequest) as refused:
        read(json.dumps({BATCH: [LENT, sent]}).encode())
    assert f"/loans/1{pointer}" in {one.pointer for one in refused.value.problems}


def test_the_examples_are_read_and_answered() -> None:
    for example in requests().values():
        assert read(json.dumps(example["value"]).encode())
    assert replies()["loan_results"]["value"]["counts"] == {"recorded": 3}


@pytest.mark.parametrize("name", ["loans.csv", "loans.jsonl"])
def test_a_file_says_the_same_as_a_body(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    sent = [LENT | {"due_date": "2026-10-01", "instalments": 2}, LOAN | {"kind": "closed"}]
    if name.endswith(".jsonl"):
        lines = [json.dumps(one) for one in sent]
    else:
        names = ["applicant_ref", "loan", "kind", "date", "amount", "due_date", "instalments"]
        rows = [",".join(str(one.get(name, "")) for name in names) for one in sent]
        lines = [",".join(names), *rows]
    file.write_text("\n".join([*lines, ""]), "utf-8")
    found = [row for rows in _batches(file) for row in rows]
    assert [row.fault for row in found] == ["", ""]
    assert [row.told for row in found] == [read_one(one) for one in sent]
