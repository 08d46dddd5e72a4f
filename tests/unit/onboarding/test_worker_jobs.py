"""Hostile files, read by the process that a worker starts: each ends its own job, in few words."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from alama.lenders import installation
from alama.lenders.installation import Installation
from alama.onboarding.records import PART_BYTES, FileFormat, Job, JobState, Wishes
from alama.onboarding.remote import Arrival
from alama.onboarding.store import Stores
from alama.platform import clock, settings
from tests.histories import history_columns
from tests.onboarded import a_pilot

MEMORY_BYTES = 1 << 30
"""What the process may have here: the libraries take a third of it."""

ROWS = 2_000

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="no limit of memory elsewhere")


@pytest.fixture
def installed(tmp_path: Path) -> Iterator[Installation]:
    with closing(installation.open_installation(settings.Settings(home=str(tmp_path)))) as opened:
        Stores.at(opened).pilots.set(a_pilot())
        yield opened


def handed_in(installed: Installation, file: bytes, file_format: FileFormat) -> Job:
    arrival = Arrival(Stores.at(installed), "demo", 30, clock.wall_us(), bytes(7))
    for start in range(0, len(file), PART_BYTES):
        arrival.add(file[start : start + PART_BYTES])
    return arrival.finish(file_format, Wishes(), "key_1")


def repeated(count: int, length: int) -> pa.Array[Any]:
    """So many long values, over and over: little in a file, and gigabytes in memory."""
    values = [f"{number:04}" + "x" * length for number in range(count)]
    return pa.DictionaryArray.from_arrays(np.arange(ROWS, dtype=np.int32) % count, values)


def history_with(borrowers: pa.Array[Any]) -> bytes:
    written = io.BytesIO()
    columns = history_columns(ROWS) | {"borrower_id": borrowers}
    pyarrow.parquet.write_table(
        pa.table(columns),
        written,
        compression="zstd",
        store_schema=False,
        dictionary_pagesize_limit=64 << 20,
    )
    return written.getvalue()


WORKER = [sys.executable, "-P", "-m", "alama", "worker", "--jobs"]

MEASURED = """
import resource, subprocess, sys
limit = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
code = subprocess.call(sys.argv[2:])
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)
sys.exit(code)
"""
"""Between both: a process is charged with what the one that started it had taken."""


def done(installed: Installation, home: Path, job: Job) -> tuple[Job, str, int]:
    """Have a job done; give it, what the log says, and the most memory that was taken, in MB."""
    unread, kept_open = os.pipe()  # the worker would end with its standard input
    try:
        ended = subprocess.run(
            [sys.executable, "-c", MEASURED, str(MEMORY_BYTES), *WORKER],
            env=os.environ | {"ALAMA_HOME": str(home), "ALAMA_LOG": "json"},
            stdin=unread,
            capture_output=True,
            check=False,
        )
    finally:
        os.close(unread)
        os.close(kept_open)
    assert ended.returncode == 0, ended.stderr
    job = Stores.at(installed).jobs.find("demo", job.id)
    return job, ended.stderr.decode(), int(ended.stdout)


@pytest.mark.parametrize(
    ("borrowers", "words"),
    [
        # Counted before it is unfolded; and too long to be counted, so that memory ends it.
        ((1, 900_000), "is larger than 1,024 MiB once it is unpacked"),
        ((20, 900_000), "it needs more memory than a job may take"),
    ],
)
@pytest.mark.long
def test_a_small_file_that_would_take_gigabytes_ends_its_own_job(
    installed: Installation, tmp_path: Path, borrowers: tuple[int, int], words: str
) -> None:
    file = history_with(repeated(*borrowers))
    assert len(file) < 500_000
    job, log, taken_mb = done(installed, tmp_path, handed_in(installed, file, FileFormat.PARQUET))
    assert job.state is JobState.FAILED
    assert words in (job.error or "")
    assert "defect" not in log
    assert taken_mb < MEMORY_BYTES >> 20


@pytest.mark.long
def test_text_that_is_not_utf_8_leaves_no_byte_of_it_in_the_log(
    installed: Installation, tmp_path: Path
) -> None:
    file = b"borrower_id,amount\nb1,1\nJos\xe9,1,2\n"
    job, log, _ = done(installed, tmp_path, handed_in(installed, file, FileFormat.CSV))
    assert job.state is JobState.FAILED
    assert "row 2 has 3 values" in (job.error or "")
    assert "history.csv" in (job.error or "")
    for trace in ("Traceback", "0xe9", "Jos", "defect"):
        assert trace not in log
