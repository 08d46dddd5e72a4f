"""`make image-check`: both images built twice in a clean Debian, file compared with file, and run.

The base of the images is a Debian of the same release with the Python of Debian: where there is no
engine, it stands in for the one that the Containerfile names. Needs root.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx

from alama.platform.files.packaged import sample_application
from tests.images import image as images
from tests.images.container import Container
from tests.images.image import ROOT, Base, Image, Mount
from tests.images.wheelhouse import wheelhouse
from tests.ports import HOST, free_port

PYTHON = "3.13"
SUITE = "trixie"
START_S_MAX = 60.0
STOP_S_MAX = 30.0
INSTALL = ("apt-get", "install", "--quiet=2", "--yes", "--no-install-recommends")
# The modules of a service whose bytecode is nowhere: each of its processes would make it anew.
UNCOMPILED = """
import os, sys
import alama.app.cli, alama.app.serving
cached = [getattr(module, "__cached__", None) for module in list(sys.modules.values())]
print([name for name in cached if name and not os.path.exists(name)])
"""
TRAINING = ["clarabel", "interpret", "pyarrow", "scipy", "sklearn"]


def main() -> int:
    if os.geteuid() != 0:
        sys.stderr.write("only root can make a Debian: run `make image-check` as root\n")
        return 2
    folder = Path(tempfile.mkdtemp(prefix="alama-images-"))
    folder.chmod(0o755)
    try:
        check(folder)
    finally:
        shutil.rmtree(folder)
    return 0


def check(folder: Path) -> None:
    base = clean_base(folder / "debian")
    wheels = wheelhouse(("serve", "train", "guide"), PYTHON)
    built = []
    for name in ("first", "second"):
        started = time.monotonic()
        built.append(images.build_all("train", base, folder / name, wheels))
        say(f"{name} build of both images: {time.monotonic() - started:.0f} s")
    for target in ("serve", "train"):
        one, two = (built[number][target].tree for number in (0, 1))
        different = sorted(path for path, _ in contents(one).items() ^ contents(two).items())
        assert not different, f"{target} is another in each build: {different[:10]}"
        count, size_mb = len(contents(one)), size_bytes(one / "opt") / 1e6
        say(f"{target}: {count} files the same to the byte; {size_mb:.0f} MB beside the base")
    serve, train = built[0]["serve"], built[0]["train"]
    probe = f"import importlib.util as u; print([m for m in {TRAINING} if u.find_spec(m)])"
    assert serve.run("python3", "-c", probe).stdout.strip() == "[]"
    trained = train.run("python3", "-c", f"import {', '.join(TRAINING)}")
    assert trained.returncode == 0, trained.stderr
    assert serve.run("python3", "-c", UNCOMPILED).stdout.strip() == "[]"
    for image in (serve, train):
        found = image.run("sh", "-c", "command -v cc gcc c++ ld make")
        assert found.stdout == "", f"a compiler: {found.stdout}"
    say("every module that serving imports is compiled")
    say("no compiler in either, no training library in serve, every one in train")
    run(serve, folder)
    say("serve starts as its user in a read-only tree, scores, and stops")


def clean_base(place: Path) -> Base:
    for command in (
        [ROOT / "tools" / "clean-root", place, SUITE],
        ["chroot", place, "apt-get", "update", "--quiet=2"],
        ["chroot", place, *INSTALL, "python3-venv", "python3-pip"],
        # The base that the Containerfile names comes without.
        [
            "find",
            place / "usr" / "lib",
            "-name",
            "__pycache__",
            "-prune",
            "-exec",
            "rm",
            "-r",
            "{}",
            "+",
        ],
    ):
        done = subprocess.run(
            [str(word) for word in command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
        )
        assert done.returncode == 0, done.stdout
    return images.of_folder(place)


def contents(tree: Path) -> dict[str, str]:
    """Every file below a tree: its rights, and what it holds or where it leads."""
    found = {}
    for path in tree.rglob("*"):
        status = path.lstat()
        about = f"{status.st_mode:o} {status.st_uid} {status.st_gid}"
        if path.is_symlink():
            about += f" {path.readlink()}"
        elif path.is_file():
            about += f" {hashlib.sha256(path.read_bytes()).hexdigest()}"
        if path.is_relative_to(tree / "opt" / "alama"):
            about += f" {status.st_mtime_ns}"
        found[str(path.relative_to(tree))] = about
    return found


def size_bytes(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir())


def run(image: Image, folder: Path) -> None:
    """The image on the database of its own, in two processes."""
    volume = folder / "volume"
    volume.mkdir(mode=0o700)
    images.give(volume, image.config.user)
    mounts = [Mount("/var/lib/alama", volume, "rw")]
    port = free_port()
    env = {
        "ALAMA_PORT": str(port),
        "ALAMA_METRICS_PORT": str(free_port()),
        "ALAMA_WORKERS": "2",
        "ALAMA_DELIVERY": "alone",
    }
    url, log = f"http://{HOST}:{port}", folder / "log"
    with log.open("wb") as file, Container(image, mounts, env, file) as container:
        deadline = time.monotonic() + START_S_MAX
        while image.run(*image.config.healthcheck, mounts=mounts, env=env).returncode != 0:
            assert container.exit_code is None, log.read_text("utf-8")
            assert time.monotonic() < deadline, log.read_text("utf-8")
        issue = ("keys", "issue", "--lender", "demo", "--mode", "test")
        key = image.run("alama", *issue, mounts=mounts, env=env).stdout.strip()
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        answer = httpx.post(f"{url}/v1/score", headers=headers, content=sample_application())
        assert answer.status_code == httpx.codes.OK, answer.text
        assert container.stop(STOP_S_MAX) == 0, log.read_text("utf-8")


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
