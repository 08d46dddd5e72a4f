"""Walk the operator's guide: a Debian with nothing on it, and each of its commands as written.

    make walk

Every block of the guide, and then of the pages on secrets and on failures, is typed into one shell
of root, in a clean Debian with processes and mounts of its own and, once packages are there,
without any network. Blocks for a new server are typed in a second one, which gets the bundle, the
backup and the copy of /etc/alama of the first; those for days later at the very end. The next
version that the guide upgrades to is this one with a larger number and a migration more. What was
typed and said stands in build/walk.log. Needs root and apt, and takes some minutes.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from itertools import chain
from pathlib import Path
from typing import IO, Final

import alama
from alama.platform.database import tables
from tests.guide.guide import PAGES, ROOT, Block, GuideFailed, Shell, Where, blocks, missing

BUILD: Final = ROOT / "build"
LOG: Final = BUILD / "walk.log"
WORK: Final = BUILD / "walk"
DEBIAN: Final = WORK / "debian"
SECOND: Final = WORK / "second"
NEXT: Final = WORK / "next"
CARRIED_TO: Final = "var/tmp"
"""Of the server: where the guide has a bundle carried to."""

PACKAGES: Final = "1. Packages"
PROGRAM: Final = "2. Alama"
WITH_SYSTEMD: Final = (Where.SYSTEMD, Where.NEW_SYSTEMD)

# What a Debian server has, and what debootstrap leaves out.
OF_A_SERVER: Final = "apt-get update -qq && apt-get install -qq --yes systemd adduser"
OFFLINE: Final = "service postgresql start\n! curl -s -m 5 http://deb.debian.org\n"

CARRIED: Final = {
    "root/etc-alama.tar.gz": "etc-alama.tar.gz",
    "var/backups/alama/first.backup": "newest.backup",
}
"""From the first server to the second."""

# The folders of the kernel, loopback, and then nothing of this machine but its devices.
ENTER: Final = """
set -e
mount -t proc proc "$1/proc"
mount --rbind /dev "$1/dev"
mount -t tmpfs tmpfs "$1/run"
mkdir -p "$1/run/lock"
[ "$2" = online ] || ip link set lo up
exec chroot "$1" /usr/bin/env -i HOME=/root TERM=dumb LANG=C.UTF-8 \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    DEBIAN_FRONTEND=noninteractive /bin/bash --noprofile --norc
"""

JUDGE_UNITS: Final = """
cp -n {folder}/deploy/host/*.service {folder}/deploy/host/*.timer /etc/systemd/system/
for unit in /etc/systemd/system/alama*; do
    [ ! -f "$unit" ] || systemd-analyze verify "$unit"
done
for unit in /etc/systemd/system/alama*.service; do
    systemd-analyze security --offline=true --threshold=25 --no-pager "$unit" | tail -n 1
done
"""

# What the guide installs for a machine without systemd, where it does not come to it by itself.
JUDGE_SCRIPTS: Final = """
cd /root
service alama status
echo ALAMA_DELIVERY=alone >>/etc/alama/alama.env
cp -p /etc/alama/pepper ~/pepper-kept
openssl rand -hex 32 >/etc/alama/pepper
service alama restart || echo "start ended with $?"
service alama stop
service alama status || echo "status ended with $?"
cat ~/pepper-kept >/etc/alama/pepper
service alama start
service alama-worker start
service alama-worker status
service alama-worker stop
runuser -u nobody -- alama settings || echo "refused with $?"
alama db backup here.backup || echo "refused with $?"
logrotate --debug /etc/logrotate.d/alama 2>&1 | grep -c 'considering log'
sh -c "$(sed -n 's/^[^#].* root //p' /etc/cron.d/alama | sed 's/\\\\%/%/g')"
ls /var/backups/alama/nightly
SUDO_USER=wanjiru alama keys issue --lender umoja --mode test >/dev/null
alama audit log --limit 1 | grep -o wanjiru
stat -c '%a %n' /var/log/nginx/alama.log
ls ~/test-authority || echo "the key of the authority is gone"
"""
SCRIPTS_SAY: Final = """\
alama runs
...
alama has ended; the end of /var/log/alama.log:
...another pepper...
start ended with 1
alama does not run
status ended with 3
...
alama-worker runs
...
alama: run it as root...
refused with 2
...
alama: the user alama may not enter /root...
refused with 2
2
...
....backup
...
wanjiru
640 /var/log/nginx/alama.log
...
the key of the authority is gone
"""

NEXT_MIGRATION: Final = '''"""A table more: all that the next version of the walk has."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "{revision}"
down_revision = "{before}"
serves = "{before}"


def upgrade() -> None:
    op.create_table("walked", sa.Column("id", sa.Integer(), primary_key=True))
'''


class Transcript:
    """What was typed and what was said, in a file; and a line for each step on the screen."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._began_s = time.monotonic()

    def say(self, words: str) -> None:
        passed_s = time.monotonic() - self._began_s
        line = f"{passed_s:6.0f} s  {words}"
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
        self.write(f"=== {line}\n")

    def write(self, text: str) -> None:
        self._file.write(text)
        self._file.flush()


def session(transcript: Transcript, network: str, debian: Path = DEBIAN) -> Shell:
    """Give a shell of root in a clean Debian; whatever it has started ends with it."""
    apart = ["--mount", "--pid", "--fork", "--kill-child"]
    if network != "online":
        apart.append("--net")
    enter = ["unshare", *apart, "sh", "-c", ENTER, "enter", str(debian), network]
    return Shell(enter, transcript.write)


class Walk:
    """From nothing to a restored service."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self._pages = [page.read_text("utf-8") for page in PAGES]
        self._trees = iter((ROOT, NEXT))
        self._session: Shell | None = None
        self._second: Shell | None = None
        self._step = ""

    def go(self) -> None:
        self._prepare()
        later = []
        for block in chain.from_iterable(blocks(page) for page in self._pages):
            if block.step != self._step:
                self._begin(block.step)
            if block.where is Where.LATER:
                later.append(block)
            elif block.where not in WITH_SYSTEMD:
                self._do(block)
        self._transcript.say("days later")
        for block in later:
            self._do(block)
        self._judge_scripts()
        self._judge_units()
        self.leave()

    def _do(self, block: Block) -> None:
        if block.where is Where.ELSEWHERE:
            said = self._carry(block)
        elif block.where is Where.NEW:
            said = self._type(block, self._new_server())
        else:
            said = self._type(block, self._session)
        require(block.shown, said)

    def _new_server(self) -> Shell:
        """Give a shell on the second server, which has what the first one left and its program."""
        if self._second is None:
            for name, carried in CARRIED.items():
                shutil.copyfile(DEBIAN / name, SECOND / CARRIED_TO / carried)
            for bundle in (ROOT / "dist").glob(f"*{alama.__version__}-offline.tar.gz"):
                shutil.copy(bundle, SECOND / CARRIED_TO)
            self._second = session(self._transcript, "offline", SECOND)
            self._second.type(OFFLINE)
            for block in blocks(self._pages[0]):
                if block.step == PROGRAM:
                    require(block.shown, self._type(block, self._second))
        return self._second

    def _prepare(self) -> None:
        self._transcript.say(f"Alama {alama.__version__}: a Debian with nothing on it")
        shutil.rmtree(WORK, ignore_errors=True)
        WORK.mkdir(parents=True)
        self._run(["tools/clean-root", str(DEBIAN)], ROOT)
        make_next(self._pages[0])
        self._session = session(self._transcript, "online")
        self._session.type(f"{OF_A_SERVER}\n")

    def _begin(self, step: str) -> None:
        if self._step == PACKAGES:
            # As after a restart of the server; and whatever is to come, comes without a network.
            self.leave()
            self._run(["cp", "--archive", str(DEBIAN), str(SECOND)], ROOT)
            self._session = session(self._transcript, "offline")
            self._session.type(OFFLINE)
        self._step = step
        self._transcript.say(step)

    def _type(self, block: Block, shell: Shell | None) -> str:
        assert shell is not None
        self._transcript.write("".join(f"# {line}\n" for line in block.commands.splitlines()))
        return shell.type(block.commands)

    def _carry(self, block: Block) -> str:
        tree = next(self._trees)
        said = self._run(["sh", "-ec", block.commands], tree)
        for bundle in (tree / "dist").glob("*-offline.tar.gz"):
            shutil.copy(bundle, DEBIAN / CARRIED_TO)
        return said

    def _judge_scripts(self) -> None:
        self._transcript.say("scripts for a machine without systemd")
        assert self._session is not None
        require(SCRIPTS_SAY, self._session.type(JUDGE_SCRIPTS))

    def _judge_units(self) -> None:
        self._transcript.say("systemd judges the units")
        assert self._session is not None
        folder = f"/{CARRIED_TO}/alama-{alama.__version__}-offline"
        said = self._session.type(JUDGE_UNITS.format(folder=folder))
        if said.count("Overall exposure level") < 2:
            raise GuideFailed(f"systemd says: {said}")

    def leave(self) -> None:
        """Switch the servers off."""
        for shell in (self._session, self._second):
            if shell is not None:
                shell.close()
        self._session = self._second = None

    def _run(self, command: list[str], folder: Path) -> str:
        done = subprocess.run(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        self._transcript.write(done.stdout)
        if done.returncode:
            raise GuideFailed(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}")
        return done.stdout


def require(shown: str, said: str) -> None:
    absent = missing(shown, said)
    if absent is not None:
        raise GuideFailed(f"the guide shows {absent!r}, and this was said:\n{said}")


def make_next(page: str) -> None:
    """Make the tree of the next version, as the guide calls it: a migration more than this one."""
    found = re.search(r"^NEXT=(\S+)$", page, re.MULTILINE)
    assert found is not None, "the guide upgrades to no version"
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(listing, cwd=ROOT, capture_output=True, check=True, text=True)
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (NEXT / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, NEXT / name)
    (NEXT / ".venv").symlink_to(ROOT / ".venv")
    revision = f"{int(tables.HEAD) + 1:04}"
    package = NEXT / "src" / "alama"
    versions = package / "storage" / "migrations" / "versions"
    migration = NEXT_MIGRATION.format(revision=revision, before=tables.HEAD)
    (versions / f"{revision}_walked.py").write_text(migration, "utf-8")
    replace(package / "__init__.py", f'"{alama.__version__}"', f'"{found[1]}"')
    replace(package / "storage" / "schema.py", f'"{tables.HEAD}"', f'"{revision}"')


def replace(file: Path, old: str, new: str) -> None:
    text = file.read_text("utf-8")
    assert old in text, file
    file.write_text(text.replace(old, new, 1), "utf-8")


def main() -> int:
    if os.geteuid() != 0:
        sys.stderr.write("only root can walk the guide: it makes a Debian of its own\n")
        return 2
    BUILD.mkdir(exist_ok=True)
    with LOG.open("w", encoding="utf-8") as file:
        transcript = Transcript(file)
        walk = Walk(transcript)
        try:
            walk.go()
        except GuideFailed as failed:
            transcript.say("FAILED")
            transcript.write(f"{failed}\n")
            sys.stderr.write(f"{failed}\nThe whole walk is in {LOG.relative_to(ROOT)}.\n")
            return 1
        finally:
            walk.leave()
        transcript.say("the guide holds, word for word")
    # What failed is left to be looked at.
    shutil.rmtree(WORK)
    return 0


if __name__ == "__main__":
    sys.exit(main())
