"""A receipt that a caller has got proves itself where there is neither a database nor a setting."""

from __future__ import annotations

import asyncio
import json
import secrets
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

import alama
from alama.core import receipts
from alama.core.lending.draft import default_text
from alama.platform.book import Book, Mode, Scope
from tests.e2e.service import COMPACT, FULL, Service
from tests.factories import a_model, write_model

AT_ONCE = 24

one_of_each = pytest.mark.parametrize(
    "service",
    [
        pytest.param(
            ("sqlite", 1), marks=[pytest.mark.xdist_group("service-sqlite"), pytest.mark.long]
        ),
        pytest.param(("postgresql", 2), marks=pytest.mark.xdist_group("service-postgresql")),
    ],
    indirect=True,
)
"""Commands that a person waits for take seconds: not on all four, and on one in `make test`."""

SOURCE = str(Path(alama.__file__).parents[1])


class Verdict(NamedTuple):
    """What `alama receipt verify` said, words and spaces aside, and its exit code."""

    code: int
    out: str
    err: str


class Auditor:
    """Somebody on a machine of their own: a folder with the files they were given, and Alama."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def verify(self, *options: str) -> Verdict:
        done = subprocess.run(
            [sys.executable, "-m", "alama", "receipt", "verify", "receipt.json", *options],
            cwd=self.folder,
            env={"PYTHONPATH": SOURCE},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert "Traceback" not in done.stderr
        return Verdict(done.returncode, " ".join(done.stdout.split()), done.stderr)


@pytest.fixture
def auditor(tmp_path: Path) -> Iterator[Auditor]:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    yield Auditor(folder)
    # Verifying leaves nothing behind: no database, no secrets.
    assert {path.suffix for path in folder.iterdir()} <= {".json", ".toml"}


def got(service: Service, request_id: str, key: str | None = None) -> httpx.Response:
    return service.get(f"/v1/scores/{request_id}/receipt", key=key)


@one_of_each
def test_a_receipt_verifies_in_a_process_without_the_database_and_settings(
    service: Service, auditor: Auditor
) -> None:
    at, server = str(auditor.folder), service.server
    key = server.alama("receipt", "key").split()[-1]
    for body in (COMPACT, FULL | {"applicant_ref": "customer-7f3a"}):
        given = service.score(body).json()
        reply = got(service, given["request_id"])
        assert reply.status_code == 200
        assert reply.headers["content-type"] == "application/json"
        assert reply.headers["cache-control"] == "no-store"
        (auditor.folder / "receipt.json").write_bytes(reply.content)
        score = reply.json()["score"]
        server.alama("models", "export", score["model_id"], "--out", f"{at}/m.json")
        server.alama("policy", "export", score["policy_id"], "--out", f"{at}/p.toml")
        said = auditor.verify("--model", "m.json", "--policy", "p.toml", "--key", key)
        assert (said.code, said.err) == (0, "")
        assert "it was signed by a key that you have named, nothing in it was changed" in said.out
        assert f"score {given['score']}, tier {given['tier']}, {given['decision']}" in said.out
    code, _, err = auditor.verify()
    assert code == 0
    assert "nobody has said whose key this is" in err


@one_of_each
def test_whatever_is_wrong_is_told(service: Service, auditor: Auditor) -> None:
    document = got(service, service.score(COMPACT).json()["request_id"]).content
    path = auditor.folder / "receipt.json"
    path.write_bytes(document)
    write_model(a_model(), auditor.folder / "m.json")
    (auditor.folder / "p.toml").write_bytes(default_text("UGX"))

    code, out, err = auditor.verify("--model", "m.json")
    assert (code, out) == (2, "")
    assert "the receipt names another model than the one at hand" in err
    code, out, err = auditor.verify("--policy", "p.toml")
    assert (code, out) == (2, "")
    assert "the receipt names another policy than the one at hand" in err
    code, out, _ = auditor.verify("--key", "0" * 64)
    assert code == 1
    assert "the key that signed it is none of those that you named" in out

    path.write_bytes(document.replace(b'"decision": "APPROVED"', b'"decision": "DECLINED"'))
    code, out, _ = auditor.verify()
    assert code == 1
    assert "assessment are not those that were logged" in out
    assert "column decision DECLINED APPROVED" in out


def test_scores_that_were_kept_together_each_have_a_receipt(service: Service) -> None:
    async def ask(client: httpx.AsyncClient, months: int) -> str:
        body = json.dumps(COMPACT | {"mobile_money_months": months})
        headers = service.credentials() | {"Content-Type": "application/json"}
        reply = await client.post("/v1/score", content=body, headers=headers)
        request_id: str = reply.json()["request_id"]
        return request_id

    async def ask_at_once() -> list[str]:
        async with httpx.AsyncClient(
            base_url=service.server.url, trust_env=False, timeout=60
        ) as client:
            return await asyncio.gather(*(ask(client, months) for months in range(AT_ONCE)))

    given = asyncio.run(ask_at_once())
    found = [receipts.decode(got(service, request_id).content) for request_id in given]
    assert [receipts.failures(receipt) for receipt in found] == [()] * AT_ONCE
    assert [receipt.score.request_id for receipt in found] == given


def test_an_erased_applicant_has_no_receipt_any_more(service: Service) -> None:
    applicant = f"customer-{secrets.token_hex(4)}"
    request_id = service.score(COMPACT | {"applicant_ref": applicant}).json()["request_id"]
    assert got(service, request_id).status_code == 200
    who = ("--lender", "demo", "--mode", "test", "--ref", applicant)
    service.server.alama("applicants", "erase", *who, "--yes")
    reply = got(service, request_id)
    assert (reply.status_code, reply.json()["code"]) == (410, "erased")
    assert applicant not in reply.text


def test_a_receipt_is_for_those_alone_who_may_read_the_score(service: Service) -> None:
    request_id = service.score(COMPACT).json()["request_id"]
    writer = service.key(scopes=(Scope.WRITE,))
    assert got(service, request_id, writer).json()["code"] == "scope_missing"
    stranger = service.key(Book("demo", Mode.LIVE))
    assert got(service, request_id, stranger).json()["code"] == "unknown_score"
    assert service.send("GET", f"/v1/scores/{request_id}/receipt").status_code == 401
    assert service.get(f"/api/v1/scores/{request_id}/receipt").status_code == 200
