"""A container that lasts: what an image starts by itself, and how an engine ends it."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Self

from tests.images.image import Image, Mount


class Container:
    """What the image starts by itself, as process 1, from `with` to its end."""

    def __init__(
        self, image: Image, mounts: Sequence[Mount], env: Mapping[str, str], log: IO[bytes]
    ) -> None:
        words = [*image.config.entrypoint, *image.config.cmd]
        self._stop_signal = signal.Signals[image.config.stopsignal]
        self._process = subprocess.Popen(
            image.command(words, mounts=mounts, env=env),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()  # and with it, as --kill-child says, all that it holds
        self._process.wait()

    @property
    def pid(self) -> int:
        """Process 1 of the container, as this machine numbers it."""
        own = self._process.pid
        return int(Path(f"/proc/{own}/task/{own}/children").read_text("utf-8"))

    @property
    def exit_code(self) -> int | None:
        return self._process.poll()

    def stop(self, wait_s: float) -> int:
        """The signal of the image, to process 1 alone; its exit code."""
        if os.geteuid() == 0:
            os.kill(self.pid, self._stop_signal)
        else:  # it is another user, one of ours
            into = ["nsenter", f"--target={self.pid}", "--user", "--preserve-credentials"]
            subprocess.run([*into, "kill", f"-{self._stop_signal}", str(self.pid)], check=True)
        return self._process.wait(wait_s)
