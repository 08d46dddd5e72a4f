"""From rows, as a reader found them, to a statement: ids, groups, kinds, reversals.

A reader of any format ends here, so that the same words become the same entries whatever brought
them: a CSV file, a spreadsheet or a PDF.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from alama.statements.kinds import first_words, patterns_of
from alama.statements.ledger import (
    Check,
    Declared,
    Direction,
    Entry,
    Kind,
    Pseudonyms,
    Statement,
    Status,
    Unknown,
    Unread,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

UNKNOWN_MAX: Final = 50
"""How many kinds of unknown words are told; the most frequent."""

_RECEIPT: Final = re.compile(r"\b(?=[A-Z0-9]*\d)[A-Z0-9]{8,12}\b")


class Row(NamedTuple):
    """One row as a reader found it. `signed` in hundredths, above 0 where money came.

    `number` is its place in the source, for messages. `kind` and `party` are for sources that tell
    them outright; else the words do. `group` ties rows of one act where no receipt does.
    """

    number: int
    receipt: str | None
    at: datetime
    words: str
    status: Status
    signed: int
    balance: int | None
    kind: Kind | None = None
    party: str | None = None
    group: str | None = None
    reverses: str | None = None


class Source(NamedTuple):
    """What the rows were read from: the name of the format, its patterns, its currency."""

    format: str
    patterns: str | None
    currency: str | None


def assemble(
    source: Source,
    rows: Sequence[Row],
    names: Pseudonyms,
    *,
    unread: Sequence[Unread] = (),
    declared: Declared | None = None,
    checks: Sequence[Check] = (),
) -> Statement:
    """Make a statement of rows, which stand in the order in which they happened.

    A row that moves nothing counts as read and makes no entry.
    """
    patterns = patterns_of(source.patterns)
    unknown: Counter[str] = Counter()
    times: Counter[str] = Counter()
    entries: list[Entry] = []
    for row in rows:
        if not row.signed:
            continue
        direction = Direction.IN if row.signed > 0 else Direction.OUT
        kind, party = row.kind, row.party
        if kind is None:
            meaning = patterns.meaning(row.words, direction)
            kind, party = meaning.kind, party or meaning.party
            if not meaning.is_known:
                unknown[first_words(row.words)] += 1
        group = row.group or row.receipt or _content(row)
        name = row.receipt or group
        times[name] += 1
        entries.append(
            Entry(
                name if times[name] == 1 else f"{name}/{times[name]}",
                row.at,
                abs(row.signed),
                direction,
                row.balance,
                kind,
                names.of(party) if party and kind is not Kind.CHARGE else None,
                row.status,
                group,
                row.reverses,
            )
        )
    return Statement(
        format=source.format,
        currency=source.currency,
        entries=link_reversals(entries, [row.words for row in rows if row.signed]),
        rows=len(rows) + len(unread),
        unread=tuple(unread),
        unknown=tuple(Unknown(words, many) for words, many in unknown.most_common(UNKNOWN_MAX)),
        declared=declared or Declared(),
        checks=tuple(checks),
    )


def _content(row: Row) -> str:
    """Name a row that has no receipt by what it says, so that a file split in two says the same."""
    told = f"{row.at.timestamp()}|{row.signed}|{row.balance}|{row.words}"
    return "row-" + hashlib.blake2b(told.encode(), digest_size=8).hexdigest()


def link_reversals(entries: Sequence[Entry], words: Sequence[str] = ()) -> tuple[Entry, ...]:
    """Say of each reversal which entry it takes back, as far as that can be told.

    By the receipt that its words name; or else the last earlier entry of that amount the other
    way, of the same counterparty where the reversal has one.
    """
    open_ones = [place for place, entry in enumerate(entries) if _takes_back(entry)]
    if not open_ones:
        return tuple(entries)
    linked = list(entries)
    taken = {entry.reverses for entry in entries if entry.reverses is not None}
    by_amount: defaultdict[tuple[int, Direction], list[Entry]] = defaultdict(list)
    for entry in entries:
        if entry.kind is not Kind.REVERSAL and entry.status is Status.COMPLETED:
            by_amount[entry.amount, entry.direction].append(entry)
    for place in open_ones:
        entry = entries[place]
        against = Direction.OUT if entry.direction is Direction.IN else Direction.IN
        free = [
            one
            for one in by_amount.get((entry.amount, against), ())
            if one.at <= entry.at and one.id not in taken
        ]
        receipts = set(_RECEIPT.findall(words[place])) if words else set()
        named = [one for one in free if one.group in receipts]
        same = [one for one in free if entry.counterparty in (None, one.counterparty)]
        if named or same:
            found = (named or same)[-1]
            taken.add(found.id)
            linked[place] = msgspec.structs.replace(entry, reverses=found.id)
    return tuple(linked)


def _takes_back(entry: Entry) -> bool:
    is_done = entry.status is Status.COMPLETED
    return is_done and entry.kind is Kind.REVERSAL and entry.reverses is None
