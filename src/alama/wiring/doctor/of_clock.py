"""The clock: keys expire, webhooks are signed and loans mature by it."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Final

from alama.service.checkup import Finding, broken, look, ok, unchecked
from alama.storage.keeping import diagnosis

if TYPE_CHECKING:
    from collections.abc import Iterator

    from alama.wiring.doctor.patient import Patient

LOOK_US: Final = 1_000_000
BROKEN_US: Final = 30_000_000

_NOT_SYNCHRONISED: Final = 5  # TIME_ERROR
_TIMEX_BYTES: Final = 512  # more than the kernel writes
_TODO = "have the clock set by a time server: chrony, or systemd-timesyncd"


def examine(patient: Patient) -> Iterator[Finding]:
    """Compare the clock of this machine with others."""
    yield kernel(_kernel_state())
    check = "clock.database"
    if patient.database is None:
        return
    if patient.database.embedded:
        yield unchecked(check, "a SQLite file has no clock of its own")
        return
    offset = diagnosis.clock(patient.database, patient.clock)
    yield compared(check, offset.ahead_us, offset.took_us // 2, "the database")


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
