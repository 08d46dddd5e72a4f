"""ISO 20022 camt.053: the statement of a bank account, as XML that may be hostile.

No entity but the five of XML, no document type, bounded depth, parts and texts: a bomb is refused
where it begins. An entry is a row as soon as it ends, so that no tree of a whole file is held.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, NoReturn
from xml.parsers import expat

from alama.statements.cells import BadCell, hundredths, moment
from alama.statements.kinds import patterns_of
from alama.statements.ledger import Declared, Direction, Kind, Pseudonyms, Statement, Status, Unread
from alama.statements.problems import StatementUnreadable
from alama.statements.rows import Row, Source, assemble
from alama.statements.wallets import reason, status_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date, datetime, tzinfo

DEPTH_MAX: Final = 40
ELEMENTS_MAX: Final = 5_000_000
HELD_MAX: Final = 20_000
"""Elements that are held at once: of one entry, and of what stands around all of them."""
ENTRIES_MAX: Final = 200_000
TEXT_MAX: Final = 10_000
_OPENING: Final = ("OPBD", "PRCD")
_CLOSING: Final = "CLBD"

_CODES: Final = {
    ("SALA", Direction.IN): Kind.SALARY_IN,
    ("CWDL", Direction.OUT): Kind.AGENT_OUT,
    ("CDPT", Direction.IN): Kind.AGENT_IN,
    ("POSD", Direction.OUT): Kind.MERCHANT_OUT,
    ("POSC", Direction.OUT): Kind.MERCHANT_OUT,
    ("POSP", Direction.IN): Kind.MERCHANT_IN,
    ("CHRG", Direction.OUT): Kind.CHARGE,
    ("FEES", Direction.OUT): Kind.CHARGE,
    ("COMM", Direction.OUT): Kind.CHARGE,
    ("TAXE", Direction.OUT): Kind.CHARGE,
    ("DDWN", Direction.IN): Kind.LOAN_IN,
    ("PPAY", Direction.OUT): Kind.LOAN_OUT,
    ("PMDD", Direction.OUT): Kind.BILL_OUT,
    ("BOOK", Direction.IN): Kind.OWN_TRANSFER,
    ("BOOK", Direction.OUT): Kind.OWN_TRANSFER,
}
"""What the sub-family of a bank's transaction code says; the words are asked after it."""

_FAMILIES: Final = {
    ("RCDT", Direction.IN): Kind.BANK_IN,
    ("ICDT", Direction.OUT): Kind.BANK_OUT,
}
"""What the family says where neither sub-family nor words do."""


class _Node:
    """An element with its text, and what is in it."""

    __slots__ = ("inside", "name", "rows", "text")

    def __init__(self, name: str) -> None:
        self.name = name
        self.text = ""
        self.inside: list[_Node] = []
        self.rows: list[Row | Unread] = []

    def find(self, path: str) -> _Node | None:
        node: _Node | None = self
        for name in path.split("/"):
            assert node is not None
            node = next((one for one in node.inside if one.name == name), None)
            if node is None:
                return None
        return node

    def get(self, *paths: str) -> str:
        """Give the text at the first of these paths that is there; empty where none is."""
        for path in paths:
            found = self.find(path)
            if found is not None and found.text.strip():
                return found.text.strip()
        return ""

    def all(self, name: str) -> Iterator[_Node]:
        return (one for one in self.inside if one.name == name)


class _Tree:
    """Builds a tree of what is sent but for its entries, and refuses what no statement has."""

    def __init__(self, zone: tzinfo) -> None:
        self.root: _Node | None = None
        self.currencies: set[str] = set()
        self._zone = zone
        self._open: list[_Node] = []
        self._count = self._held = self._entries = self._held_before = 0

    def parse(self, content: bytes) -> _Node:
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.StartDoctypeDeclHandler = self._refused
        parser.EntityDeclHandler = self._refused
        parser.ExternalEntityRefHandler = self._refused
        try:
            parser.Parse(content, True)  # noqa: FBT003 - expat takes it by place
        except (expat.ExpatError, LookupError, ValueError):
            raise StatementUnreadable("the document is not XML that is whole") from None
        if self.root is None:
            raise StatementUnreadable("the document is empty")
        return self.root

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._count += 1
        self._held += 1
        is_large = self._count > ELEMENTS_MAX or self._held > HELD_MAX
        if len(self._open) >= DEPTH_MAX or is_large:
            raise StatementUnreadable("the document is nested too deeply, or has too many parts")
        node = _Node(name.rpartition(":")[2])
        # What was sent may be told in the sender's money, too, and is not what was booked.
        is_booked = bool(self._open) and self._open[-1].name in {"Ntry", "Bal"}
        if is_booked and "Ccy" in attributes:
            self.currencies.add(attributes["Ccy"])
        if self._open:
            self._open[-1].inside.append(node)
        else:
            self.root = node
        if self._is_entry(node):
            self._held_before = self._held
        self._open.append(node)

    def _is_entry(self, node: _Node) -> bool:
        return node.name == "Ntry" and bool(self._open) and self._open[-1].name == "Stmt"

    def _end(self, _: str) -> None:
        node = self._open.pop()
        if not self._is_entry(node):
            return
        self._entries += 1
        if self._entries > ENTRIES_MAX:
            raise StatementUnreadable(f"the document has more than {ENTRIES_MAX:,} entries")
        part = self._open[-1]
        part.inside.pop()
        self._held = self._held_before - 1
        try:
            part.rows.append(_row(self._entries, node, self._zone))
        except (BadCell, ValueError, OverflowError) as error:
            part.rows.append(Unread(self._entries, reason(error)))

    def _text(self, text: str) -> None:
        node = self._open[-1]
        if len(node.text) + len(text) > TEXT_MAX:
            raise StatementUnreadable("a text of the document is longer than any of a statement")
        node.text += text

    def _refused(self, *_: object) -> NoReturn:
        raise StatementUnreadable(
            "the document declares a document type or an entity, which no statement needs",
            hint="send the file as the bank gave it",
        )


class _Balances(NamedTuple):
    opening: int | None
    closing: int | None


def read_camt(content: bytes, names: Pseudonyms, zone: tzinfo) -> Statement:
    """Read the entries of every statement of the document; its days follow each other."""
    tree = _Tree(zone)
    root = tree.parse(content)
    message = root.find("BkToCstmrStmt")
    if message is None:
        raise StatementUnreadable("the XML is no camt.053 statement of an account")
    parts = sorted(message.all("Stmt"), key=_period_start)
    _require_one_account(parts)
    rows: list[Row] = []
    bad: list[Unread] = []
    for part in parts:
        balance = _balances(part).opening
        for row in part.rows:
            if isinstance(row, Unread):
                bad.append(row)
                continue
            # Entries have no balance of their own; what follows from the opening one is theirs.
            if balance is not None and row.status is Status.COMPLETED:
                balance += row.signed
            rows.append(row._replace(balance=balance))
    if len(tree.currencies) > 1:
        raise StatementUnreadable(
            "the entries are in several currencies", hint="send the statement of one account"
        )
    currency = next(iter(tree.currencies), None)
    return assemble(
        Source("camt053", None, currency),
        rows,
        names,
        unread=bad,
        declared=_declared(message, parts, names, zone),
    )


def _require_one_account(parts: list[_Node]) -> None:
    """Refuse statements of several accounts, and several of which one does not tell its own."""
    accounts = {part.get("Acct/Id/IBAN", "Acct/Id/Othr/Id").replace(" ", "") for part in parts}
    if len(accounts) > 1 or (len(parts) > 1 and "" in accounts):
        raise StatementUnreadable(
            "the document has statements of several accounts, or does not tell whose each is",
            hint="send the statements of one account, each with its number",
        )


def _period_start(part: _Node) -> str:
    return part.get("FrToDt/FrDtTm", "FrToDt/FrDt", "CreDtTm")


def _balances(part: _Node) -> _Balances:
    found: dict[str, int] = {}
    for one in part.all("Bal"):
        amount = hundredths(one.get("Amt"))
        if amount is not None:
            sign = -1 if one.get("CdtDbtInd") == "DBIT" else 1
            found[one.get("Tp/CdOrPrtry/Cd")] = sign * amount
    opening = next((found[code] for code in _OPENING if code in found), None)
    return _Balances(opening, found.get(_CLOSING))


def _declared(message: _Node, parts: list[_Node], names: Pseudonyms, zone: tzinfo) -> Declared:
    def day(part: _Node, *paths: str) -> date | None:
        text = part.get(*paths)
        return None if not text else _local(text, zone).date()

    if not parts:
        return Declared()
    holder = parts[0].get("Acct/Ownr/Nm", "Acct/Nm")
    sums = [
        [hundredths(part.get(f"TxsSummry/{side}/Sum")) for part in parts]
        for side in ("TtlCdtNtries", "TtlDbtNtries")
    ]
    paid_in, paid_out = (
        None if any(one is None for one in side) else sum(one for one in side if one is not None)
        for side in sums
    )
    try:
        return Declared(
            first_day=day(parts[0], "FrToDt/FrDtTm", "FrToDt/FrDt"),
            last_day=day(parts[-1], "FrToDt/ToDtTm", "FrToDt/ToDt"),
            made_on=day(parts[-1], "CreDtTm") or day(message, "GrpHdr/CreDtTm"),
            opening=_balances(parts[0]).opening,
            closing=_balances(parts[-1]).closing,
            paid_in=paid_in,
            paid_out=paid_out,
            holder=names.holder(holder) if holder else None,
        )
    except ValueError:
        raise StatementUnreadable("a date or a balance of the statement cannot be read") from None


def _local(text: str, zone: tzinfo) -> datetime:
    return moment(text, zone).astimezone(zone)


def _row(number: int, entry: _Node, zone: tzinfo) -> Row:
    amount = hundredths(entry.get("Amt"))
    if amount is None:
        raise BadCell("needs an amount")
    side = entry.get("CdtDbtInd")
    if side not in {"CRDT", "DBIT"}:
        raise BadCell("does not tell whether money came or went")
    direction = Direction.IN if side == "CRDT" else Direction.OUT
    details = entry.find("NtryDtls/TxDtls") or entry
    parties = "RltdPties/Dbtr" if direction is Direction.IN else "RltdPties/Cdtr"
    words = " ".join(
        part
        for part in (entry.get("AddtlNtryInf"), details.get("RmtInf/Ustrd", "AddtlTxInf"))
        if part
    )
    code = details.find("BkTxCd/Domn") or entry.find("BkTxCd/Domn")
    return Row(
        number,
        entry.get("AcctSvcrRef", "NtryRef") or details.get("Refs/AcctSvcrRef") or None,
        moment(entry.get("BookgDt/DtTm", "BookgDt/Dt", "ValDt/DtTm", "ValDt/Dt"), zone),
        words,
        status_of(entry.get("Sts/Cd", "Sts")),
        direction.sign * amount,
        None,
        _kind(entry, code, words, direction),
        details.get(f"{parties}/Nm", f"{parties}/Pty/Nm", f"{parties}Acct/Id/IBAN") or None,
        details.get("Refs/EndToEndId", "Refs/InstrId") or None,
        None,
    )


def _kind(entry: _Node, code: _Node | None, words: str, direction: Direction) -> Kind | None:
    """Give what the bank's own code says; None leaves it to the words."""
    if entry.get("RvslInd") in {"true", "1"}:
        return Kind.REVERSAL
    family = code.get("Fmly/Cd") if code else ""
    sub = code.get("Fmly/SubFmlyCd") if code else ""
    known = _CODES.get((sub, direction))
    if known is not None:
        return known
    if patterns_of(None).meaning(words, direction).is_known:
        return None
    return _FAMILIES.get((family, direction))
