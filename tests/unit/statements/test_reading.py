"""Files of every format become one ledger, whatever wrote them; what is none is refused."""

from __future__ import annotations

import dataclasses
import io
import tracemalloc
import zipfile
from datetime import date

import openpyxl
import pytest

from alama.statements import tables
from alama.statements.cells import DayOrder
from alama.statements.checks import check, is_doubtful
from alama.statements.formulas import derive
from alama.statements.ledger import Kind, Pseudonyms, Statement, Status, Unread, Verdict
from alama.statements.places import place_of
from alama.statements.problems import MappingNeeded, StatementUnreadable
from alama.statements.reading import merged, read_statement
from alama.statements.tables import Columns

NAMES = Pseudonyms(b"k" * 32)
KENYA = place_of("KE")
AS_OF = date(2026, 9, 10)

MPESA = """\
M-PESA STATEMENT,
Customer Name,JANE WANJIKU
Statement Period,01 Jul 2026 - 31 Aug 2026
Request Date,02 Sep 2026
SUMMARY,PAID IN,PAID OUT
TOTAL:,"1,550.00","1,150.00"

Receipt No.,Completion Time,Details,Transaction Status,Paid In,Withdrawn,Balance
UHV1AAAAA5,2026-08-31 18:00:00,Airtime Purchase,Completed,,-50.00,400.00
UHV1AAAAA4,2026-08-20 09:30:00,OverDraft of Credit Party,Completed,50.00,,0.00
UHV1AAAAA4,2026-08-20 09:30:00,Pay Bill to 888880 - KPLC Acc. 77,Completed,,-590.00,0.00
UHV1AAAAA4,2026-08-20 09:30:00,Pay Bill Charge,Completed,,-10.00,0.00
UHV1AAAAA6,2026-08-25 10:00:00,Funds received from 2547***1 - A B,Completed,500.00,,500.00
"""
# Newest first but for one row: a statement in which somebody has pasted.


def read(text: str | bytes, columns: Columns | None = None) -> Statement:
    content = text.encode() if isinstance(text, str) else text
    return read_statement(content, NAMES, KENYA, columns)


def mpesa(*rows: str) -> str:
    header = "Receipt No.,Completion Time,Details,Transaction Status,Paid In,Withdrawn,Balance"
    return "\n".join([header, *rows])


IN = "UHV1AAAAA1,2026-08-01 10:00:00,Funds received from 2547***1 - A B,Completed,1000.00,,1000.00"
OUT = "UHV1AAAAA2,2026-08-02 10:00:00,Pay Bill to 1 - KPLC Acc. 7,Completed,,-400.00,600.00"
FEE = "UHV1AAAAA2,2026-08-02 10:00:00,Pay Bill Charge,Completed,,-10.00,590.00"
BAD = "UHV1AAAAA3,2026-08-03 10:00:00,Buy Bundles,Completed,,ten,580.00"


def verdicts(statement: Statement, holder: str | None = None) -> dict[str, Verdict]:
    found = check(statement, AS_OF, KENYA, names=NAMES, holder=holder)
    return {one.name: one.verdict for one in found}


def test_mpesa_is_read_with_what_it_says_of_itself() -> None:
    statement = read(MPESA)
    declared = statement.declared
    assert statement.format == "mpesa_csv"
    assert (declared.first_day, declared.last_day) == (date(2026, 7, 1), date(2026, 8, 31))
    assert declared.made_on == date(2026, 9, 2)
    assert (declared.paid_in, declared.paid_out) == (1550_00, 1150_00)
    assert declared.holder == NAMES.holder("Wanjiku, Jane")
    assert statement.rows == 5
    assert [entry.kind for entry in statement.entries if entry.group == "UHV1AAAAA4"] == [
        Kind.CHARGE,
        Kind.BILL_OUT,
        Kind.OVERDRAFT_IN,
    ]


def test_rows_out_of_order_and_totals_that_are_not_theirs_are_found() -> None:
    said = verdicts(read(MPESA))
    assert said["dates"] is Verdict.FAIL
    assert said["totals"] is Verdict.FAIL


def test_a_statement_that_holds_together_passes_with_its_holder() -> None:
    text = f"Customer Name,Jane Doe\n{mpesa(FEE, OUT, IN)}"
    said = verdicts(read(text), "DOE JANE")
    assert said.pop("totals") is Verdict.CANNOT_TELL
    assert set(said.values()) == {Verdict.PASS}
    assert verdicts(read(text), "John Roe")["holder"] is Verdict.FAIL
    assert verdicts(read(text), "Jane Doe Kamau")["holder"] is Verdict.CANNOT_TELL


@pytest.mark.parametrize(
    ("rows", "name"),
    [
        ((FEE, OUT.replace("400", "300"), IN), "balances"),
        ((FEE, IN), "balances"),
        ((FEE, OUT, IN.replace("08-01", "08-05")), "balances"),
        ((FEE.replace("UHV1AAAAA2", "UHV1AAAA"), OUT, IN), "receipts"),
        ((FEE, OUT.replace("AAAAA2", "AAAAA1"), IN), "receipts"),
        ((FEE.replace("08-02", "10-02"), OUT, IN), "dates"),
        ((BAD, FEE, OUT, IN), "rows_read"),
    ],
)
def test_tampering_leaves_a_trace_in_figures(rows: tuple[str, ...], name: str) -> None:
    statement = read(mpesa(*rows))
    assert verdicts(statement)[name] is Verdict.FAIL
    assert is_doubtful(check(statement, AS_OF, KENYA))


def test_a_row_that_cannot_be_read_is_named_and_nothing_of_it_is_said() -> None:
    statement = read(mpesa(BAD, OUT, IN))
    assert statement.unread == (Unread(2, "is no amount of money"),)
    assert statement.rows == 3


def test_failed_rows_move_nothing() -> None:
    statement = read(mpesa(OUT.replace("Completed", "Failed"), IN))
    assert [entry.status for entry in statement.entries] == [Status.COMPLETED, Status.FAILED]


def test_the_two_halves_of_a_statement_are_the_statement_and_rows_of_both_count_once() -> None:
    whole = read(mpesa(FEE, OUT, IN))
    halves = merged([read(mpesa(FEE, OUT)), read(mpesa(OUT, IN))])
    assert {entry.id for entry in halves.entries} == {entry.id for entry in whole.entries}
    fields = [derive(one.entries, one.declared, AS_OF, KENYA) for one in (whole, halves)]
    assert fields[0] == fields[1]


MTN = """\
Date & Time,Type,Description,ID,From,To,Amount,Fees,Taxes,Balance
03/08/202612:30:00,Cash In,Deposit,40000001,Agent 5,Me,"100,000",0,0,"100,000"
04/08/202609:00:00,Transfer,Rent,40000002,Me,John,"40,000","1,000",200,"58,800"
05/08/202609:00:00,Airtime,Airtime,40000003,Me,MTN,"5,000",0,0,"53,800"
"""


def test_mtn_tells_the_direction_by_its_balances_and_fees_are_legs() -> None:
    statement = read(MTN)
    assert (statement.format, statement.rows, statement.unread) == ("mtn_csv", 3, ())
    assert [(entry.kind, entry.signed) for entry in statement.entries] == [
        (Kind.AGENT_IN, 100_000_00),
        (Kind.PERSON_OUT, -40_000_00),
        (Kind.CHARGE, -1_000_00),
        (Kind.CHARGE, -200_00),
        (Kind.AIRTIME_OUT, -5_000_00),
    ]
    assert verdicts(statement)["balances"] is Verdict.PASS


ORANGE = """\
Relevé;Orange Money
Titulaire;Awa Diop
Période;01/08/2026 - 31/08/2026
Devise;XOF
Solde initial;1000
Solde final;15 500,00

N°;Référence;Débit;Crédit;Date;Service;Statut
1;CI26.1;;20 000,00;03/08/2026 12:00:00;Dépôt agent;Succès
2;PP26.2;5 000;;04/08/2026 13:00:00;Transfert à 07***1;Succès
3;PP26.3;500;;05/08/2026 13:00:00;Achat crédit;Succès
4;PP26.4;700;;06/08/2026 13:00:00;Retrait;Échec
"""


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
def test_orange_is_read_in_any_encoding_and_has_balances_that_follow(encoding: str) -> None:
    statement = read(ORANGE.encode(encoding))
    assert statement.currency == "XOF"
    assert [entry.balance_after for entry in statement.entries] == [
        21_000_00,
        16_000_00,
        15_500_00,
        15_500_00,
    ]
    assert statement.entries[-1].status is Status.FAILED
    assert verdicts(statement)["totals"] is Verdict.PASS


GSMA = b"""{"account": {"msisdn": "+2337001"}, "currency": "GHS", "openingBalance": "10.00",
 "closingBalance": "94.00", "fromDate": "2026-08-01", "toDate": "2026-08-31", "transactions": [
 {"transactionReference": "a1", "creationDate": "2026-08-03T10:00:00Z", "amount": "100.00",
  "currency": "GHS", "type": "deposit", "transactionStatus": "completed",
  "creditParty": [{"key": "msisdn", "value": "+2337001"}],
  "debitParty": [{"key": "organisationid", "value": "agent-9"}]},
 {"transactionReference": "a2", "creationDate": "2026-08-04T10:00:00Z", "amount": 15.5,
  "currency": "GHS", "type": "transfer", "transactionStatus": "completed",
  "fees": [{"feeType": "f", "feeAmount": "0.50", "feeCurrency": "GHS"}],
  "debitParty": [{"key": "msisdn", "value": "+2337001"}],
  "creditParty": [{"key": "msisdn", "value": "+2337999"}]}]}"""


def test_gsma_transactions_are_read_with_their_fees() -> None:
    statement = read(GSMA)
    assert [(entry.kind, entry.signed, entry.balance_after) for entry in statement.entries] == [
        (Kind.AGENT_IN, 100_00, 110_00),
        (Kind.PERSON_OUT, -15_50, 94_50),
        (Kind.CHARGE, -50, 94_00),
    ]
    assert verdicts(statement)["totals"] is Verdict.PASS


CAMT = b"""<?xml version="1.0"?>
<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.02"><BkToCstmrStmt>
<GrpHdr><CreDtTm>2026-09-01T06:00:00+03:00</CreDtTm></GrpHdr>
<Stmt><FrToDt><FrDtTm>2026-08-01T00:00:00+03:00</FrDtTm><ToDtTm>2026-08-31T23:59:59+03:00</ToDtTm>
</FrToDt><Acct><Ccy>KES</Ccy><Ownr><Nm>Jane Doe</Nm></Ownr></Acct>
<Bal><Tp><CdOrPrtry><Cd>OPBD</Cd></CdOrPrtry></Tp><Amt Ccy="KES">100.00</Amt>
<CdtDbtInd>CRDT</CdtDbtInd></Bal>
<Bal><Tp><CdOrPrtry><Cd>CLBD</Cd></CdOrPrtry></Tp><Amt Ccy="KES">50070.00</Amt>
<CdtDbtInd>CRDT</CdtDbtInd></Bal>
<Ntry><Amt Ccy="KES">50000</Amt><CdtDbtInd>CRDT</CdtDbtInd><Sts>BOOK</Sts>
<BookgDt><Dt>2026-08-28</Dt></BookgDt><AcctSvcrRef>R1</AcctSvcrRef>
<BkTxCd><Domn><Cd>PMNT</Cd><Fmly><Cd>RCDT</Cd><SubFmlyCd>SALA</SubFmlyCd></Fmly></Domn></BkTxCd>
<NtryDtls><TxDtls><RltdPties><Dbtr><Nm>Works Ltd</Nm></Dbtr></RltdPties></TxDtls></NtryDtls></Ntry>
<Ntry><Amt Ccy="KES">30.00</Amt><CdtDbtInd>DBIT</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts>
<BookgDt><DtTm>2026-08-29T10:00:00</DtTm></BookgDt><AcctSvcrRef>R2</AcctSvcrRef>
<AddtlNtryInf>Monthly fee</AddtlNtryInf></Ntry></Stmt></BkToCstmrStmt></Document>"""


def test_camt_is_read_with_its_balances_and_codes() -> None:
    statement = read(CAMT)
    assert [(entry.kind, entry.balance_after) for entry in statement.entries] == [
        (Kind.SALARY_IN, 50_100_00),
        (Kind.CHARGE, 50_070_00),
    ]
    assert statement.declared.holder == NAMES.holder("jane doe")
    assert verdicts(statement)["totals"] is Verdict.PASS


@pytest.mark.parametrize(
    "content",
    [
        b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>',
        b'<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>',
        b"<a>" * 1000,
        b"<a><b></a>",
        b"<a/>",
        b"",
        b"\xef\xbb\xbf  ",
        b"\x00\x01\x02",
        b"PK\x03\x04 no book",
        b"[" * 100_000,
        b'{"transactions": 7}',
        b"{",
        b'[{"transactionReference": 7}, 3, null]',
        b"%PDF-1.4 nothing",
        b'"never closed',
    ],
)
def test_what_is_no_statement_is_refused_or_read_as_nothing(content: bytes) -> None:
    try:
        statement = read(content)
    except (StatementUnreadable, MappingNeeded):
        return
    assert not statement.entries


def generic(order: str) -> str:
    return f"Posted;Money;What\n{order};1.234,50;Rent received\n{order};-34,50;Airtime\n"


@pytest.mark.parametrize(
    "columns",
    [
        Columns(at="Day"),
        Columns(at="Day", balance="Left"),
        Columns(at="Day", direction="In"),
        Columns(at="Day", paid_in="In"),
        Columns(at="Day", paid_out="Out"),
    ],
)
def test_a_mapping_that_tells_no_amounts_both_ways_reads_no_row(columns: Columns) -> None:
    table = b"Day,In,Out,Left\n2026-04-03,5.00,,5.00\n2026-04-04,,2.00,3.00\n"
    with pytest.raises(MappingNeeded, match="does not tell what came and what went"):
        read(table, columns)


def test_a_mapping_says_what_columns_are_and_how_cells_are_written() -> None:
    columns = Columns(at="Posted", amount="Money", details="What", decimal=",", currency="TZS")
    statement = read(generic("25/08/2026"), columns)
    assert [(entry.signed, entry.at.date()) for entry in statement.entries] == [
        (1_234_50, date(2026, 8, 25)),
        (-34_50, date(2026, 8, 25)),
    ]
    with pytest.raises(MappingNeeded, match="day and month"):
        read(generic("05/08/2026"), columns)
    with pytest.raises(MappingNeeded):
        read(generic("25/08/2026"))


def test_a_spreadsheet_is_read_as_a_table_is() -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (
        ["Date", "Description", "Debit", "Credit", "Balance"],
        ["2026-08-01 10:00:00", "Salary", None, 1500, 1500],
        ["2026-08-02 10:00:00", "Electricity", 400.5, None, 1099.5],
    ):
        sheet.append(row)
    packed = io.BytesIO()
    book.save(packed)
    statement = read(packed.getvalue())
    assert [(entry.kind, entry.balance_after) for entry in statement.entries] == [
        (Kind.SALARY_IN, 1500_00),
        (Kind.BILL_OUT, 1099_50),
    ]


def test_own_transactions_are_read_as_they_are_told() -> None:
    told = b"""{"currency": "UGX", "transactions": [
      {"id": "1", "at": "2026-08-01T08:00:00+03:00", "amount": 500, "direction": "in",
       "kind": "salary_in", "counterparty": "works", "balance_after": "500.00"},
      {"id": "2", "at": "2026-08-01T09:00:00+03:00", "amount": "20.5", "direction": "out",
       "details": "airtime", "group": "g"},
      {"id": "3", "at": "2026-08-01T09:00:00+03:00", "amount": -1, "direction": "out"},
      {"id": "4", "at": "soon", "amount": 1, "direction": "out"},
      {"id": "5", "at": "2026-08-01T09:00:00+03:00", "amount": 1, "direction": "up"}]}"""
    statement = read(told)
    assert [entry.kind for entry in statement.entries] == [Kind.SALARY_IN, Kind.AIRTIME_OUT]
    assert [row.row for row in statement.unread] == [3, 4, 5]


def table(*rows: str, header: str = "Date,Details,Amount") -> str:
    return "\n".join([header, *rows])


@pytest.mark.parametrize(
    "amount",
    ["1.0E7", "1E5", "2.5K", "1.2m", "12abc34", "100 OD", "5 lakh", "12 34", "-5 Dr", "7 %"],
)
def test_an_amount_that_may_mean_another_is_not_read(amount: str) -> None:
    statement = read(table(f"2026-08-03,Pay,{amount}"))
    assert [row.row for row in statement.unread] == [2]
    assert verdicts(statement)["rows_read"] is Verdict.FAIL


@pytest.mark.parametrize("amounts", [("1.500", "20.000"), ("1,500", "800"), ("1,500",)])
def test_a_mark_that_may_be_of_decimals_or_of_thousands_is_asked_for(amounts: tuple[str]) -> None:
    told = table(*(f"2026-08-03;Pay;{one}" for one in amounts), header="Date;Details;Amount")
    with pytest.raises(MappingNeeded, match="more than a thousand"):
        read(told)
    whole = read(told, Columns(at="Date", amount="Amount", decimal="," if "." in told else "."))
    assert whole.entries[0].amount == int(amounts[0].replace(".", "").replace(",", "")) * 100
    settled = read(told.replace("Details", "Balance").replace(";Pay;", ";7,50;"))
    assert settled.entries[0].amount == (1_500_00 if "." in told else 1_50)


@pytest.mark.parametrize(
    "total",
    ["Total,2026-08-31,,1500.00", "TOTAL:,,,1500.00", ",,Total,1500.00", "Sub-total,31,Pay,5.00"],
)
def test_totals_below_a_table_are_no_transactions(total: str) -> None:
    header = "Reference,Date,Details,Amount"
    statement = read(table("A1,2026-08-03,Pay,1500.00", total, header=header))
    assert (statement.rows, len(statement.entries), statement.unread) == (1, 1, ())


def test_a_total_with_a_day_and_no_id_is_named_as_one() -> None:
    statement = read(table("2026-08-03,Pay,1500.00", "2026-08-31,Total,1500.00"))
    assert (len(statement.entries), [row.row for row in statement.unread]) == (1, [3])


def test_a_purchase_at_total_is_one() -> None:
    header = "Date,Details,Amount,Balance"
    statement = read(table("2026-08-03,Total Energies,-15.00,85.00", header=header))
    assert [entry.signed for entry in statement.entries] == [-15_00]


@pytest.mark.parametrize(("told", "year"), [("13/04/26", 2026), ("13/04/99", 1999)])
def test_a_year_of_two_figures_is_none_to_come(told: str, year: int) -> None:
    statement = read(table(f"{told},Pay,5.00"))
    assert [entry.at.year for entry in statement.entries] == [year]


def test_a_year_of_two_figures_that_may_stand_in_front_is_asked_for() -> None:
    with pytest.raises(MappingNeeded, match="day and month"):
        read(table("26-08-30,Pay,5.00"))
    assert read(table("00-08-30,Pay,5.00")).entries[0].at.date() == date(2000, 8, 30)


def test_a_year_of_two_figures_that_is_yet_to_come_is_not_read() -> None:
    content = table("13/04/45,Pay,5.00").encode()
    statement = read_statement(content, NAMES, KENYA, until=date(2026, 9, 1))
    assert [row.reason for row in statement.unread] == [
        "has a year of two figures that is yet to come"
    ]


def test_days_of_a_wallet_that_a_spreadsheet_wrote_anew_are_asked_for() -> None:
    told = mpesa(OUT, IN).replace("2026-08-02", "02/08/2026").replace("2026-08-01", "01/08/2026")
    with pytest.raises(MappingNeeded, match="day and month"):
        read(told)
    answered = read(told, Columns(at="Completion Time", dates=DayOrder.DAY_FIRST))
    assert answered.entries == read(mpesa(OUT, IN)).entries
    assert read(told.replace("02/08", "13/08")).entries[-1].at.day == 13


def test_amounts_in_another_currency_are_refused() -> None:
    with pytest.raises(StatementUnreadable, match="another currency"):
        read(mpesa(IN.replace(",1000.00,,", ",USD 1000.00,,")))
    told = table("2026-08-03,Pay,UGX 5000", "2026-08-04,Pay,UGX 70")
    assert read(told).currency == "UGX"


def test_a_debit_behind_an_amount_is_money_that_went() -> None:
    statement = read(table("2026-08-03,Pay,500.00 Dr", "2026-08-04,Pay,KSh 70.00 CR"))
    assert [entry.signed for entry in statement.entries] == [-500_00, 70_00]


def test_words_that_tell_no_direction_are_not_taken_for_money_that_went() -> None:
    told = table("2026-08-03,Deposit,500.00", "2026-08-04,Cr,70.00", header="Date,Type,Amount")
    statement = read(told)
    assert [entry.signed for entry in statement.entries] == [70_00]
    assert [row.row for row in statement.unread] == [2]


def test_a_row_wider_than_the_names_of_columns_is_not_read() -> None:
    statement = read(table("2026-08-03,Pay,1,234.00", "2026-08-04,Pay,70.00"))
    assert [row.row for row in statement.unread] == [2]
    assert [entry.amount for entry in statement.entries] == [70_00]


@pytest.mark.parametrize(
    ("told", "kind"),
    [
        (table("2026-08-03,100,7", header="Date,Amount,Amount"), MappingNeeded),
        (table("2026-08-03,Pay,5", '2026-08-04,"Pay,5', "2026-08-05,Pay,5"), StatementUnreadable),
    ],
)
def test_a_table_that_could_be_read_wrong_is_refused(
    told: str, kind: type[StatementUnreadable | MappingNeeded]
) -> None:
    with pytest.raises(kind):
        read(told)


def workbook(*sheets: list[list[object]]) -> bytes:
    book = openpyxl.Workbook(write_only=True)
    for rows in sheets:
        sheet = book.create_sheet()
        for row in rows:
            sheet.append(row)
    written = io.BytesIO()
    book.save(written)
    return written.getvalue()


def test_a_workbook_with_a_sheet_for_each_month_is_not_read_in_part() -> None:
    names: list[object] = ["Date", "Details", "Amount"]
    with pytest.raises(StatementUnreadable, match="several sheets"):
        read(workbook([names, ["2026-07-03", "Pay", 5]], [names, ["2026-08-03", "Pay", 5]]))


def test_a_workbook_of_few_bytes_takes_no_room_for_cells_that_it_only_claims(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    few = dataclasses.replace(tables.LIMITS, cells=2_000)
    monkeypatch.setattr(tables, "LIMITS", few)
    far: list[list[object]] = [[*[None] * 3_000, 1] for _ in range(5)]
    with pytest.raises(StatementUnreadable, match="cells"):
        read(workbook(far))


def test_what_a_sheet_says_of_its_own_size_hides_no_row() -> None:
    rows: list[list[object]] = [[f"2026-08-{day:02}", "Pay", day] for day in range(1, 9)]
    source = zipfile.ZipFile(io.BytesIO(workbook([["Date", "Details", "Amount"], *rows])))
    changed = io.BytesIO()
    with zipfile.ZipFile(changed, "w") as target:
        for part in source.namelist():
            content = source.read(part)
            if part.startswith("xl/worksheets/"):
                content = content.replace(b"<sheetData>", b'<dimension ref="A1:C3"/><sheetData>')
            target.writestr(part, content)
    assert read(changed.getvalue()).rows == 8


BOOKED = (
    '<Ntry><Amt Ccy="{}">100.00</Amt><CdtDbtInd>CRDT</CdtDbtInd><BookgDt><Dt>2026-08-03</Dt>'
    "</BookgDt><NtryDtls><TxDtls><AmtDtls><InstdAmt>"
    '<Amt Ccy="KES">12900</Amt></InstdAmt></AmtDtls></TxDtls></NtryDtls></Ntry>'
)


def account(*currencies: str) -> str:
    entries = "".join(BOOKED.format(one) for one in currencies)
    return f"<Document><BkToCstmrStmt><Stmt>{entries}</Stmt></BkToCstmrStmt></Document>"


def test_the_currency_of_an_account_is_that_of_its_entries() -> None:
    assert read(account("USD")).currency == "USD"
    with pytest.raises(StatementUnreadable, match="several currencies"):
        read(account("USD", "KES"))


def accounts(*numbers: str) -> str:
    parts = "".join(
        f"<Stmt><Acct><Id><IBAN>{one}</IBAN></Id></Acct>{BOOKED.format('KES')}</Stmt>"
        for one in numbers
    )
    return f"<Document><BkToCstmrStmt>{parts}</BkToCstmrStmt></Document>"


def test_statements_of_several_accounts_are_never_mixed() -> None:
    assert len(read(accounts("KE1", "KE1")).entries) == 2
    for mixed in (("KE1", "KE2"), ("KE1", ""), ("", "")):
        with pytest.raises(StatementUnreadable, match="several accounts"):
            read(accounts(*mixed))


@pytest.mark.parametrize(
    "content",
    [
        b"<a>" + b"<b/>" * 1_000_000 + b"</a>",
        b"<a>" + b"x" * 15_000_000 + b"</a>",
        b"[" + b"[]," * 2_000_000 + b"[]]",
        b'{"a":' * 400_000 + b"1" + b"}" * 400_000,
        b"Date,Details,Amount\n" + b"," * 16_000_000,
        b"Date,Details,Amount\n2026-08-03," + b"x" * 16_000_000 + b",5",
        b"Date,Details,Amount\n2026-08-03,Pay," + b" 1" * 60_000,
    ],
    ids=["elements", "text", "lists", "deep", "columns", "cell", "figures"],
)
def test_what_is_far_too_much_costs_little_memory(content: bytes) -> None:
    tracemalloc.start()
    try:
        statement = read(content)
        assert len(statement.unread) == statement.rows
    except StatementUnreadable:
        pass
    finally:
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert most < 150 << 20


def test_figures_of_json_are_read_however_a_language_puts_them() -> None:
    row = '{"at": "2026-08-03", "direction": "in", "amount": 1.25E7}'
    assert [entry.amount for entry in read(f"[{row}]").entries] == [1_250_000_000]


@pytest.mark.parametrize("at", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00"])
def test_a_day_that_is_none_of_our_time_is_not_read(at: str) -> None:
    statement = read(f'[{{"at": "{at}", "direction": "in", "amount": 1}}]')
    assert [row.reason for row in statement.unread] == ["is no day of our time"]
