"""The front door: `python -m bench.engine [quick|full] [--part PART] [--tables DIR] [--fresh]`.

It makes the peers' environment where there is none, and goes on inside it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from bench.engine.options import parse
from bench.environment import ROOT, peers_python, settings, snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator


def main() -> int:
    """Run the measurement in the peers' environment and hand its exit code on."""
    parse(sys.argv[1:])  # a wrong option is refused before minutes of installing
    command = [str(peers_python()), "-m", "bench.engine.run", *sys.argv[1:]]
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with snapshot() as source, _family(command, settings(source)) as process:
            return process.wait()
    except KeyboardInterrupt:
        print("interrupted; the same command goes on where this one stopped")
        return 130


@contextmanager
def _family(command: list[str], variables: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """Start a command in a process group of its own, and end the group with it.

    Workers of a run that was stopped would otherwise go on boosting for nobody.
    """
    with subprocess.Popen(command, cwd=ROOT, env=variables, start_new_session=True) as process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main())
