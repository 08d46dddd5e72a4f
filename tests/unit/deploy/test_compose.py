"""deploy/compose.yaml keeps to the schema of compose, and to what its first lines promise."""

from __future__ import annotations

import os
import re
import shutil
import ssl
import stat
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import alama
from alama.platform import settings
from tests.certificates import Authority
from tests.unit.deploy.deployed import DEPLOY, documents, judge_by_schema

FILE = DEPLOY / "compose.yaml"
COMPOSE: dict[str, Any] = documents(FILE)[0]
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = ["alama", "worker", "migrate"]


def test_the_schema_of_compose_is_kept() -> None:
    judge_by_schema("check-jsonschema", "--builtin-schema", "vendor.compose-spec", FILE)


def test_the_schema_of_compose_would_find_something(tmp_path: Path) -> None:
    wrong = tmp_path / "compose.yaml"
    wrong.write_text(FILE.read_text("utf-8").replace("read_only:", "readonly:"), "utf-8")
    with pytest.raises(AssertionError, match="readonly"):
        judge_by_schema("check-jsonschema", "--builtin-schema", "vendor.compose-spec", wrong)


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_every_container_is_closed_and_bounded(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert not service.get("privileged")
    assert not service.get("cap_add")
    user, group = service["user"].split(":")
    assert int(user) > 0
    assert int(group) > 0
    assert {"mem_limit", "cpus", "pids_limit", "tmpfs", "stop_grace_period"} <= service.keys()
    assert "healthcheck" in service or name == "alama"  # the image brings that one


def test_images_are_pinned_by_digest_or_are_our_own_at_this_version() -> None:
    for name, service in SERVICES.items():
        if name in OURS:
            assert service["image"] == f"alama:{alama.__version__}"
            assert service["build"]["target"] == "serve"
        else:
            assert re.search(r":[\w.-]+@sha256:[0-9a-f]{64}$", service["image"])


@pytest.mark.parametrize("name", OURS)
def test_settings_are_ones_that_alama_knows_and_hold_no_secret(name: str) -> None:
    chosen = settings.read(SERVICES[name]["environment"])
    assert chosen.delivery == "alone"
    assert (chosen.database, chosen.pepper, chosen.master_key) == (None, None, None)
    mounted = {f"/run/secrets/{secret}" for secret in SERVICES[name]["secrets"]}
    files = {chosen.database_file, chosen.pepper_file, chosen.master_key_file}
    assert mounted == files | {"/run/secrets/database-certificate"}
    grace_s = int(SERVICES[name]["stop_grace_period"].removesuffix("s"))
    assert grace_s > chosen.stop_timeout


def test_no_literal_secret_stands_anywhere() -> None:
    for service in SERVICES.values():
        for variable, value in service.get("environment", {}).items():
            secret = re.search("PASSWORD|PEPPER|MASTER_KEY|DATABASE", variable)
            assert not secret or value.startswith("/run/secrets/"), variable
    assert all(secret.keys() == {"file"} for secret in COMPOSE["secrets"].values())


def test_only_the_proxy_is_published_and_the_database_leads_nowhere() -> None:
    assert [name for name, service in SERVICES.items() if "ports" in service] == ["proxy"]
    internal = {name for name, network in COMPOSE["networks"].items() if network.get("internal")}
    assert internal == {"front", "data"}
    assert SERVICES["postgres"]["networks"] == ["data"]
    assert set(SERVICES["alama"]["networks"]) == internal
    assert "data" not in SERVICES["proxy"]["networks"]


def test_others_wait_until_the_database_is_up_to_date() -> None:
    for name in ("alama", "worker"):
        condition = SERVICES[name]["depends_on"]["migrate"]["condition"]
        assert condition == "service_completed_successfully"
    assert SERVICES["migrate"]["command"] == ["db", "upgrade"]
    assert SERVICES["migrate"]["restart"] == "no"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to other users")
def test_the_secrets_made_are_each_for_the_user_who_needs_it_and_stay(tmp_path: Path) -> None:
    folder = tmp_path / "secrets"
    make = [DEPLOY / "compose" / "make-secrets", folder]
    first = subprocess.run(make, capture_output=True, text=True, check=True)
    assert first.stdout.count("still to do") == 2
    made = {path.name: path.read_text("utf-8") for path in folder.iterdir()}
    assert len(made["pepper"].strip()) == 64
    password = made["database-password"].strip()
    tls = "sslmode=verify-full&sslrootcert=/run/secrets/database-certificate"
    assert made["database"] == f"postgresql://alama:{password}@postgres/alama?{tls}\n"
    (folder / "master-key").write_text("", "utf-8")  # what a full disk leaves
    for name in ("tls.crt", "tls.key"):
        (folder / name).write_text("of the operator", "utf-8")
    again = subprocess.run(make, capture_output=True, text=True, check=True)
    assert again.stdout == ""
    now = {path.name: path.read_text("utf-8") for path in folder.iterdir()}
    assert now.keys() == made.keys() | {"tls.crt", "tls.key"}
    assert len(now["master-key"].strip()) == 64
    assert all(now[name] == made[name] for name in made if name != "master-key")
    files = {
        secret: folder / Path(place["file"]).name for secret, place in COMPOSE["secrets"].items()
    }
    for service in SERVICES.values():
        for secret in service.get("secrets", []):
            status = files[secret].stat()
            mode = stat.S_IMODE(status.st_mode)
            if secret == "database-certificate":  # no secret, and of two users  # noqa: S105
                assert (status.st_uid, mode) == (0, 0o444)
            else:
                assert (f"{status.st_uid}:{status.st_gid}", mode) == (service["user"], 0o400)
    _require_that_postgresql_is_known_by(files["database-certificate"], files["database-key"])


def _require_that_postgresql_is_known_by(certificate: Path, key: Path) -> None:
    """A handshake as of `sslmode=verify-full` to the host `postgres`."""
    server_side = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server_side.load_cert_chain(certificate, key)
    client_side = ssl.create_default_context(cafile=certificate)
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = client_side.wrap_bio(to_client, to_server, server_hostname="postgres")
    server = server_side.wrap_bio(to_server, to_client, server_side=True)
    for side in (client, server, client, server):
        with suppress(ssl.SSLWantReadError):
            side.do_handshake()
    subject = client.getpeercert()
    assert subject is not None
    assert subject["subjectAltName"] == (("DNS", "postgres"),)


def test_postgresql_shows_the_certificate_that_alama_asks_for() -> None:
    service = SERVICES["postgres"]
    assert service["command"] == [
        "postgres",
        "--ssl=on",
        "--ssl-cert-file=/run/secrets/database-certificate",
        "--ssl-key-file=/run/secrets/database-key",
    ]
    assert {"database-certificate", "database-key"} <= set(service["secrets"])
    assert not any("database-key" in SERVICES[name]["secrets"] for name in OURS)


def _rules(name: str) -> list[list[str]]:
    """The zones of a configuration of nginx, then what each server says but for where it is."""
    own = r"listen|server_name|ssl_certificate|ssl_certificate_key|access_log /|error_log"
    text = re.sub(r"^\s*#.*", "", (DEPLOY / name).read_text("utf-8"), flags=re.MULTILINE)
    said = [" ".join(part.split()) for part in re.split(r"(?<=[;{}])\s", text)]
    rules = [line for line in said if not re.match(rf"(?:{own})", line)]
    starts = [number for number, line in enumerate(rules) if line == "server {"]
    servers = [
        [line for line in rules[start:end] if line != "}"]
        for start, end in zip(starts, [*starts[1:], None], strict=True)
    ]
    zones = [line for line in rules if line.startswith(("limit_conn_zone", "limit_req_zone"))]
    return [zones, *servers]


def test_the_proxy_has_the_rules_of_the_one_on_a_host() -> None:
    zones, plain, tls = _rules("compose/nginx.conf")
    assert len(zones) == 2
    assert 'return 403 "https only\\n";' in plain
    assert len(tls) > 30
    assert [zones, plain, tls] == _rules("host/nginx-alama.conf")


@pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not installed")
def test_nginx_takes_the_configuration_of_the_proxy(tmp_path: Path) -> None:
    Authority(tmp_path).server("alama.internal")
    text = (DEPLOY / "compose" / "nginx.conf").read_text("utf-8")
    certificate = tmp_path / "alama.internal.pem"
    for mounted in ("/run/secrets/tls-certificate", "/run/secrets/tls-key"):
        assert mounted in text
        text = text.replace(mounted, str(certificate))
    # The name of the service in the network of compose, and a folder that this test may write to.
    # To ask for a name again takes nginx 1.27.3: the image has it, this machine may not.
    assert "@sha256" in SERVICES["proxy"]["image"].removeprefix(
        "docker.io/library/nginx:1.30-alpine"
    )
    assert "resolver 127.0.0.11 valid=5s" in text
    assert text.count("server alama:8000 resolve;") == 1
    text = text.replace("server alama:8000 resolve;", "server 127.0.0.1:8000;")
    text = re.sub(r"(_temp_path\s+|pid )/tmp/", rf"\1{tmp_path}/", text)
    file = tmp_path / "nginx.conf"
    file.write_text(text, "utf-8")
    nginx = shutil.which("nginx")
    assert nginx is not None
    done = subprocess.run([nginx, "-t", "-c", file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "warn" not in done.stderr
