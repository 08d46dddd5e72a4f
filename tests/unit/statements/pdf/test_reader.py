"""The process that reads a PDF: what it may take, what it has given up, and how it may end."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from alama.core.errors import AlamaError
from alama.platform.errors import StoreUnavailable
from alama.statements.pdf.reader import LIMITS, PdfTooCostly, read_document
from alama.statements.pdf.words import _split
from alama.statements.places import place_of
from alama.statements.problems import StatementUnreadable
from alama.statements.reading import read_statement
from tests.drawn_statements import NAMES, csv_of, known
from tests.hostile_pdfs import BOMBS, mutations

GIVEN_UP = """
import os, socket, sys
from alama.statements.pdf.confinement import filter_calls, keep_open, limit
secret = open(sys.executable, "rb")
limit(256 << 20, 10, 1)
keep_open(1, 2)
print(filter_calls())
for tried in (
    lambda: secret.read(1),
    lambda: os.open("/etc/passwd", os.O_RDONLY),
    lambda: os.listdir("/"),
    lambda: os.open("/dev/shm/x", os.O_CREAT | os.O_WRONLY),
    lambda: socket.socket(),
    lambda: os.fork(),
    lambda: os.kill(os.getppid(), 0),
    lambda: os.execv("/bin/true", ["true"]),
    lambda: bytearray(1 << 30),
):
    try:
        tried()
        print("allowed")
    except (OSError, MemoryError):
        print("refused")
os._exit(0)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is no such filter")
def test_no_file_no_network_no_process_and_no_more_memory_is_left_to_it() -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-u", "-c", GIVEN_UP], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["True"] + ["refused"] * 9


def test_it_is_told_no_secret_of_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALAMA_MASTER_KEY", "a secret")
    command = (sys.executable, "-P", "-c", "import os; print(list(os.environ), flush=True)")
    with pytest.raises(PdfTooCostly, match="no answer"):
        read_document(b"%PDF-1.7", command=command)
    told = subprocess.run(
        [sys.executable, "-P", "-c", _SHOW], capture_output=True, text=True, check=True
    )
    assert "ALAMA" not in told.stdout
    assert "PATH" in told.stdout


_SHOW = """
import sys
from alama.statements.pdf import reader
show = (sys.executable, "-P", "-c", "import os; print(sorted(os.environ))")
print(reader._ask(b"", reader.LIMITS, show).decode())
"""


@pytest.mark.parametrize(
    ("code", "error", "said"),
    [
        pytest.param("import time; time.sleep(60)", PdfTooCostly, "stopped after 1 s", id="hangs"),
        pytest.param("import os; os.kill(os.getpid(), 9)", PdfTooCostly, "time", id="killed"),
        pytest.param("import os; os.abort()", PdfTooCostly, "broke", id="broke"),
        pytest.param("import sys; sys.exit(3)", StoreUnavailable, "started", id="cannot start"),
        pytest.param("print('{')", PdfTooCostly, "no answer", id="half an answer"),
        pytest.param("print('[1]' * 999)", PdfTooCostly, "no answer", id="nonsense"),
        pytest.param(
            "while True: print('x' * 9999)", PdfTooCostly, "stopped", id="answers without end"
        ),
    ],
)
def test_however_it_ends_the_service_gets_an_error_that_says_what_to_do(
    code: str, error: type[AlamaError], said: str
) -> None:
    limits = LIMITS._replace(wall_s=1.0 if "sleep" in code else 60.0, answer_bytes_max=1 << 20)
    command = (sys.executable, "-P", "-c", code)
    with pytest.raises(error, match=said) as raised:
        read_document(b"%PDF-1.7" + b" " * 300_000, limits=limits, command=command)
    assert raised.value.hint


def test_a_program_that_is_not_there_is_an_error_of_the_operator() -> None:
    with pytest.raises(StoreUnavailable):
        read_document(b"%PDF-1.7", command=("/nowhere/python",))


def test_limits_of_bytes_and_pages_are_told() -> None:
    with pytest.raises(PdfTooCostly, match="more than 10 MB"):
        read_document(b"%PDF-" + bytes(11 << 20))
    content = known(1, rows=150).mpesa_pdf()
    with pytest.raises(PdfTooCostly, match="more than 2 pages"):
        read_document(content, limits=LIMITS._replace(pages_max=2))


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_costs_time_and_nothing_else(name: str) -> None:
    with pytest.raises((PdfTooCostly, StatementUnreadable)) as refused:
        read_document(BOMBS[name]())
    assert refused.value.hint


@pytest.mark.parametrize("count", [25, pytest.param(1_000, marks=pytest.mark.long)])
def test_whatever_became_of_a_file_it_is_read_or_refused(count: int) -> None:
    sound = [known(5, rows=30).mpesa_pdf(), known(6, rows=30, legs=2).mtn_pdf()]
    began_s = time.monotonic()
    for content in mutations(sound, count, seed=count):
        try:
            read_document(content)
        except AlamaError as refused:
            assert refused.hint, refused  # noqa: PT017 - both are right
    assert time.monotonic() - began_s < count * LIMITS.wall_s


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("UGX20,000UGX 880UGX", ["UGX", "20,000", "UGX", "880", "UGX"]),
        ("RAPHAEAL35343306810", ["RAPHAEAL", "35343306810"]),
        # A receipt is never parted, whatever letters it has by chance.
        ("UBQN6UGXDP UB5LA12UGX UC12345678", ["UBQN6UGXDP", "UB5LA12UGX", "UC12345678"]),
    ],
)
def test_cells_without_a_gap_are_parted(text: str, words: list[str]) -> None:
    found = list(_split(text))
    assert [word for _, word in found] == words
    assert all(text[start:].startswith(word) for start, word in found)


def test_whatever_became_of_a_table_it_is_read_or_refused() -> None:
    place = place_of("KE")
    for content in mutations([csv_of(known(7, rows=30))], 300, seed=7):
        try:
            read_statement(content, NAMES, place)
        except AlamaError as refused:
            assert str(refused)  # noqa: PT017 - both are right
