"""`alama worker` in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from alama.lenders import installation
from alama.platform import settings


def install(home: Path) -> None:
    """Make what the first start of `alama serve` makes: a worker finds it there."""
    installation.open_installation(settings.Settings(home=str(home))).close()


@contextmanager
def worker(
    home: Path, *arguments: str, stdin: int, **environment: str
) -> Iterator[subprocess.Popen[bytes]]:
    """Start one and wait until it delivers; at the end it is gone, however the test went."""
    install(home)
    foreign = {name: value for name, value in os.environ.items() if not name.startswith("ALAMA_")}
    ours = {"ALAMA_HOME": str(home), "ALAMA_LOG": "json"}
    with subprocess.Popen(
        [sys.executable, "-m", "alama", "worker", *arguments],
        env=foreign | ours | environment,
        stdin=stdin,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            assert process.stderr is not None
            said = b""
            while b"deliveries_started" not in said:
                line = process.stderr.readline()
                assert line, said
                said += line
            yield process
        finally:
            process.kill()
