"""What is drawn is read again: every row, every figure, and what stands around the table."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest
from reportlab.pdfgen.canvas import Canvas

from alama.statements.checks import check
from alama.statements.formulas import derive
from alama.statements.ledger import Verdict
from alama.statements.pdf.reader import PasswordNeeded, read_document
from alama.statements.pdf.statement import read_pdf
from alama.statements.places import place_of
from alama.statements.problems import StatementUnreadable
from alama.statements.reading import read_statement
from tests.drawn_statements import HOLDER, NAMES, Known, facts, known
from tests.statement_pdfs import draw_mpesa, draw_mtn

PLACE = place_of("KE")
Draw = Callable[[Known], bytes]


@pytest.mark.parametrize(
    ("draw", "legs"),
    [
        pytest.param(Known.mpesa_pdf, 3, id="mpesa_kenya"),
        pytest.param(Known.mtn_pdf, 2, id="mtn_uganda"),
    ],
)
@pytest.mark.parametrize(
    "seeds",
    [range(6), pytest.param(range(6, 1_006), marks=pytest.mark.long)],
    ids=["some", "a thousand"],
)
def test_every_row_and_every_field_is_the_known_one(draw: Draw, legs: int, seeds: range) -> None:
    for seed in seeds:
        wanted = known(seed, rows=20 + seed * 7 % 180, legs=legs)
        statement = read_pdf(draw(wanted), NAMES)
        assert not statement.unread, seed
        assert not statement.unknown, seed
        assert facts(statement.entries) == facts(wanted.entries), seed
        sheet, declared = wanted.sheet, statement.declared
        assert (declared.first_day, declared.last_day) == (sheet.first_day, sheet.last_day)
        assert declared.made_on == sheet.made_on
        told = derive(statement.entries, declared, sheet.made_on, PLACE)
        assert told == derive(wanted.entries, declared, sheet.made_on, PLACE), seed
        assert told.fields == pytest.approx(wanted.figures(), rel=0, abs=1e-9), seed
        checks = check(statement, sheet.made_on, PLACE, names=NAMES, holder=HOLDER)
        assert {one.verdict for one in checks} == {Verdict.PASS}, (seed, checks)


def test_a_protected_statement_is_read_with_its_password_alone() -> None:
    wanted = known(1, rows=20, password="8675309")  # noqa: S106 - of nobody
    content = wanted.mpesa_pdf()
    statement = read_statement(content, NAMES, PLACE, password="8675309")  # noqa: S106
    assert facts(statement.entries) == facts(wanted.entries)
    assert {one.verdict for one in statement.checks} == {Verdict.PASS}
    with pytest.raises(PasswordNeeded, match="protected") as refused:
        read_statement(content, NAMES, PLACE)
    assert "password" in str(refused.value.hint)
    with pytest.raises(PasswordNeeded, match="does not open"):
        read_statement(content, NAMES, PLACE, password="8675308")  # noqa: S106


def test_the_same_statement_gives_the_same_bytes() -> None:
    wanted = known(2, rows=20)
    assert wanted.mpesa_pdf() == wanted.mpesa_pdf()
    assert wanted.mtn_pdf() == wanted.mtn_pdf()


def test_rows_that_cannot_be_read_are_named_by_page_and_row_and_never_guessed() -> None:
    wanted = known(3, rows=60)
    lines = wanted.mpesa()
    lines[3] = lines[3]._replace(receipt="???")
    lines[40] = lines[40]._replace(status="Perhaps")
    statement = read_pdf(draw_mpesa(wanted.sheet, lines), NAMES)
    assert statement.rows == len(lines)
    assert [row.row for row in statement.unread] == [4, 41]
    assert statement.unread[0].reason == "page 1, row 4: what stands under 'receipt' cannot be read"
    verdicts = {one.name: one.verdict for one in check(statement, wanted.sheet.made_on, PLACE)}
    assert verdicts["rows_read"] is Verdict.FAIL


def test_a_pdf_without_a_known_table_says_what_can_be_sent() -> None:
    wanted = known(4, rows=5, legs=2)
    assert read_pdf(draw_mtn(wanted.sheet, []), NAMES).rows == 0
    into = io.BytesIO()
    letter = Canvas(into, invariant=1)
    letter.drawString(50, 700, "Dear Sir or Madam, my balance and my details are withdrawn")
    letter.save()
    with pytest.raises(StatementUnreadable, match="no table") as refused:
        read_pdf(into.getvalue(), NAMES)
    assert "CSV" in str(refused.value.hint)


def test_cells_that_stand_around_the_middle_of_their_row_are_put_together() -> None:
    into = io.BytesIO()
    page = Canvas(into, invariant=1)
    page.setFont("Helvetica", 7)
    columns = {"Receipt No.": 30, "Completion Time": 90, "Details": 170, "Transaction Status": 300}
    for name, x in (columns | {"Paid In": 400, "Withdrawn": 460, "Balance": 520}).items():
        page.drawString(x, 800, name)
    for row, details in enumerate((["Funds received from", "2547***1 - A B"], ["Airtime"])):
        y = 770 - 30 * row
        told = {30: f"UHV1AAAAA{row}", 300: "Completed", 400: "5.00", 520: "9.00"}
        for x, text in told.items():
            page.drawString(x, y, text)
        for x, lines in ((90, [f"2026-08-0{3 - row}", "10:00:00"]), (170, details)):
            for place, text in enumerate(lines):
                page.drawString(x, y + 4 * (len(lines) - 1) - 8 * place, text)
    page.save()
    rows = read_document(into.getvalue()).rows
    assert [row.cells[:3] for row in rows] == [
        ["UHV1AAAAA0", "2026-08-03 10:00:00", "Funds received from 2547***1 - A B"],
        ["UHV1AAAAA1", "2026-08-02 10:00:00", "Airtime"],
    ]
