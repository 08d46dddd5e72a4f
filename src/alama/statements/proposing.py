"""How a table whose columns nobody knows may be read: proposed, never done.

Columns are told by likeness of their names, and held against what stands in them. The proposal has
the names of columns and words for what they hold; no value of a row is in it.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from alama.core.errors import AlamaError
from alama.platform.files.asis.likeness import Holds, Likeness, Target, match
from alama.platform.files.asis.written import (
    DAY_FIRST,
    DIGITS,
    ISO,
    MONTH_FIRST,
    NAMED,
    PARTS,
    amount_of,
    day_of,
)
from alama.statements import tables
from alama.statements.cells import DayOrder
from alama.statements.problems import MappingColumn, MappingProposal, MappingQuestion
from alama.statements.reading import read_statement
from alama.statements.tables import Columns, Layout

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from alama.statements.ledger import Pseudonyms
    from alama.statements.places import Place

    Said = Mapping[str, Any]

HEADER_WITHIN: Final = 60
COLUMNS_MAX: Final = 100
LOOKED_AT: Final = 20
LOOKED_INTO: Final = 2_000
"""Rows by which a header is told from others, and rows that tell how its columns are written."""
NAME_MAX: Final = 40
CELL_MAX: Final = 80
"""Characters that tell what a cell holds: a hostile one has many more."""
_NAMED_MIN: Final = 3
_MOSTLY: Final = 0.9

_WAYS_MAX: Final = 4
_NOTHING: Final = Columns(at="")
_BESIDE: Final = ("dates", "decimal", "currency", "credits")

AMOUNT, DAY, WORD, NOTHING = "amount", "day", "word", "nothing"

_ALSO: Final = {
    "at": "date; transaction date; trans date; txn date; tran date; date time; datetime; "
    "timestamp; transaction time; posting date; posted; posted on; posted date; booking date; "
    "entry date; completion time; operation date; date operation; date de l'operation; "
    "date de transaction; date d'operation; tarehe; tarehe ya muamala",
    "time": "hour; heure; saa; time of day",
    "amount": "transaction amount; txn amount; amount moved; montant; montant de l'operation; "
    "kiasi; kiasi cha muamala",
    "direction": "dr/cr; cr/dr; drcr; debit/credit; credit/debit; debit credit; sens; dc",
    "paid_in": "paid into; money into; cash into; credit; credits; credit amount; deposit; "
    "deposits; amount into; received; money received; amount received; received amount; entree; "
    "entrees; montant credit; recu; pesa iliyoingia; kiasi kilichoingia",
    "paid_out": "withdrawn; money out; cash out; debit; debits; debit amount; withdrawal; "
    "withdrawals; amount out; sent; money sent; amount sent; spent; amount paid; sortie; sorties; "
    "montant debit; pesa iliyotoka; kiasi kilichotoka",
    "balance": "running balance; balance after; closing balance; available balance; book balance; "
    "ledger balance; account balance; new balance; solde; solde apres; nouveau solde; salio",
    "details": "description; narration; narrative; particulars; transaction details; remarks; "
    "transaction description; memo; libelle; motif; maelezo",
    "counterparty": "beneficiary; payee; payer; party; other party; counter party; beneficiaire; "
    "contrepartie; mhusika",
    "receipt": "receipt number; receipt no; reference; reference number; reference no; ref; "
    "ref no; transaction id; transaction reference; trans id; txn id; transaction number; "
    "numero de transaction; kumbukumbu; nambari ya muamala",
    "status": "transaction status; state; statut; etat; hali",
}
_MAYBE: Final = {
    "at": "value date; date valeur; date de valeur; created; created at; effective date; when; day",
    "amount": "value; total; sum; valeur",
    "direction": "type; transaction type; kind",
    "paid_in": "income; inflow",
    "paid_out": "paid; outflow; payment; payments",
    "balance": "left; remaining; total balance; reste",
    "details": "service; type; transaction type; text; note; comment; reason; operation",
    "counterparty": "name; from/to; sender/receiver; account; client",
    "receipt": "id; no; number; code; numero",
}
_HOLDS: Final = {
    "at": DAY,
    "amount": AMOUNT,
    "paid_in": AMOUNT,
    "paid_out": AMOUNT,
    "balance": AMOUNT,
}
_KIND: Final = {DAY: Holds.DAY, AMOUNT: Holds.NUMBER}


def _words(told: str) -> tuple[str, ...]:
    return tuple(told.split("; ")) if told else ()


TARGETS: Final = tuple(
    Target(
        "paid into" if role == "paid_in" else role,
        _KIND.get(_HOLDS.get(role, ""), Holds.WORD),
        also=_words(also),
        maybe=_words(_MAYBE.get(role, "")),
    )
    for role, also in _ALSO.items()
)
_ROLES: Final = tuple(_ALSO)
_IN: Final = re.compile(r"\bin\b", re.IGNORECASE)
"""Likeness passes over this word, which here tells money that came from money that went."""


def said_in(columns: Columns | None) -> Said:
    """Give what a mapping says beyond what holds where nothing is said."""
    told = {} if columns is None else msgspec.json.decode(msgspec.json.encode(columns))
    unsaid = msgspec.json.decode(msgspec.json.encode(_NOTHING))
    return {name: value for name, value in told.items() if value != unsaid[name]}


def columns_for(
    content: bytes, columns: Columns | None, layouts: Sequence[Layout]
) -> Columns | None:
    """Give how a table is read: as was said with it, or else of such a one before."""
    if columns is not None or not layouts:
        return columns
    header = header_of(content)
    known = (one.columns for one in reversed(layouts) if one.header == header)
    return next(known, None)


def header_of(content: bytes) -> str | None:
    """Give a digest of the names of the columns of a table; None for what is none."""
    try:
        table = _table(_rows(content))
    except (AlamaError, ValueError):
        return None
    if table is None:
        return None
    told = "|".join(sorted(tables.plain(name) for name in table.names))
    return hashlib.blake2b(told.encode(), digest_size=16).hexdigest()


def propose(content: bytes, names: Pseudonyms, place: Place, said: Said) -> MappingProposal | None:
    """Propose how a table may be read, around what is said of it; None: it has no header."""
    table = _table(_rows(content))
    if table is None:
        return None
    taken, by = _taken(table, said)
    mapping: dict[str, str | list[str]] = {
        role: table.names[at].strip() for role, at in taken.items()
    }
    mapping |= {name: said[name] for name in _BESIDE if name in said}
    questions = [*_columns_open(table, taken), *_dates(table, taken, mapping)]
    questions += _decimal(table, taken, mapping)
    currency = _currency(table, taken)
    if currency is not None:
        mapping.setdefault("currency", currency)
    role_at = {at: role for role, at in taken.items()}
    columns = [
        MappingColumn(_shown(name), table.holds[at], role_at.get(at), by.get(role_at.get(at, "")))
        for at, name in enumerate(table.names)
        if name.strip() or table.holds[at] != NOTHING
    ]
    proposal = MappingProposal(mapping, columns, questions)
    if questions:
        return proposal
    try:
        read = read_statement(content, names, place, msgspec.convert(mapping, Columns))
    except AlamaError:
        return proposal
    return msgspec.structs.replace(proposal, rows=read.rows, rows_read=read.rows - len(read.unread))


def _rows(content: bytes) -> list[tuple[int, list[str]]]:
    bare = content[:256].lstrip(b" \t\r\n\xef\xbb\xbf")
    if not bare or bare.startswith((b"%PDF", b"<", b"{", b"[")):
        return []
    return tables.first_rows(content, HEADER_WITHIN + LOOKED_INTO)


class _Table(NamedTuple):
    """The names of columns, the cells below each, and what they hold."""

    names: list[str]
    cells: list[list[str]]
    holds: list[str]


def _table(rows: Sequence[tuple[int, list[str]]]) -> _Table | None:
    """Find the header: words, under which one column has days and another has amounts.

    A row of a file without a header is none: what stands in it would be told as names. Of several
    above the first row that has both it is the likeliest: others tell of the holder.
    """
    found: list[int] = []
    for at, (_, header) in enumerate(rows[:HEADER_WITHIN]):
        named = [cell for cell in header if cell.strip()]
        if found and {DAY, AMOUNT} <= {_held([cell.strip()[:CELL_MAX]]) for cell in named}:
            break
        if not _NAMED_MIN <= len(named) <= len(header) <= COLUMNS_MAX or any(map(_is_value, named)):
            continue
        few = _below(rows, at, LOOKED_AT)
        kinds = {_held(cells) for name, cells in zip(header, few, strict=True) if name.strip()}
        if {DAY, AMOUNT} <= kinds:
            found.append(at)
    if not found:
        return None
    at = max(found, key=lambda at: (_likeness(rows[at][1]), at)) if len(found) > 1 else found[0]
    cells = _below(rows, at, LOOKED_INTO)
    return _Table(rows[at][1], cells, list(map(_held, cells)))


def _likeness(header: Sequence[str]) -> int:
    like = match([_IN.sub("into", _shown(name)) for name in header], TARGETS)
    return len(like.places) + len(like.rivals)


def _below(rows: Sequence[tuple[int, list[str]]], at: int, many: int) -> list[list[str]]:
    """Give what stands in each column below a row, without the empty cells."""
    below = [cells for _, cells in rows[at + 1 : at + 1 + many]]
    return [
        [row[place].strip()[:CELL_MAX] for row in below if place < len(row) and row[place].strip()]
        for place in range(len(rows[at][1]))
    ]


def _is_value(cell: str) -> bool:
    told = cell.strip()[:CELL_MAX]
    return day_of(told) is not None or amount_of(told) is not None


def _shown(name: str) -> str:
    """Give a name of a column; what could be a value that stands there is left out."""
    bare = name.strip()
    is_name = len(bare) <= NAME_MAX and bare.isprintable() and not any(map(str.isdigit, bare))
    return bare if is_name else ""


def _held(cells: Sequence[str]) -> str:
    if not cells:
        return NOTHING
    enough = _MOSTLY * len(cells)
    if sum(_is_day(cell) for cell in cells) >= enough:
        return DAY
    return AMOUNT if sum(amount_of(cell) is not None for cell in cells) >= enough else WORD


def _is_day(cell: str) -> bool:
    read = day_of(cell)
    return read is not None and read.shape in {ISO, NAMED, PARTS, DIGITS}


# ------------------------------------------------------------------------------------ columns


def _taken(table: _Table, said: Said) -> tuple[dict[str, int], dict[str, str]]:
    """Give the column of each role, and how that was told."""
    plain = [tables.plain(name) for name in table.names]
    many = Counter(plain)
    chosen = {
        role: plain.index(tables.plain(name))
        for role in _ROLES
        if isinstance(name := said.get(role), str) and many[tables.plain(name)] == 1
    }
    names = [
        _IN.sub("into", name) if many[tables.plain(name)] == 1 and _shown(name) else ""
        for name in table.names
    ]
    like = match(names, TARGETS, {_target(role): at for role, at in chosen.items()})
    taken = {
        role: like.places[_target(role)]
        for role in _ROLES
        if _target(role) in like.places
        and (role in chosen or _suits(table, role, like.places[_target(role)]))
    }
    by = {role: "mapping" if role in chosen else _by(like, _target(role)) for role in taken}
    days = [at for at, held in enumerate(table.holds) if held == DAY and names[at]]
    if "at" not in taken and len(days) == 1:
        taken["at"], by["at"] = days[0], "values"
    for role in _beside(table, taken, chosen):
        taken.pop(role, None)
    return taken, by


def _target(role: str) -> str:
    return TARGETS[_ROLES.index(role)].name


def _suits(table: _Table, role: str, at: int) -> bool:
    wanted = _HOLDS.get(role)
    return wanted is None or table.holds[at] in {wanted, NOTHING}


def _by(like: Likeness, target: str) -> str:
    if target in like.unsure:
        return "unsure"
    return "likeness" if target in like.likened else "name"


def _beside(table: _Table, taken: Mapping[str, int], chosen: Mapping[str, int]) -> Iterable[str]:
    """Give the roles that say what others say better."""
    if {"paid_in", "paid_out"} <= taken.keys():
        return {"amount", "direction"} - chosen.keys()
    at = taken.get("direction")
    if at is None or "direction" in chosen:
        return ()
    told = {cell.casefold() for cell in table.cells[at]}
    return () if len(told) <= _WAYS_MAX and told.intersection(_NOTHING.credits) else ("direction",)


def _columns_open(table: _Table, taken: Mapping[str, int]) -> list[MappingQuestion]:
    """Ask for what no table can be read without."""
    asked = [] if "at" in taken else [MappingQuestion("at", _of(table, DAY, taken))]
    if "amount" in taken:
        if "direction" not in taken and not any(map(_is_signed, table.cells[taken["amount"]])):
            asked.append(MappingQuestion("direction", _of(table, WORD, taken)))
        return asked
    free = _of(table, AMOUNT, taken)
    lacking = [role for role in ("paid_in", "paid_out") if role not in taken]
    if len(lacking) == 2:  # noqa: PLR2004 - both
        return [*asked, MappingQuestion("amount", free)]
    return [*asked, *(MappingQuestion(role, free) for role in lacking)]


def _is_signed(cell: str) -> bool:
    return cell.startswith(("-", "(", "+", "\N{MINUS SIGN}")) or cell.endswith("-")


def _of(table: _Table, kind: str, taken: Mapping[str, int]) -> list[str]:
    used = set(taken.values())
    return [
        _shown(name)
        for at, name in enumerate(table.names)
        if table.holds[at] == kind and at not in used and _shown(name)
    ]


# ----------------------------------------------------------------------------- how it is written


def _dates(
    table: _Table, taken: Mapping[str, int], mapping: dict[str, str | list[str]]
) -> list[MappingQuestion]:
    if "dates" in mapping:
        return []
    cells = table.cells[taken["at"]] if "at" in taken else []
    parts = [read for cell in cells if (read := day_of(cell)) and read.shape in {PARTS, DIGITS}]
    if not parts:
        return []
    orders = {
        order
        for order, name in ((DAY_FIRST, DayOrder.DAY_FIRST), (MONTH_FIRST, DayOrder.MONTH_FIRST))
        if all(order in read.by for read in parts)
    }
    known = {DAY_FIRST: DayOrder.DAY_FIRST, MONTH_FIRST: DayOrder.MONTH_FIRST}
    if len(orders) == 1:
        mapping["dates"] = known[orders.pop()].value
        return []
    return [MappingQuestion("dates", [one.value for one in DayOrder])]


def _amounts(table: _Table, taken: Mapping[str, int]) -> Iterable[str]:
    for role, kind in _HOLDS.items():
        if kind == AMOUNT and role in taken:
            yield from table.cells[taken[role]]


def _decimal(
    table: _Table, taken: Mapping[str, int], mapping: dict[str, str | list[str]]
) -> list[MappingQuestion]:
    if "decimal" in mapping:
        return []
    read = [one for cell in _amounts(table, taken) if (one := amount_of(cell)) is not None]
    only_point = any(one.by_comma is None for one in read)
    only_comma = any(one.by_point is None for one in read)
    if only_comma and not only_point:
        mapping["decimal"] = ","
    elif not only_point and any(one.open for one in read):
        return [MappingQuestion("decimal", [".", ","])]
    return []


def _currency(table: _Table, taken: Mapping[str, int]) -> str | None:
    """Give the currency whose word stands beside the amounts, if it is one."""
    told = {one.money for cell in _amounts(table, taken) if (one := amount_of(cell)) and one.money}
    meant = frozenset.intersection(*told) if told else frozenset[str]()
    return next(iter(meant)) if len(meant) == 1 else None
