"""Has a process of its own read a PDF, and believes no more of its answer than its types.

One process a file: what a hostile one makes of PDFium's memory never meets another lender's file.
To start it takes a tenth of a second. Nothing of what a PDF says is part of an error.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import time
from contextlib import suppress
from http import HTTPStatus
from typing import Final, NamedTuple

import msgspec

from alama.core.errors import AlamaError
from alama.platform.errors import Kind, StoreUnavailable
from alama.statements.problems import StatementUnreadable

COMMAND: Final = (sys.executable, "-P", "-m", "alama.statements.pdf.process")
_CHUNK_BYTES: Final = 1 << 16
_KEPT: Final = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "SYSTEMROOT")
"""Of the environment: what a program needs so that it starts. No secret is among it."""


class PdfLimits(NamedTuple):
    """What one file may take of the machine."""

    bytes_max: int = 10 << 20
    pages_max: int = 500
    memory_bytes: int = 256 << 20
    """Of addresses; a statement of 3,000 rows is read with a quarter of them."""
    cpu_s: int = 10
    wall_s: float = 30.0
    answer_bytes_max: int = 32 << 20
    niceness: int = 10
    """Scores come first."""


LIMITS: Final = PdfLimits()


class PasswordNeeded(AlamaError):
    """A PDF is protected, and no password or a wrong one came with it."""

    kind = Kind(HTTPStatus.UNPROCESSABLE_ENTITY, "statement_password", "Statement is protected")


class PdfTooCostly(AlamaError):
    """A PDF takes more memory or time than one file may, or breaks what reads it."""

    kind = Kind(HTTPStatus.UNPROCESSABLE_ENTITY, "statement_too_costly", "Statement too costly")


class PdfRow(msgspec.Struct, frozen=True, array_like=True):
    """A row of the table as it stands; pages and their rows count from 1."""

    page: int
    line: int
    cells: list[str]
    font: str


class PdfUnread(msgspec.Struct, frozen=True, array_like=True):
    """A row of which the named column cannot be read."""

    page: int
    line: int
    column: str


class PdfFacts(msgspec.Struct, frozen=True):
    """What the file tells of its making."""

    pages: int
    producer: str
    creator: str
    created: str
    """As it stands: D:20260815091200+03'00'."""
    modified: str
    updates: int
    """How often something was appended after the file was whole."""
    saved_again: bool | None
    """Whether another program has saved it after it was made; None: it does not tell."""
    signatures: int


class PdfDocument(msgspec.Struct, frozen=True):
    """The table of a statement, and what stands around it."""

    layout: str
    rows: list[PdfRow]
    unread: list[PdfUnread]
    head: list[list[str]]
    tail: list[list[str]]
    facts: PdfFacts


class _Answer(msgspec.Struct):
    document: PdfDocument | None = None
    fault: str | None = None
    filtered: bool = False


def read_document(
    content: bytes,
    password: str | None = None,
    limits: PdfLimits = LIMITS,
    command: tuple[str, ...] = COMMAND,
) -> PdfDocument:
    """Give the table of a PDF, or raise an error that says what to do. Takes a process."""
    if len(content) > limits.bytes_max:
        raise PdfTooCostly(
            f"the PDF has more than {limits.bytes_max >> 20} MB",
            hint="ask for the statement of a shorter period; one of a year has about 1 MB",
        )
    answer = _decoded(_ask(_request(content, password, limits), limits, command))
    if answer.document is None:
        raise _fault(answer.fault, limits)
    return answer.document


def _request(content: bytes, password: str | None, limits: PdfLimits) -> bytes:
    head = {
        "bytes": len(content),
        "password": password,
        "pages_max": limits.pages_max,
        "memory_bytes": limits.memory_bytes,
        "cpu_s": limits.cpu_s,
        "niceness": limits.niceness,
    }
    return msgspec.json.encode(head) + b"\n" + content


def _decoded(answer: bytes) -> _Answer:
    try:
        return msgspec.json.decode(answer, type=_Answer)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise _broke() from None


def _ask(request: bytes, limits: PdfLimits, command: tuple[str, ...]) -> bytes:
    """Start the process, hand it the file and give what it answers; it is gone in the end."""
    try:
        process = subprocess.Popen(  # noqa: S603 - our own program, by its full path
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # a library may say there what stands in the file
            cwd="/",
            env={name: os.environ[name] for name in _KEPT if name in os.environ},
            start_new_session=True,
        )
    except OSError as error:
        raise _missing() from error
    with process:
        try:
            answer = _exchange(process, request, limits)
        finally:
            with suppress(ProcessLookupError):
                process.kill()
        code = process.wait()
    if answer is None:
        raise PdfTooCostly(
            f"reading the PDF was stopped after {limits.wall_s:g} s", hint=_COSTLY_HINT
        )
    if code != 0:
        raise _ended(code)
    return answer


def _exchange(process: subprocess.Popen[bytes], request: bytes, limits: PdfLimits) -> bytes | None:
    """Write all, read all; None where that takes too long or the answer is too long."""
    assert process.stdin is not None
    assert process.stdout is not None
    until_s = time.monotonic() + limits.wall_s
    left, answer = memoryview(request), bytearray()
    os.set_blocking(process.stdin.fileno(), False)
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdin, selectors.EVENT_WRITE)
        selector.register(process.stdout, selectors.EVENT_READ)
        while True:
            ready = selector.select(max(until_s - time.monotonic(), 0))
            if not ready and time.monotonic() >= until_s:
                return None
            for key, _ in ready:
                if key.fileobj is process.stdout:
                    chunk = os.read(key.fd, _CHUNK_BYTES)
                    if not chunk:
                        with suppress(subprocess.TimeoutExpired):
                            process.wait(max(until_s - time.monotonic(), 0))
                        return bytes(answer)
                    answer += chunk
                    if len(answer) > limits.answer_bytes_max:
                        return None
                else:
                    try:
                        left = left[os.write(key.fd, left[:_CHUNK_BYTES]) :]
                    except BrokenPipeError:  # it has ended, and says how by its code
                        left = left[:0]
                    if not left:
                        selector.unregister(process.stdin)
                        process.stdin.close()


_COSTLY_HINT: Final = (
    "ask for the statement again, or for a shorter period, and send the file as it came: a printed "
    "or scanned one cannot be read"
)


def _ended(code: int) -> AlamaError:
    if code > 0:
        return _missing()
    ended_by = -code
    if ended_by in {signal.SIGXCPU, signal.SIGKILL}:
        return PdfTooCostly("reading the PDF took more time than a file may", hint=_COSTLY_HINT)
    return PdfTooCostly(
        "reading the PDF took more memory than a file may, or broke what reads it",
        hint=_COSTLY_HINT,
    )


def _broke() -> AlamaError:
    return PdfTooCostly("what reads PDFs gave no answer to this one", hint=_COSTLY_HINT)


def _missing() -> AlamaError:
    return StoreUnavailable(
        "what reads PDFs cannot be started",
        hint="install the extra `statements`; where it is, see that a process of its own may start",
    )


def _fault(fault: str | None, limits: PdfLimits) -> AlamaError:
    if fault == "too_many_pages":
        return PdfTooCostly(
            f"the PDF has more than {limits.pages_max} pages",
            hint="ask for the statement of a shorter period",
        )
    error, message, hint = _FAULTS.get(fault or "", _FAULTS["broken"])
    return error(message, hint=hint)


_MUCH_MEMORY: Final = "reading the PDF took more memory than a file may"

_FAULTS: Final[dict[str, tuple[type[AlamaError], str, str]]] = {
    "password_needed": (
        PasswordNeeded,
        "the PDF is protected by a password",
        "send the one that the applicant got with the statement as `password`",
    ),
    "password_wrong": (
        PasswordNeeded,
        "the password does not open the PDF",
        "compare it with the one that came with the statement; capitals count",
    ),
    "not_a_pdf": (StatementUnreadable, "the file is no PDF", "send the file as it came"),
    "broken": (
        StatementUnreadable,
        "the PDF is damaged",
        "ask for it again, and send the file as it came",
    ),
    "layout": (
        StatementUnreadable,
        "the PDF has no table of a statement that is known here",
        "known are M-PESA Kenya and MTN Uganda, not scanned; send any other as CSV or XLSX",
    ),
    "memory": (PdfTooCostly, _MUCH_MEMORY, _COSTLY_HINT),
    "too_large": (PdfTooCostly, _MUCH_MEMORY, _COSTLY_HINT),
}
