"""Figures of several processes in one folder: to be asked for before `metrics` is imported."""

from __future__ import annotations

import os


def share(folder: str) -> None:
    """Let this process, and those that it starts from now on, write its figures into a folder."""
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
