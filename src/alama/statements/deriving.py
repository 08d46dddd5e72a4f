"""From files to fields in one step: what the service, the commands and the library all call."""

from __future__ import annotations

import hashlib
import os
from datetime import date, timedelta, timezone
from typing import TYPE_CHECKING, Final

import msgspec

from alama.core.errors import AlamaError
from alama.statements import formulas
from alama.statements.checks import AGE_DAYS_MAX, check, is_doubtful
from alama.statements.formulas import Coverage, derive
from alama.statements.ledger import Check, Pseudonyms, Unknown, Unread
from alama.statements.places import Place
from alama.statements.problems import MappingNeeded
from alama.statements.reading import merged, read_statement
from alama.statements.tables import Columns, Layout

if TYPE_CHECKING:
    from alama.statements.ledger import Statement
    from alama.statements.problems import MappingProposal

UNREAD_TOLD: Final = 100
KEY_BYTES: Final = 32


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """Statements of one wallet, and what is wanted of them; plain enough to go to a process."""

    files: list[bytes]
    as_of: date
    utc_offset_s: int
    weekend: tuple[int, ...]
    opened_on: date | None = None
    applicant_name: str | None = None
    password: str | None = None
    columns: Columns | None = None
    layouts: tuple[Layout, ...] = ()
    age_days_max: int = AGE_DAYS_MAX

    @property
    def place(self) -> Place:
        return Place(timezone(timedelta(seconds=self.utc_offset_s)), frozenset(self.weekend))


class Read(msgspec.Struct, frozen=True):
    """What was read, and what not."""

    format: str
    currency: str | None
    rows: int
    rows_read: int
    transactions: int
    unread: list[Unread]
    unknown: list[Unknown]


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of a wallet on a day, what they stand on, and whether a person has to look."""

    formulas: str
    fields: dict[str, float]
    missing: dict[str, str]
    coverage: Coverage
    checks: list[Check]
    doubtful: bool
    digest: str
    read: Read


def found_in(asked: Asked, key: bytes | None = None) -> Found:
    """Read the files and derive the fields; `key` is what counterparties are pseudonymised by."""
    from alama.statements.proposing import columns_for  # noqa: PLC0415

    names = Pseudonyms(key or os.urandom(KEY_BYTES))
    place = asked.place
    statement = merged(
        [
            read_statement(
                content,
                names,
                place,
                columns_for(content, asked.columns, asked.layouts),
                asked.password,
            )
            for content in asked.files
        ]
    )
    derived = derive(statement.entries, statement.declared, asked.as_of, place, asked.opened_on)
    checks = check(
        statement,
        asked.as_of,
        place,
        names=names,
        holder=asked.applicant_name,
        age_days_max=asked.age_days_max,
    )
    return Found(
        formulas=formulas.VERSION,
        fields=derived.fields,
        missing=derived.missing,
        coverage=derived.coverage,
        checks=list(checks),
        doubtful=is_doubtful(checks),
        digest=digest_of(asked.files),
        read=read_of(statement),
    )


def proposed(asked: Asked, names: Pseudonyms) -> MappingProposal | None:
    """Propose how the first file may be read that cannot be read without a mapping."""
    from alama.statements.proposing import columns_for, propose, said_in  # noqa: PLC0415

    for content in asked.files:
        columns = columns_for(content, asked.columns, asked.layouts)
        try:
            read_statement(content, names, asked.place, columns)
        except MappingNeeded:
            return propose(content, names, asked.place, said_in(columns))
        except AlamaError:
            continue
    return None


def read_of(statement: Statement) -> Read:
    """Sum up what was read of a statement."""
    return Read(
        format=statement.format,
        currency=statement.currency,
        rows=statement.rows,
        rows_read=statement.rows - len(statement.unread),
        transactions=len({entry.group for entry in statement.entries}),
        unread=list(statement.unread[:UNREAD_TOLD]),
        unknown=list(statement.unknown),
    )


def digest_of(files: list[bytes]) -> str:
    """Give the SHA-256 of a file; of several, that of theirs in their order."""
    digests = [hashlib.sha256(content).digest() for content in files]
    whole = digests[0] if len(digests) == 1 else hashlib.sha256(b"".join(digests)).digest()
    return "sha256:" + whole.hex()
