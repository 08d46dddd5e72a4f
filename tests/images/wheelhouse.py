"""The wheels that the locks name, fetched once for each lock and kept below build/."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "build" / "wheels"

# What the image builds the wheel of Alama with; the Containerfile names the same.
BUILD = "hatchling|packaging|pathspec|pluggy|tomlkit|trove-classifiers"


def clean_environment() -> dict[str, str]:
    """Of whoever runs the tests, without what would lead a Python to this repository."""
    ours = ("PYTHON", "COV", "COVERAGE", "ALAMA_")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}


def wheelhouse(locks: Sequence[str] = ("serve",), python: str | None = None) -> Path:
    """A folder with every wheel of `requirements/LOCK.txt`, and those that build ours.

    `python` is a version such as "3.13"; by default that which runs this.
    """
    version = python or "{}.{}".format(*sys.version_info)
    parts = [ROOT.joinpath("requirements", f"{lock}.txt").read_text("utf-8") for lock in locks]
    lock = "\n".join([_tools(), *parts])
    place = KEPT / hashlib.sha256(f"{version} {lock}".encode()).hexdigest()[:16]
    if not place.exists():
        KEPT.mkdir(parents=True, exist_ok=True)
        new = Path(tempfile.mkdtemp(dir=KEPT))
        try:
            _fetch([_tools(), *parts], version, new)
            new.chmod(0o755)
            new.rename(place)
        finally:
            shutil.rmtree(new, ignore_errors=True)
    return place


def _tools() -> str:
    text = ROOT.joinpath("requirements", "dev.txt").read_text("utf-8")
    return "".join(re.findall(rf"^(?:{BUILD})==.*\n(?: .*\n)*", text, re.MULTILINE))


def _fetch(locks: Sequence[str], version: str, place: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-qq", "download"]
    exactly = ["--no-deps", "--require-hashes", "--only-binary", ":all:"]
    for number, text in enumerate(locks):
        lock = place / f"{number}.txt"
        lock.write_text(text, "utf-8")
        rest = ["--python-version", version, "--dest", str(place), "--requirement", str(lock)]
        done = subprocess.run(
            [*pip, *exactly, *rest],
            capture_output=True,
            text=True,
            check=False,
            env=clean_environment(),
        )
        assert done.returncode == 0, done.stdout + done.stderr
        lock.unlink()
