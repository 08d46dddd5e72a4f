"""The process of a job: refused memory beyond its limit, and no picture of it on the disk."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from alama.onboarding.job_runner import (
    MEMORY_BYTES_MIN,
    memory_for_a_job,
    memory_there,
)
from alama.platform.process_limits import blame_first

HUNGRY = """
import os, resource
from alama.onboarding.job_runner import bound_process
bound_process(600 << 20, 3)
import pyarrow as pa, numpy as np
print(resource.getrlimit(resource.RLIMIT_CORE), pa.default_memory_pool().backend_name)
for take in (lambda: np.ones(1 << 27), lambda: pa.allocate_buffer(1 << 30), lambda: bytes(1 << 30)):
    try:
        take()
    except MemoryError as error:
        print("refused")
print(len(bytes(1 << 20)))
print(os.environ["OPENBLAS_NUM_THREADS"], os.environ["OMP_NUM_THREADS"])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the system knows no such limit")
def test_memory_beyond_the_limit_is_refused_to_every_library_and_the_process_goes_on() -> None:
    ours = {name: value for name, value in os.environ.items() if "_NUM_THREADS" not in name}
    command = [sys.executable, "-P", "-c", HUNGRY]
    done = subprocess.run(command, env=ours, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "(0, 0) system",
        "refused",
        "refused",
        "refused",
        str(1 << 20),
        "3 3",
    ]


@pytest.mark.parametrize(("before", "after"), [("0\n", 500), ("500\n", 500), ("900\n", 900)])
def test_a_job_is_ended_first_and_no_later_than_an_operator_has_said(
    tmp_path: Path, before: str, after: int
) -> None:
    score = tmp_path / "oom_score_adj"
    score.write_text(before)
    blame_first(score)
    assert int(score.read_text()) == after
    blame_first(tmp_path / "absent")
    assert not (tmp_path / "absent").exists()


def test_a_container_or_a_unit_with_less_than_its_machine_is_what_counts(tmp_path: Path) -> None:
    absent, own = tmp_path / "absent", tmp_path / "cgroup"
    machine = memory_there(absent, absent)
    (tmp_path / "memory.max").write_text("536870912\n")
    assert memory_there(tmp_path, absent) == 512 << 20
    (tmp_path / "memory.max").write_text("max\n")
    assert memory_there(tmp_path, absent) == machine
    own.write_text("0::/system.slice/alama-worker.service\n")
    (tmp_path / "system.slice" / "alama-worker.service").mkdir(parents=True)
    (tmp_path / "system.slice" / "alama-worker.service" / "memory.max").write_text("268435456\n")
    assert memory_there(tmp_path, own) == 256 << 20
    assert memory_for_a_job() >= MEMORY_BYTES_MIN
