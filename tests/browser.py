"""A real browser for pages: Chromium without a window, and with nobody to call home to."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))), None)
QUIET = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--allow-file-access-from-files",
    "--virtual-time-budget=10000",
)

needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed here")


def chromium(folder: Path, *arguments: str) -> str:
    """What the browser prints; its profile goes into the folder."""
    assert CHROMIUM is not None
    finished = subprocess.run(
        [CHROMIUM, *QUIET, f"--user-data-dir={folder / 'profile'}", *arguments],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return finished.stdout
