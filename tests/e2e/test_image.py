"""The service exactly as the image runs it, on PostgreSQL and in two processes.

The steps of deploy/container/Containerfile are carried out in an empty root, from the wheel and the
lock; then it runs as the image says: its user, no rights, a tree that nobody can write to, its
environment, and secrets in files. Only the two ports are ours, because tests run side by side.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

import alama
from alama.platform.files.packaged import sample_application
from tests.databases import Postgres
from tests.images import image as images
from tests.images.check import UNCOMPILED
from tests.images.container import Container
from tests.images.image import Image, Mount
from tests.images.wheelhouse import wheelhouse
from tests.ports import HOST, free_port

START_S_MAX = 60.0  # a second or two; the machine may be busy with every other test
STOP_S_MAX = 30.0

pytestmark = [pytest.mark.long, pytest.mark.wheel, pytest.mark.xdist_group("wheel")]


class Installation(NamedTuple):
    """What an operator keeps of a container: its volume, its secrets and its settings."""

    image: Image
    mounts: list[Mount]
    env: Mapping[str, str]
    url: str
    log: Path

    def alama(self, *arguments: str) -> str:
        done = self.image.run("alama", *arguments, mounts=self.mounts, env=self.env)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def healthy(self) -> bool:
        """What HEALTHCHECK says."""
        check = self.image.config.healthcheck
        return self.image.run(*check, mounts=self.mounts, env=self.env).returncode == 0

    def start(self) -> Container:
        """The container, when it answers that it is ready."""
        with self.log.open("ab") as log:
            container = Container(self.image, self.mounts, self.env, log)
        deadline = time.monotonic() + START_S_MAX
        while not self._ready():
            if container.exit_code is not None or time.monotonic() > deadline:
                container.__exit__()
                raise AssertionError(f"did not start:\n{self.log.read_text('utf-8')}")
            time.sleep(0.05)
        return container

    def _ready(self) -> bool:
        try:
            return (
                httpx.get(f"{self.url}/readyz", trust_env=False, timeout=60).status_code
                == httpx.codes.OK
            )
        except httpx.TransportError:
            return False


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Image]:
    if reason := images.why_not():
        pytest.skip(reason)
    with images.room(tmp_path_factory.getbasetemp()) as folder:
        yield images.build(
            "serve", images.of_this_machine(), folder, wheelhouse(("serve", "guide"))
        )


@pytest.fixture
def installation(image: Image, postgres: Postgres, tmp_path: Path) -> Iterator[Installation]:
    volume, kept = tmp_path / "volume", tmp_path / "secrets"
    volume.mkdir(mode=0o700)
    kept.mkdir()
    port = free_port()
    with postgres.fresh() as database:
        values = {
            "database": database,
            "pepper": secrets.token_hex(32),
            "master-key": secrets.token_hex(32),
        }
        for name, value in values.items():
            (kept / name).write_text(f"{value}\n", "utf-8")
            (kept / name).chmod(0o400)
        for folder in (volume, kept):
            images.give(folder, image.config.user)
        (place,) = image.config.volumes
        mounts = [Mount(place, volume, "rw"), Mount("/run/secrets", kept)]
        env = {
            "ALAMA_DATABASE_FILE": "/run/secrets/database",
            "ALAMA_PEPPER_FILE": "/run/secrets/pepper",
            "ALAMA_MASTER_KEY_FILE": "/run/secrets/master-key",
            "ALAMA_DELIVERY": "alone",
            "ALAMA_WORKERS": "2",
            "ALAMA_PORT": str(port),
            "ALAMA_METRICS_PORT": str(free_port()),
        }
        yield Installation(image, mounts, env, f"http://{HOST}:{port}", tmp_path / "log")
    images.remove(volume)
    images.remove(kept)


def test_it_scores_on_postgresql_and_after_a_restart_everything_is_there(
    installation: Installation,
) -> None:
    installation.alama("db", "upgrade")
    installation.alama("lenders", "add", "demo", "--name", "Demo lender", "--currency", "KES")
    key = installation.alama("keys", "issue", "--lender", "demo", "--mode", "test")
    headers = {
        "Authorization": f"Bearer {key}",
        "Content-Type": "application/json",
        "Idempotency-Key": "order-1",
    }
    score = f"{installation.url}/v1/score"

    with installation.start() as container:
        first = httpx.post(score, headers=headers, content=sample_application(), timeout=60)
        assert first.status_code == httpx.codes.OK, first.text
        _require_no_rights(container.pid, installation.image.config.user)
        assert installation.healthy()
        guide = httpx.get(f"{installation.url}/docs/guide/keys.html")
        assert guide.status_code == httpx.codes.OK, guide.text
        assert "<h1>API keys" in guide.text
        assert container.stop(STOP_S_MAX) == 0
    assert not installation.healthy()

    with installation.start() as container:
        # Exits with 1 where anything is broken.
        examined = json.loads(installation.alama("doctor", "--json"))
        assert examined["summary"]["broken"] == 0
        assert examined["summary"]["ok"] > 20
        replayed = httpx.post(score, headers=headers, content=sample_application(), timeout=60)
        assert "idempotent-replayed" in replayed.headers
        assert replayed.content == first.content
        one = f"{installation.url}/v1/scores/{first.json()['request_id']}"
        kept = httpx.get(one, headers=headers, timeout=60)
        assert kept.status_code == httpx.codes.OK, kept.text
        assert kept.json()["score"] == first.json()["score"]
        assert container.stop(STOP_S_MAX) == 0

    log = installation.log.read_text("utf-8")
    assert log.count('"event":"worker_started"') == 4  # two processes, twice
    assert '"level":"error"' not in log
    assert key not in log


def test_nothing_can_be_written_but_the_volume_and_tmp(installation: Installation) -> None:
    places = ["/", "/etc", "/opt/alama/bin", "/usr/bin", "/run/secrets", "/var/lib"]
    write = 'for place; do touch "$place/new" 2>/dev/null && echo "$place"; done; true'
    done = installation.image.run(
        *("sh", "-c", write, "sh", *places, "/tmp", "/var/lib/alama"),  # noqa: S108 - of the image
        mounts=installation.mounts,
    )
    assert done.stdout.split() == ["/tmp", "/var/lib/alama"], done.stderr  # noqa: S108


def test_it_holds_no_pip_and_no_training_library(image: Image) -> None:
    strangers = [
        "clarabel",
        "interpret",
        "joblib",
        "pip",
        "pyarrow",
        "scipy",
        "setuptools",
        "sklearn",
        "sphinx",
    ]
    probe = f"import importlib.util as u; print([m for m in {strangers} if u.find_spec(m)])"
    assert image.run("python3", "-c", probe).stdout.strip() == "[]"
    assert image.run("alama", "--version").stdout.split() == ["alama", alama.__version__]
    assert image.config.labels["org.opencontainers.image.version"] == alama.__version__


def test_every_module_that_serving_imports_is_compiled(image: Image) -> None:
    assert image.run("python3", "-c", UNCOMPILED).stdout.strip() == "[]"


def test_every_module_has_bytecode_that_no_date_makes_stale(image: Image) -> None:
    (library,) = (image.tree / "opt" / "alama" / "lib").glob("python3.*")
    package = library / "site-packages" / "alama"
    sources = list(package.rglob("*.py"))
    compiled = list(package.rglob("*.pyc"))
    assert len(compiled) == len(sources) > 100
    assert {path.read_bytes()[4:8] for path in compiled} == {b"\1\0\0\0"}  # by hash, unchecked


def _require_no_rights(pid: int, user: str) -> None:
    status = Path(f"/proc/{pid}/status").read_text("utf-8")
    fields = {name: value.split() for name, value in (x.split(":", 1) for x in status.splitlines())}
    assert {fields[f"Cap{kind}"][0] for kind in ("Inh", "Prm", "Eff", "Bnd", "Amb")} == {"0" * 16}
    assert fields["NoNewPrivs"] == ["1"]
    assert fields["NSpid"][-1] == "1"
    own = int(user.partition(":")[0])
    mapped = Path(f"/proc/{pid}/uid_map").read_text("utf-8").split()
    inside, outside, _ = (int(number) for number in mapped[-3:])
    assert int(fields["Uid"][0]) == own - inside + outside
