"""The second step: a lender's file of past loans, sealed until it is trained on, or forgotten."""

from __future__ import annotations

import hashlib
from typing import IO, TYPE_CHECKING

import msgspec

from alama.onboarding.records import (
    HISTORY_PREFIX,
    PART_BYTES,
    FileFormat,
    HistoryRecord,
    require_person,
)
from alama.platform import ids
from alama.platform.errors import StoreUnfit
from alama.training.history.report import Enough

if TYPE_CHECKING:
    from collections.abc import Iterator

    from alama.onboarding.histories import Histories
    from alama.onboarding.ports import Forgotten
    from alama.platform.clock import Clock


class Read(msgspec.Struct, frozen=True):
    """What reading a file has shown, by the definition of default that it was read by.

    `report` is JSON and holds counts, never what a borrower said: it outlives the file.
    """

    file_format: FileFormat
    row_count: int
    days_past_due: int
    enough: Enough
    report: bytes


def keep_history(
    histories: Histories,
    clock: Clock,
    chance: bytes,
    lender: str,
    file: IO[bytes],
    read: Read,
    by: str,
) -> HistoryRecord:
    """Keep a file that was read and found sound, sealed under the lender's key.

    The file is read twice, from its beginning: for its hash, and to be sealed. `chance` is seven
    random bytes, `ids.RANDOM_BYTES`. A file of which nothing can be trained is kept all the same:
    its report says what is missing, and the step stays open. `UnknownLender`, `InvalidName`.
    """
    now_us = clock()
    record = HistoryRecord(
        id=ids.sortable(HISTORY_PREFIX, now_us, chance),
        lender=lender,
        digest=digest(file),
        file_format=read.file_format,
        row_count=read.row_count,
        part_count=0,
        days_past_due=read.days_past_due,
        enough=read.enough,
        created_us=now_us,
        kept_by=require_person(by),
    )
    histories.keep(record, read.report, _parts(file))
    return histories.find(lender, record.id)


def digest(file: IO[bytes]) -> str:
    """Give what a file is known by: `sha256:` and the hash of its bytes."""
    seen = hashlib.sha256()
    for part in _parts(file):
        seen.update(part)
    return f"sha256:{seen.hexdigest()}"


def _parts(file: IO[bytes]) -> Iterator[bytes]:
    file.seek(0)
    while part := file.read(PART_BYTES):
        yield part


def write_history(
    histories: Histories, lender: str, history_id: str, into: IO[bytes]
) -> HistoryRecord:
    """Write the file of a history again, byte for byte: for whoever trains on it.

    `UnknownHistory`, `HistoryForgotten`; `StoreUnfit` where it is damaged, and then what was
    written is no use. Whoever calls removes what was written as soon as it was read.
    """
    record = histories.find(lender, history_id)
    seen = hashlib.sha256()
    for part in histories.parts(lender, history_id):
        seen.update(part)
        into.write(part)
    if f"sha256:{seen.hexdigest()}" != record.digest:
        raise StoreUnfit(
            f"the file of {record.id} is damaged",
            hint="restore it from a backup, or hand it in again",
        )
    into.flush()
    return record


def forget_history(
    histories: Histories, clock: Clock, lender: str, history_id: str, by: str
) -> Forgotten:
    """Erase the file of a history for good; said twice, it is erased once.

    Its report, and the models that were trained on it, stay: neither holds what a borrower said.
    `UnknownHistory`, `InvalidName`.
    """
    return histories.forget(lender, history_id, clock(), require_person(by))
