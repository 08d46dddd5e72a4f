"""A measurement that goes on inside an environment of peers, where both sides can be imported."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from bench.environment import ROOT, peers_python, settings, snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bench.environment import Peers

INTERRUPTED = 130


def run(peers: Peers, module: str, arguments: Sequence[str]) -> int:
    """Run a module on a copy of the sources and give its exit code, or `INTERRUPTED`."""
    command = [str(peers_python(peers)), "-m", module, *arguments]
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with snapshot() as source, _family(command, settings(source)) as process:
            return process.wait()
    except KeyboardInterrupt:
        return INTERRUPTED


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
