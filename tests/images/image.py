"""Images without an engine: the steps of a Containerfile done in a root of our own, and run in it.

A stage is a folder, and a base is folders of a Linux that are laid under it and never written to:
those of this machine, or those of a clean Debian. A container is a process in namespaces of its own
with that root and as process 1, as an engine starts it; `tests.images.container` has those that
last. The network is the one of this machine.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from tests.images.containerfile import (
    KEPT_BACK,
    Instruction,
    Stage,
    UnknownInstruction,
    filled,
    is_sent,
    stages,
)

ROOT = Path(__file__).parents[2]
CONTAINERFILE = ROOT / "deploy" / "container" / "Containerfile"
DOCKERIGNORE = ROOT / ".dockerignore"

# What every engine gives the commands of a build, and what the base of ours sets.
BUILD_ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin"}

ROOM_BYTES = 2 * 10**9

# Those who do not run as root become it among their own subordinate users, if they have some.
NAMESPACES = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private")
OWN_USERS = ("--user", "--map-root-user", "--map-auto")

# Puts the root together, and enters it. $1: the stage, $2: ro or rw, then what is laid below it as
# TARGET SOURCE, up to a `--`, then what is mounted into it as TARGET SOURCE MODE, up to a `--`.
ENTER = r"""
set -e
stage=$1; mode=$2; root=$stage/root; shift 2
mount --bind "$stage/tree" "$root"
number=0
while [ "$1" != -- ]; do
    number=$((number + 1))
    mkdir -p "$stage/upper/$number" "$stage/work/$number"
    mount -t overlay overlay "$root$1" \
        -o "$mode,lowerdir=$2,upperdir=$stage/upper/$number,workdir=$stage/work/$number"
    shift 2
done
shift
[ "$mode" = rw ] || mount -o remount,bind,ro "$root"
mount -t proc -o nosuid,nodev,noexec proc "$root/proc"
mount -t tmpfs -o mode=0755 tmpfs "$root/dev"
for device in null zero full random urandom; do
    : >"$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device"
done
mkdir -m 1777 "$root/dev/shm"
ln -s /proc/self/fd "$root/dev/fd"
mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs "$root/tmp"
while [ "$1" != -- ]; do
    mount --bind "$2" "$root$1"
    [ "$3" = rw ] || mount -o remount,bind,ro "$root$1"
    shift 3
done
shift
exec chroot "$root" "$@"
"""


class BuildFailed(AssertionError):
    """A step of the Containerfile failed; carries what it printed."""


class Base(NamedTuple):
    """What an image starts from."""

    below: Mapping[str, Path]
    """Folders that are laid below those of the image."""
    links: Mapping[str, str]
    etc: Mapping[str, Path]
    """Files and folders below /etc, which are copied."""


class Mount(NamedTuple):
    target: str
    source: Path
    mode: str = "ro"


@dataclass(frozen=True)
class Config:
    """What an image says of how it is run."""

    env: Mapping[str, str] = field(default_factory=lambda: dict(BUILD_ENVIRONMENT))
    labels: Mapping[str, str] = field(default_factory=dict)
    workdir: str = "/"
    user: str = "0:0"
    entrypoint: Sequence[str] = ()
    cmd: Sequence[str] = ()
    healthcheck: Sequence[str] = ()
    volumes: Sequence[str] = ()
    ports: Sequence[str] = ()
    stopsignal: str = "SIGTERM"


@dataclass(frozen=True)
class Image:
    """A stage that was built."""

    folder: Path
    base: Base
    config: Config

    @property
    def tree(self) -> Path:
        """What the image holds beside its base."""
        return self.folder / "tree"

    def command(
        self,
        words: Sequence[str],
        *,
        mounts: Sequence[Mount] = (),
        env: Mapping[str, str] | None = None,
    ) -> list[str]:
        """How `words` are run in a container: read-only, without rights, as the user of the image.

        Process 1 of the container is the one child of the process that this command starts.
        """
        user, _, group = self.config.user.partition(":")
        drop = ["setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups"]
        drop += ["--no-new-privs", "--bounding-set=-all", "--inh-caps=-all"]
        enter = ["env", "--ignore-environment", f"--chdir={self.config.workdir}"]
        values = {"HOME": "/var/lib/alama", **self.config.env, **(env or {})}
        settings = [f"{name}={value}" for name, value in values.items()]
        return [*_enter(self, "ro", mounts), *drop, *enter, *settings, *words]

    def run(
        self, *words: str, mounts: Sequence[Mount] = (), env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """A command of its own in a container of its own, to its end."""
        command = self.command(words, mounts=mounts, env=env)
        return subprocess.run(command, capture_output=True, text=True, check=False)


def of_this_machine() -> Base:
    """Its programs and libraries, and the Python that runs the tests where images have theirs."""
    below, links = _linux(Path("/"))
    prefix = Path(sys.base_prefix)
    if prefix not in (Path("/usr"), Path("/usr/local")):
        # And where it was built for: it may know its own library by that path.
        below |= {"/usr/local": prefix, str(prefix): prefix}
    kept = ["alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "nsswitch.conf", "hosts"]
    etc = {name: Path("/etc", name) for name in kept if Path("/etc", name).exists()}
    return Base(below, links, etc)


def of_folder(root: Path) -> Base:
    """A whole Linux in a folder of its own."""
    return Base(*_linux(root), {path.name: path for path in (root / "etc").iterdir()})


@cache
def why_not() -> str | None:
    """Why no image can be run here; None if one can."""
    missing = [name for name in ("unshare", "setpriv", "chroot") if shutil.which(name) is None]
    if missing:
        return f"{missing[0]} is not installed"
    mounts = "mount -t tmpfs t /mnt && cd /mnt && mkdir l u w m && mount -t overlay o m"
    probe = [*_namespaces(), "sh", "-c", f"{mounts} -o lowerdir=l,upperdir=u,workdir=w"]
    done = subprocess.run(probe, capture_output=True, text=True, check=False)
    reason = done.stderr.strip().replace("\n", "; ")
    return f"no namespaces for this user here: {reason}" if done.returncode else None


def build(target: str, base: Base, folder: Path, wheels: Path, **arguments: str) -> Image:
    """The target of our Containerfile, below `folder`."""
    return build_all(target, base, folder, wheels, **arguments)[target]


def build_all(
    target: str, base: Base, folder: Path, wheels: Path, **arguments: str
) -> dict[str, Image]:
    """The target of our Containerfile and every stage that it needs before it, by their names.

    `wheels` is where pip finds packages, in place of an index; the hashes of the lock hold as well.
    """
    todo = {stage.name: stage for stage in stages(CONTAINERFILE.read_text("utf-8"))}
    done: dict[str, Image] = {}

    def finish(name: str) -> Image:
        if name not in done:
            stage = todo[name]
            copied = {step.flags["from"] for step in stage.instructions if "from" in step.flags}
            for before in copied:
                finish(before)
            origin = finish(stage.origin) if stage.origin in todo else None
            done[name] = _build(
                stage, origin, base, folder / name, _Around(done, wheels, arguments)
            )
        return done[name]

    finish(target)
    return done


@contextmanager
def room(other: Path) -> Iterator[Path]:
    """A folder to build in: in memory where there is enough of it, otherwise `other`.

    An image is ten thousand files, which a disk takes seconds to write and to remove.
    """
    memory = Path("/dev/shm")  # noqa: S108
    is_roomy = memory.is_dir() and shutil.disk_usage(memory).free > ROOM_BYTES
    folder = Path(tempfile.mkdtemp(prefix="alama-image-", dir=memory if is_roomy else other))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        remove(folder)


def give(folder: Path, user: str) -> None:
    """Make the folder and all it holds belong to the user of an image."""
    subprocess.run([*_namespaces(), "chown", "-R", user, str(folder)], check=True)


def remove(folder: Path) -> None:
    """All that was built there, whoever owns it."""
    subprocess.run([*_namespaces(), "rm", "-rf", str(folder)], check=True)


class _Around(NamedTuple):
    """What a step may use beside its own stage."""

    done: Mapping[str, Image]
    wheels: Path
    arguments: Mapping[str, str]


def _build(stage: Stage, origin: Image | None, base: Base, folder: Path, around: _Around) -> Image:
    if origin is None:
        assert "@sha256:" in stage.origin, f"{stage.origin} is no stage, and not pinned"
        _lay_out(base, folder)
        image = Image(folder, base, Config())
    else:
        _copy_exactly(origin.folder, folder)
        image = replace(origin, folder=folder)
    # The folder that an overlay works in belongs to that one mount.
    shutil.rmtree(folder / "work", ignore_errors=True)
    variables: dict[str, str] = {}
    for step in stage.instructions:
        if step.name == "ARG":
            name, _, default = step.value.partition("=")
            variables[name] = around.arguments.get(name, default)
        elif step.name == "COPY":
            _copy(step, image, around.done)
        elif step.name == "RUN":
            _run(step, image, variables, around.wheels)
        else:
            image = replace(image, config=_configured(step, image.config, variables))
            if step.name == "WORKDIR":
                (image.tree / step.value.lstrip("/")).mkdir(parents=True, exist_ok=True)
    return image


def _configured(step: Instruction, config: Config, variables: Mapping[str, str]) -> Config:
    value = step.value
    match step.name:
        case "ENV":
            change: dict[str, Any] = {"env": {**config.env, **step.pairs()}}
        case "LABEL":
            labels = {name: filled(text, variables) for name, text in step.pairs().items()}
            change = {"labels": {**config.labels, **labels}}
        case "ENTRYPOINT":
            change = {"entrypoint": step.words(), "cmd": ()}
        case "CMD":
            change = {"cmd": step.words()}
        case "VOLUME":
            change = {"volumes": [*config.volumes, *step.words()]}
        case "EXPOSE":
            change = {"ports": [*config.ports, *value.split()]}
        case "HEALTHCHECK":
            command = step._replace(value="[]" if value == "NONE" else value.removeprefix("CMD "))
            change = {"healthcheck": command.words()}
        case "WORKDIR" | "USER" | "STOPSIGNAL":
            change = {step.name.lower(): value}
        case _:
            raise UnknownInstruction(f"line {step.line}: {step.name}")
    return replace(config, **change)


def _run(step: Instruction, image: Image, variables: Mapping[str, str], wheels: Path) -> None:
    assert image.config.user == "0:0", "a build step that is not root's"
    # How pip of this build finds packages, as its configuration would say elsewhere.
    pip = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "/mnt"}
    values = {"HOME": "/root", **image.config.env, **variables, **pip}
    enter = ["env", "--ignore-environment", f"--chdir={image.config.workdir}"]
    settings = [f"{name}={value}" for name, value in values.items()]
    into = _enter(image, "rw", [Mount("/mnt", wheels)])
    done = subprocess.run(
        [*into, *enter, *settings, "/bin/sh", "-c", step.value],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise BuildFailed(f"line {step.line}: RUN {step.value}\n{done.stdout}")


def _copy(step: Instruction, image: Image, done: Mapping[str, Image]) -> None:
    *sources, target = step.value.split()
    inside = Path(image.config.workdir, target)
    place = image.tree / inside.relative_to("/")
    place.mkdir(parents=True, exist_ok=True)
    for source in sources:
        if "from" in step.flags:
            # Linked from another stage, which nobody writes to again; quicker by seconds.
            path = done[step.flags["from"]].tree / source.lstrip("/")
            _copy_exactly(f"{path}/.", place, "--link", "--remove-destination")
            continue
        path = ROOT / source
        if not is_sent(source, DOCKERIGNORE.read_text("utf-8")):
            raise BuildFailed(f"line {step.line}: .dockerignore keeps {source} from the engine")
        if path.is_dir():
            leave = shutil.ignore_patterns(*KEPT_BACK)
            shutil.copytree(path, place, dirs_exist_ok=True, ignore=leave)
        else:
            shutil.copy2(path, place / path.name)


def _copy_exactly(source: Path | str, target: Path, *options: str) -> None:
    command = ["cp", "--archive", *options, str(source), str(target)]
    subprocess.run(command, check=True)


def _lay_out(base: Base, folder: Path) -> None:
    tree = folder / "tree"
    for name in (
        "dev",
        "etc",
        "mnt",
        "opt",
        "proc",
        "root",
        "run/secrets",
        "tmp",
        "usr",
        "var/lib",
    ):
        (tree / name).mkdir(parents=True)
    for target in base.below:
        (tree / target.lstrip("/")).mkdir(parents=True, exist_ok=True)
    for name, target in base.links.items():
        (tree / name).symlink_to(target)
    (folder / "root").mkdir()
    for name, source in base.etc.items():
        _copy_exactly(source, tree / "etc" / name)
    (tree / "etc" / "passwd").write_text("root:x:0:0:root:/root:/bin/sh\n", "utf-8")
    (tree / "etc" / "group").write_text("root:x:0:\n", "utf-8")


def _linux(root: Path) -> tuple[dict[str, Path], dict[str, str]]:
    """The folders of programs and libraries, and the links to them."""
    below, links = {"/usr": root / "usr"}, {}
    for name in ("bin", "lib", "lib64", "sbin"):
        path = root / name
        if path.is_symlink():
            links[name] = str(path.readlink())
        elif path.exists():
            below[f"/{name}"] = path
    return below, links


def _enter(image: Image, mode: str, mounts: Sequence[Mount]) -> list[str]:
    below = [part for target, source in image.base.below.items() for part in (target, str(source))]
    mounted = [part for mount in mounts for part in (mount.target, str(mount.source), mount.mode)]
    script = ["sh", "-c", ENTER, "sh", str(image.folder), mode]
    return [*_namespaces(), *script, *below, "--", *mounted, "--"]


def _namespaces() -> list[str]:
    return [*NAMESPACES, *(() if os.geteuid() == 0 else OWN_USERS)]
