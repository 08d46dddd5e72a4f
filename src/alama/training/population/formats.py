"""Statements of synthetic wallets, in every format that `statements` reads and that is no PDF."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Final, NamedTuple
from xml.sax.saxutils import escape

from alama.training.population.printed import mpesa_lines, mtn_lines, party_of, receipt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from alama.training.population.ledgers import Ledger, Leg

HOLDER: Final = "AMINA OTIENO"
"""Of every wallet."""


class Format(NamedTuple):
    """How a statement is written; `currency` is what it is always in."""

    name: str
    suffix: str
    write: Callable[[Ledger], bytes]
    currency: str | None = None
    tells_failed: bool = True
    """Whether payments that failed are in it."""


_MPESA: Final = (
    "Receipt No.",
    "Completion Time",
    "Details",
    "Transaction Status",
    "Paid In",
    "Withdrawn",
    "Balance",
)
_MTN: Final = (
    "Date & Time",
    "Type",
    "Description",
    "ID",
    "From",
    "To",
    "Amount",
    "Fees",
    "Taxes",
    "Balance",
)


def mpesa_csv(ledger: Ledger) -> bytes:
    """Write M-PESA's seven columns, newest first."""
    head = [
        ("Customer Name", HOLDER),
        ("Statement Period", f"{ledger.opened_on:%d %b %Y} - {ledger.last_day:%d %b %Y}"),
        ("Request Date", f"{ledger.applied_on:%d %b %Y}"),
        (),
        _MPESA,
    ]
    rows = (
        (
            line.receipt,
            f"{line.at:%Y-%m-%d %H:%M:%S}",
            line.details,
            line.status,
            _money(line.signed) if line.signed > 0 else "",
            _money(line.signed) if line.signed < 0 else "",
            _money(line.balance),
        )
        for line in mpesa_lines(ledger.legs, 0, ledger.number)
    )
    return _csv([*head, *rows])


def mtn_csv(ledger: Ledger) -> bytes:
    """Write MTN's ten columns, newest first; costs stand beside what caused them."""
    head = [
        ("Account Holder", HOLDER),
        ("Period", f"{ledger.opened_on:%d-%m-%Y} to {ledger.last_day:%d-%m-%Y}"),
        ("Statement Date", f"{ledger.applied_on:%d-%m-%Y}"),
        ("Opening Balance", _money(0)),
        ("Closing Balance", _money(ledger.closing)),
        _MTN,
    ]
    rows = (
        (
            f"{line.at:%d-%m-%Y%H:%M:%S}",
            line.type,
            line.description,
            line.id,
            line.payer,
            line.payee,
            *(f"{one / 100:,.2f}" for one in (line.amount, line.fees, line.taxes, line.balance)),
        )
        for line in mtn_lines(ledger.legs, 0, HOLDER, ledger.number)
    )
    return _csv([*head, *rows])


_ORANGE: Final = {
    "person_in": "Transfert de",
    "person_out": "Transfert à",
    "merchant_in": "Paiement marchand de",
    "merchant_out": "Paiement marchand à",
    "bill_out": "Facture de",
    "bank_in": "Virement bancaire de",
    "bank_out": "Virement bancaire à",
    "salary_in": "Salaire de",
    "agent_in": "Dépôt agent",
    "agent_out": "Retrait agent",
    "airtime_out": "Achat crédit",
    "data_out": "Achat pass internet",
    "savings_in": "Épargne",
    "savings_out": "Épargne",
    "loan_in": "Prêt de",
    "loan_out": "Remboursement à",
    "overdraft_in": "Overdraft",
    "overdraft_out": "Overdraft",
    "betting_in": "Gain de",
    "betting_out": "Paiement à",
    "charge": "Frais",
    "reversal": "Annulation",
}


def orange_csv(ledger: Ledger) -> bytes:
    """Write Orange Money's table, oldest first; figures as in French, and no balances."""
    head = [
        ("Relevé", "Orange Money"),
        ("Titulaire", HOLDER),
        ("Période", f"{ledger.opened_on:%d/%m/%Y} - {ledger.last_day:%d/%m/%Y}"),
        ("Devise", ledger.currency),
        ("Solde initial", "0"),
        ("Solde final", _french(ledger.closing)),
        (),
        ("N°", "Référence", "Débit", "Crédit", "Date", "Service", "Statut"),
    ]
    rows = (
        (
            str(number),
            receipt(leg, ledger.number),
            _french(leg.amount) if leg.direction == "out" else "",
            _french(leg.amount) if leg.direction == "in" else "",
            f"{leg.at:%d/%m/%Y %H:%M:%S}",
            f"{_ORANGE[leg.kind]} {_name(leg)}".strip(),
            "Échec" if leg.status == "failed" else "Succès",
        )
        for number, leg in enumerate(ledger.legs, start=1)
    )
    return _csv([*head, *rows], ";")


_GSMA: Final = {
    "bill": "billpay",
    "merchant": "merchantpay",
    "agent_in": "deposit",
    "agent_out": "withdrawal",
    "reversal": "reversal",
}
_WALLET: Final = "+254700000000"


def gsma_json(ledger: Ledger) -> bytes:
    """Write transactions of GSMA Mobile Money 1.2; the sub-type says the kind."""
    told = {
        "account": {"msisdn": _WALLET},
        "holder": HOLDER,
        "currency": ledger.currency,
        "opened_on": str(ledger.opened_on),
        "fromDate": str(ledger.opened_on),
        "toDate": str(ledger.last_day),
        "createdDate": str(ledger.applied_on),
        "openingBalance": _money(0),
        "closingBalance": _money(ledger.closing),
        "transactions": [_gsma(leg, ledger) for leg in ledger.legs],
    }
    return json.dumps(told, ensure_ascii=False, indent=1).encode()


def _gsma(leg: Leg, ledger: Ledger) -> dict[str, object]:
    own = [{"key": "msisdn", "value": _WALLET}]
    name = _name(leg)
    other = [{"key": "accountid", "value": name}] if name else []
    came = leg.direction == "in"
    told: dict[str, object] = {
        "transactionReference": leg.id,
        "requestingOrganisationTransactionReference": leg.group,
        "transactionStatus": leg.status,
        "amount": _money(leg.amount),
        "currency": ledger.currency,
        "type": _GSMA.get(leg.kind, _GSMA.get(leg.kind.partition("_")[0], "transfer")),
        "subType": leg.kind,
        "creationDate": f"{leg.at:%Y-%m-%dT%H:%M:%S}",
        "creditParty": own if came else other,
        "debitParty": other if came else own,
    }
    if leg.reverses is not None:
        told["originalTransactionReference"] = leg.reverses
    return told


_WORDS: Final = {
    "person_in": "Money received",
    "person_out": "Money sent",
    "merchant_in": "Merchant receipt",
    "merchant_out": "Card payment",
    "bill_out": "Bill payment",
    "bank_in": "Credit advice",
    "bank_out": "Debit advice",
    "salary_in": "Salary",
    "agent_in": "Cash deposit",
    "agent_out": "Cash withdrawal",
    "airtime_out": "Airtime",
    "data_out": "Data bundle",
    "savings_in": "Savings withdrawn",
    "savings_out": "Savings plan",
    "loan_in": "Loan disbursement",
    "loan_out": "Loan instalment",
    "overdraft_in": "Overdraft drawn",
    "overdraft_out": "Overdraft repaid",
    "betting_in": "Sportpesa prize",
    "betting_out": "Sportpesa stake",
    "charge": "Transaction charge",
    "reversal": "Reversal",
}
"""What a bank writes of each kind."""

_FAMILIES: Final = {"person_in": "RCDT", "person_out": "ICDT", "bank_in": "RCDT"}
_SUB_FAMILIES: Final = {"salary_in": "SALA", "agent_out": "CWDL", "charge": "CHRG"}


def camt053(ledger: Ledger) -> bytes:
    """Write a statement of an account by ISO 20022; a payment that failed was never booked."""
    booked = [leg for leg in ledger.legs if leg.status == "completed"]
    sums = {
        side: sum(leg.amount for leg in booked if leg.direction == way)
        for side, way in (("TtlCdtNtries", "in"), ("TtlDbtNtries", "out"))
    }
    parts = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt><Stmt>',
        f"<CreDtTm>{ledger.applied_on}T06:00:00</CreDtTm>",
        f"<FrToDt><FrDtTm>{ledger.opened_on}T00:00:00</FrDtTm>",
        f"<ToDtTm>{ledger.last_day}T23:59:59</ToDtTm></FrToDt>",
        f"<Acct><Ownr><Nm>{HOLDER}</Nm></Ownr></Acct>",
        *(
            f"<Bal><Tp><CdOrPrtry><Cd>{code}</Cd></CdOrPrtry></Tp>"
            f"{_amount(balance, ledger)}<CdtDbtInd>CRDT</CdtDbtInd></Bal>"
            for code, balance in (("OPBD", 0), ("CLBD", ledger.closing))
        ),
        "<TxsSummry>",
        *(f"<{side}><Sum>{_money(total)}</Sum></{side}>" for side, total in sums.items()),
        "</TxsSummry>",
        *(_entry(leg, ledger) for leg in booked),
        "</Stmt></BkToCstmrStmt></Document>",
    ]
    return "\n".join(parts).encode()


def _entry(leg: Leg, ledger: Ledger) -> str:
    side, party = ("CRDT", "Dbtr") if leg.direction == "in" else ("DBIT", "Cdtr")
    codes = ((_FAMILIES, "Cd"), (_SUB_FAMILIES, "SubFmlyCd"))
    told = "".join(f"<{tag}>{of[leg.kind]}</{tag}>" for of, tag in codes if leg.kind in of)
    name = _name(leg)
    parties = f"<RltdPties><{party}><Nm>{escape(name)}</Nm></{party}></RltdPties>" if name else ""
    turned = "<RvslInd>true</RvslInd>" if leg.kind == "reversal" else ""
    return (
        f"<Ntry>{_amount(leg.amount, ledger)}<CdtDbtInd>{side}</CdtDbtInd>{turned}"
        f"<Sts><Cd>BOOK</Cd></Sts><BookgDt><DtTm>{leg.at:%Y-%m-%dT%H:%M:%S}</DtTm></BookgDt>"
        f"<AcctSvcrRef>{leg.id}</AcctSvcrRef>"
        f"<BkTxCd><Domn><Fmly>{told}</Fmly></Domn></BkTxCd><NtryDtls><TxDtls>"
        f"<Refs><EndToEndId>{receipt(leg, ledger.number)}</EndToEndId></Refs>{parties}</TxDtls>"
        f"</NtryDtls><AddtlNtryInf>{escape(_words(leg, ledger))}</AddtlNtryInf></Ntry>"
    )


def _amount(hundredths: int, ledger: Ledger) -> str:
    return f'<Amt Ccy="{ledger.currency}">{_money(hundredths)}</Amt>'


_TABLE: Final = ("Date", "Reference", "Narration", "Counterparty", "Credit", "Debit", "Balance")
_STATUS: Final = "Status"


def table_csv(ledger: Ledger) -> bytes:
    """Write a table of a bank or a wallet of no name, by columns of usual names."""
    return _csv([[str(cell) for cell in row] for row in _table(ledger, _money)])


def table_xlsx(ledger: Ledger) -> bytes:
    """Write the same table as a workbook, in which amounts are numbers."""
    from openpyxl import Workbook  # noqa: PLC0415  it takes a while to load

    book = Workbook(write_only=True)
    page = book.create_sheet("Statement")
    for row in _table(ledger, lambda cents: cents / 100):
        page.append(row)
    written = io.BytesIO()
    book.save(written)
    return written.getvalue()


def _table(ledger: Ledger, money: Callable[[int], str | float]) -> Iterable[Sequence[str | float]]:
    yield "Account name", HOLDER
    yield "Period", f"{ledger.opened_on} - {ledger.last_day}"
    yield (*_TABLE, _STATUS)
    for leg in ledger.legs:
        amount = money(leg.amount)
        yield (
            f"{leg.at:%Y-%m-%d %H:%M:%S}",
            receipt(leg, ledger.number),
            _words(leg, ledger),
            _name(leg),
            amount if leg.direction == "in" else "",
            amount if leg.direction == "out" else "",
            money(leg.balance_after),
            leg.status,
        )


FORMATS: Final = (
    Format("mpesa", ".csv", mpesa_csv, currency="KES"),
    Format("mtn", ".csv", mtn_csv, currency="UGX", tells_failed=False),
    Format("orange", ".csv", orange_csv),
    Format("gsma", ".json", gsma_json),
    Format("camt053", ".xml", camt053, tells_failed=False),
    Format("table", ".csv", table_csv),
    Format("table", ".xlsx", table_xlsx),
)


def into_folder(folder: Path) -> Callable[[Ledger], str]:
    """Write each ledger that is given into a folder, in turns in every format of its currency."""
    folder.mkdir(parents=True, exist_ok=True)

    def write(ledger: Ledger) -> str:
        fit = [one for one in FORMATS if one.currency in {None, ledger.currency}]
        chosen = fit[ledger.number % len(fit)]
        name = f"{ledger.number:06d}-{chosen.name}{chosen.suffix}"
        (folder / name).write_bytes(chosen.write(ledger))
        return name

    return write


def _words(leg: Leg, ledger: Ledger) -> str:
    words = _WORDS[leg.kind]
    if leg.reverses is None:
        return words
    of = next(one for one in ledger.legs if one.id == leg.reverses)
    return f"{words} of {receipt(of, ledger.number)}"


def _name(leg: Leg) -> str:
    party = party_of(leg)
    return "" if party is None else f"{party.number} {party.name}"


def _money(hundredths: int) -> str:
    sign = "-" if hundredths < 0 else ""
    return f"{sign}{abs(hundredths) // 100}.{abs(hundredths) % 100:02d}"


def _french(hundredths: int) -> str:
    whole, cents = divmod(hundredths, 100)
    return f"{whole:,},{cents:02d}".replace(",", " ", f"{whole:,}".count(","))


def _csv(rows: Iterable[Sequence[str]], separator: str = ",") -> bytes:
    text = io.StringIO()
    csv.writer(text, delimiter=separator, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()
