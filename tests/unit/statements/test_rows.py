"""Rows become entries: kinds by their words, groups by receipts, reversals by what they name."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from alama.statements.kinds import patterns_of
from alama.statements.ledger import Direction, Kind, Pseudonyms, Statement, Status, Unknown
from alama.statements.rows import Row, Source, assemble

NOON = datetime(2026, 8, 3, 12, tzinfo=UTC)
SOURCE = Source("mpesa_csv", "mpesa", "KES")


def row(
    number: int, words: str, signed: int, *, receipt: str | None = None, balance: int | None = None
) -> Row:
    at = NOON + timedelta(minutes=number)
    return Row(number, receipt, at, words, Status.COMPLETED, signed, balance)


def statement(*rows: Row) -> Statement:
    return assemble(SOURCE, rows, Pseudonyms(b"k" * 32))


@pytest.mark.parametrize(
    ("words", "direction", "kind"),
    [
        ("Funds received from 254722***123 - JANE DOE", "in", Kind.PERSON_IN),
        ("Customer Transfer to 254712***678 - JOHN DOE", "out", Kind.PERSON_OUT),
        ("Customer Transfer of Funds Charge", "out", Kind.CHARGE),
        ("Pay Bill to 888880 - KPLC PREPAID Acc. 1234", "out", Kind.BILL_OUT),
        ("Pay Bill Charge", "out", Kind.CHARGE),
        ("Pay Bill Online to 247247 - Equity Paybill Account Acc. 1", "out", Kind.BANK_OUT),
        ("Pay Bill to 290290 - SPORTPESA Acc. 1", "out", Kind.BETTING_OUT),
        ("Promotion Payment from 12345 - SOMEBODY", "in", Kind.BETTING_IN),
        ("Merchant Payment to 5204 - NAIVAS", "out", Kind.MERCHANT_OUT),
        ("Customer Withdrawal At Agent Till 99 - SHOP", "out", Kind.AGENT_OUT),
        ("Deposit of Funds at Agent Till 99 - SHOP", "in", Kind.AGENT_IN),
        ("Airtime Purchase", "out", Kind.AIRTIME_OUT),
        ("Buy Bundles", "out", Kind.DATA_OUT),
        ("Salary Payment from 300 - WORKS LTD", "in", Kind.SALARY_IN),
        ("Business Payment from 300600 - Equity Bulk via API", "in", Kind.BANK_IN),
        ("Business Payment from 300601 - TALA", "in", Kind.LOAN_IN),
        ("M-Shwari Withdraw", "in", Kind.SAVINGS_IN),
        ("M-Shwari Deposit", "out", Kind.SAVINGS_OUT),
        ("M-Shwari Loan Disburse", "in", Kind.LOAN_IN),
        ("OverDraft of Credit Party", "in", Kind.OVERDRAFT_IN),
        ("OD Loan Repayment to 232323 - M-PESA Overdraw", "out", Kind.OVERDRAFT_OUT),
        ("Offnet B2C Transfer by 1 - X", "in", Kind.PERSON_IN),
        ("Customer Transfer Reversal", "in", Kind.REVERSAL),
        ("Quite new thing", "out", Kind.OTHER_OUT),
    ],
)
def test_the_words_of_a_row_tell_its_kind(words: str, direction: str, kind: Kind) -> None:
    assert patterns_of("mpesa").meaning(words, Direction(direction)).kind is kind


def test_legs_of_one_receipt_are_one_group_with_ids_of_their_own() -> None:
    read = statement(
        row(1, "Customer Transfer to 1***2 - A B", -100_00, receipt="QAB1", balance=400_00),
        row(1, "Customer Transfer of Funds Charge", -7_00, receipt="QAB1", balance=393_00),
    )
    assert [entry.id for entry in read.entries] == ["QAB1", "QAB1/2"]
    assert {entry.group for entry in read.entries} == {"QAB1"}
    assert [entry.counterparty is None for entry in read.entries] == [False, True]


def test_what_no_pattern_knows_is_counted_by_its_first_words_without_figures() -> None:
    read = statement(row(1, "Zappo 0712345678 gift 77 of more words", -5_00))
    assert read.unknown == (Unknown("Zappo gift of", 1),)
    assert read.entries[0].kind is Kind.OTHER_OUT


def test_a_reversal_takes_back_what_it_names_or_else_the_last_of_its_amount() -> None:
    named = statement(
        row(1, "Customer Transfer to 1***2 - A B", -100_00, receipt="QAB1CD2EF3"),
        row(2, "Customer Transfer to 1***2 - A B", -100_00, receipt="QAB1CD2EF4"),
        row(3, "Reversal of QAB1CD2EF3", 100_00, receipt="QAB1CD2EF5"),
        row(4, "Customer Transfer Reversal", 100_00, receipt="QAB1CD2EF6"),
    )
    assert [entry.reverses for entry in named.entries] == [
        None,
        None,
        "QAB1CD2EF3",
        "QAB1CD2EF4",
    ]


def test_rows_without_receipts_are_named_by_what_they_say() -> None:
    one = statement(row(1, "rent", -5_00), row(2, "rent", -5_00))
    other = statement(row(2, "rent", -5_00), row(1, "rent", -5_00))
    assert {entry.id for entry in one.entries} == {entry.id for entry in other.entries}
