"""What the process that reads a PDF gives up before it looks at one.

Limits of memory and time hold wherever the system knows them. On Linux, on x86-64 and ARM64, a
filter of system calls lets it do no more than read and write what is open, and ask for memory: no
file, no network, no other process. It says whether the filter is in place.
"""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import sys
from contextlib import suppress
from typing import Final

from alama.platform.process_limits import blame_first, leave_no_picture, lower

_NO_NEW_PRIVILEGES: Final = 38
_SECCOMP: Final = 22
_FILTER: Final = 2

_LOAD: Final = 0x20  # a word of what was called
_EQUAL: Final = 0x15
_RETURN: Final = 0x06
_ALLOW: Final = 0x7FFF0000
_REFUSE: Final = 0x00050000 | 1  # EPERM: PDFium goes on without its fonts
_ARCHITECTURE_AT: Final = 4
_NUMBER_AT: Final = 0

_X86_64: Final = (
    (0, 1, 3, 5, 8),  # read, write, close, fstat, lseek
    (9, 10, 11, 12, 25, 28),  # mmap, mprotect, munmap, brk, mremap, madvise
    (13, 14, 15, 131, 234),  # signals of its own
    (24, 39, 186, 202, 219, 228, 318, 334),  # threads of its own, clock, random numbers
    (60, 231),  # its end
)

_ARM64: Final = (
    (63, 64, 57, 80, 62),
    (222, 226, 215, 214, 216, 233),
    (134, 135, 139, 132, 131),
    (124, 172, 178, 98, 128, 113, 278, 293),
    (93, 94),
)

_ALLOWED: Final = {"x86_64": (0xC000003E, _X86_64), "aarch64": (0xC00000B7, _ARM64)}
"""By machine: how the kernel names it, and the calls that are allowed."""


class _Instruction(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_ushort),
        ("then", ctypes.c_ubyte),
        ("otherwise", ctypes.c_ubyte),
        ("value", ctypes.c_uint32),
    )


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("first", ctypes.POINTER(_Instruction)))


def limit(memory_bytes: int, cpu_s: int, niceness: int) -> None:
    """Have this process refused memory and time beyond limits, and files and processes at all."""
    with suppress(OSError):
        os.nice(niceness)
    blame_first()
    leave_no_picture()
    lower(resource.RLIMIT_AS, memory_bytes)
    lower(resource.RLIMIT_CPU, cpu_s)
    lower(resource.RLIMIT_FSIZE, 0)
    lower(resource.RLIMIT_NPROC, 0)


def keep_open(*wanted: int) -> None:
    """Close every other file that is open, and let no more be opened."""
    last = -1
    for descriptor in sorted(wanted):
        os.closerange(last + 1, descriptor)
        last = descriptor
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = 65_536 if hard == resource.RLIM_INFINITY else min(hard, 65_536)
    os.closerange(last + 1, most)
    lower(resource.RLIMIT_NOFILE, 0)


def filter_calls() -> bool:
    """Allow the system calls of reading and calculating alone; False where that cannot be had."""
    if sys.platform != "linux" or platform.machine() not in _ALLOWED:
        return False
    architecture, groups = _ALLOWED[platform.machine()]
    numbers = [number for group in groups for number in group]
    steps = [
        (_LOAD, 0, 0, _ARCHITECTURE_AT),
        (_EQUAL, 0, len(numbers) + 1, architecture),
        (_LOAD, 0, 0, _NUMBER_AT),
        *((_EQUAL, len(numbers) - place, 0, number) for place, number in enumerate(numbers)),
        (_RETURN, 0, 0, _REFUSE),
        (_RETURN, 0, 0, _ALLOW),
    ]
    program = (_Instruction * len(steps))(*(_Instruction(*step) for step in steps))
    control = ctypes.CDLL(None, use_errno=True).prctl
    control.argtypes = (ctypes.c_int, *(ctypes.c_ulong,) * 4)
    if control(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0:
        return False
    whole = _Program(len(steps), program)
    return bool(control(_SECCOMP, _FILTER, ctypes.addressof(whole), 0, 0) == 0)
