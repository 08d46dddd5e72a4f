"""A child process: score one file into another and tell seconds and memory."""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa

from alama.batch.scoring import Options, TableScoring
from alama.core.model import decode
from alama.platform.files import writer
from alama.platform.files.reader import open_table


def main(model_path: str, source: str) -> None:
    """Score with contributions on one thread."""
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    model = decode(Path(model_path).read_bytes())
    scoring = TableScoring(model, open_table(Path(source)), Options(contributions=True))
    memory = [resident_mb()]
    rows = 0
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="alama-bench-") as folder:
        target = Path(folder, "scored.parquet")
        with writer.open_table(target, scoring.schema) as table:
            for batch in scoring.batches():
                table.write(batch)
                rows += batch.num_rows
                memory.append(resident_mb())
        seconds = time.perf_counter() - started
    tenth = max(1, len(memory) // 10)
    print(
        json.dumps(
            {
                "rows_a_second": round(rows / seconds),
                "seconds": round(seconds, 2),
                "mb_before": memory[0],
                "mb_after_a_tenth": memory[tenth],
                "mb_after_half": memory[len(memory) // 2],
                "mb_at_the_end": memory[-1],
                "mb_peak": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
            }
        )
    )


def resident_mb() -> int:
    """Give the memory this process holds now; its peak where the system does not tell."""
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) // 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


if __name__ == "__main__":
    main(*sys.argv[1:])
