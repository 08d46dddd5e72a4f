"""The clock: keys expire, webhooks are signed and loans mature by it."""

from __future__ import annotations

import ctypes
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from alama.lenders.store import Registry
from alama.operations import diagnosis
from alama.operations.check import vault_of
from alama.operations.doctor.findings import number, some
from alama.operations.findings import Finding, Mark, broken, look, ok, unchecked
from alama.platform.acts import ActLog
from alama.platform.clock import TOLERANCE_US, Seen, leap_since
from alama.platform.clock_store import SqlSeen
from alama.platform.files.packaged import jurisdiction
from alama.protection.retention import Plan, Retention, RetentionStore

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from alama.operations.doctor.patient import Patient
    from alama.platform.database.database import Database


LOOK_US: Final = 1_000_000
BROKEN_US: Final = 30_000_000

_RETENTION = "clock.retention"
_NOT_SYNCHRONISED: Final = 5  # TIME_ERROR
_TIMEX_BYTES: Final = 512  # more than the kernel writes
_TODO = "have the clock set by a time server: chrony, or systemd-timesyncd"


def examine(patient: Patient) -> Iterator[Finding]:
    """Compare the clock of this machine with others."""
    yield kernel(_kernel_state())
    if patient.database is not None:
        yield _check_database(patient, patient.database)
    yield from check_installation(patient)


def _check_database(patient: Patient, database: Database) -> Finding:
    check = "clock.database"
    if database.embedded:
        return unchecked(check, "a SQLite file has no clock of its own")
    offset = diagnosis.clock(database, patient.clock)
    return compared(check, offset.ahead_us, offset.took_us // 2, "the database")


def check_installation(patient: Patient) -> Iterator[Finding]:
    """Hold the time of an installation against what it has seen, and say what waits for it."""
    database = patient.fit
    if database is None:
        return
    stored = SqlSeen(database)
    now_us = patient.clock() if database.embedded else stored.server_us()
    seen = stored.seen()
    if seen is None and (latest_us := stored.latest_us(now_us)) is not None:
        seen = Seen(latest_us)
    finding = leapt(now_us, seen, stored.signed_us())
    yield finding
    if finding.mark is Mark.BROKEN:
        yield unchecked(_RETENTION, "nothing is deleted: see time that is trusted")
        return
    registry = Registry(database)
    # Nothing is deleted here, so nothing is written down.
    log = ActLog(database, vault_of(patient.settings, database).signer, patient.clock, "")
    retention = Retention(registry, RetentionStore(database, log), lambda: now_us, jurisdiction)
    yield waiting([plan for plan in retention.due() if not retention.is_usual(plan)])


def leapt(now_us: int, before: Seen | None, signed_us: int | None) -> Finding:
    """Judge the time by the last that was seen, and by the newest act."""
    check = "clock.leap"
    leap = leap_since(before, now_us)
    if leap is not None:
        ahead = "ahead of the last time seen: nothing is deleted, and nothing expires by it"
        behind = "behind the last time seen: nothing is deleted, and keys end by that time"
        return broken(
            check,
            f"{_span(leap.ahead_us)} {ahead if leap.ahead_us > 0 else behind}",
            "set the clock of its machine; if the time is right as it is, `alama clock accept`",
        )
    if signed_us is not None and signed_us - now_us > TOLERANCE_US:
        return look(
            check,
            f"the newest act was signed {_span(signed_us - now_us)} later than now",
            "a clock was wrong: `alama audit log` shows who acted then; if all is well, `alama "
            "clock accept` explains it, or `alama audit verify` will name the next act",
        )
    return ok(check, "it fits the last time seen")


def waiting(plans: Sequence[Plan]) -> Finding:
    """Judge what is due and does not go by itself."""
    if not plans:
        return ok(_RETENTION, "no scores wait for a person to delete them")
    books = some([f"{plan.book.lender}, {plan.book.mode} mode" for plan in plans])
    scores = number(sum(plan.scores for plan in plans), "score waits", "scores wait")
    return look(
        _RETENTION,
        f"{scores} for a person to delete them, of {books}",
        "`alama retention run --dry-run` shows them; if that is right, leave --dry-run out",
    )


def _span(duration_us: int) -> str:
    return str(timedelta(seconds=abs(duration_us) // 1_000_000))


def compared(check: str, ahead_us: int, uncertain_us: int, whose: str) -> Finding:
    """Judge how far another clock is ahead of ours."""
    apart_us = max(0, abs(ahead_us) - uncertain_us)
    if apart_us < LOOK_US:
        return ok(check, f"less than a second from that of {whose}")
    seen = (
        f"{apart_us / 1_000_000:,.0f} s {'behind' if ahead_us > 0 else 'ahead of'} that of {whose}"
    )
    if apart_us < BROKEN_US:
        return look(check, seen, _TODO)
    return broken(check, f"{seen}: signatures and keys will be refused", _TODO)


def kernel(state: int | None) -> Finding:
    """Judge what the kernel says of its own clock."""
    check = "clock.kernel"
    if state is None or state < 0:
        return unchecked(check, "this system does not say")
    if state == _NOT_SYNCHRONISED:
        return look(check, "the kernel knows of nobody who sets the clock", _TODO)
    return ok(check, "the kernel says that a time server sets the clock")


def _kernel_state() -> int | None:
    """Ask the kernel, and change nothing: the first field, which says what to set, is zero."""
    adjtimex = getattr(ctypes.CDLL(None), "adjtimex", None)
    return None if adjtimex is None else int(adjtimex(ctypes.create_string_buffer(_TIMEX_BYTES)))
