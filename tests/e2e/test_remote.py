"""`alama login` and `alama remote` at a running service, and docs/remote.md as it stands."""

from __future__ import annotations

import json
import os
import pty
import re
import shlex
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from sqlalchemy import select

from alama.app.cli import EXIT_INTERRUPTED, EXIT_MISTAKE
from alama.app.remote.client import Call, Client, Unreachable, _Answer
from alama.lenders import installation, keys
from alama.monitoring import outcomes_cli, schema
from alama.platform import settings
from alama.platform.book import USUAL_SCOPES, Scope
from tests.databases import sqlite_url
from tests.e2e.service import COMPACT
from tests.e2e.walks import Walk
from tests.ports import HOST
from tests.server import ALAMA, DEMO, Server, run_command

PAGE = (Path(__file__).parents[2] / "docs" / "remote.md").read_text("utf-8")
HOOK = f"http://{HOST}:9/hook"

UNSTABLE = (
    (re.compile(r"req_[0-9a-f]{28}"), "REQUEST"),
    (re.compile(rf"http://{HOST}:\d+"), "SERVICE"),
)


class Said(NamedTuple):
    code: int
    out: str
    err: str


class Person:
    """Somebody elsewhere, who has a key and this program, and no database."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.server = server
        self.folder = folder
        self.key, self.key_id = self.issued(USUAL_SCOPES)
        kept = {k: v for k, v in os.environ.items() if not k.startswith("ALAMA_")}
        self.environment = kept | {"XDG_CONFIG_HOME": str(folder / "config"), "COLUMNS": "80"}

    @property
    def file(self) -> Path:
        return self.folder / "config" / "alama" / "logins.json"

    def type(self, *arguments: str, typed: str = "", **variables: str) -> Said:
        """Type a command; whatever it says, no key is part of it."""
        said = Said(*run_command(arguments, self.environment | variables, typed))
        assert self.key not in said.out + said.err
        return said

    def issued(self, scopes: tuple[Scope, ...]) -> tuple[str, str]:
        """A new key, by what `alama keys issue` does, and its id."""
        opening = installation.open_installation(settings.read(self.server.environment))
        with closing(opening) as opened:
            made = keys.issue(opened.registry, opened.clock, opened.pepper, DEMO, scopes)
        return made[0], made[1].id

    def log_in(self) -> Said:
        return self.type("login", self.server.url, typed=self.key)

    def remote(self, *arguments: str) -> str:
        said = self.type("remote", *arguments)
        assert said.code == 0, said.err
        assert said.err.startswith(f"{self.server.url}: demo, test mode\n")
        return said.out

    def refused(self, *arguments: str) -> str:
        said = self.type("remote", *arguments)
        assert (said.code, said.out) == (EXIT_MISTAKE, "")
        assert "Traceback" not in said.err
        return said.err


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home = tmp_path_factory.mktemp("remote")
    with Server(sqlite_url(home), home, ALAMA_DEVELOPMENT="yes", COLUMNS="80") as server:
        yield server


@pytest.fixture
def person(server: Server, tmp_path: Path) -> Person:
    return Person(server, tmp_path)


@pytest.fixture
def at(person: Person) -> Person:
    assert person.log_in().code == 0
    return person


@pytest.fixture
def application(tmp_path: Path) -> Path:
    file = tmp_path / "application.json"
    file.write_text(json.dumps(COMPACT))
    return file


def scored(at: Person, application: Path, *more: str) -> dict[str, Any]:
    given: dict[str, Any] = json.loads(at.remote("score", str(application), "--json", *more))
    return given


def give(at: Person, **fields: str) -> dict[str, Any]:
    """Have somebody scored, by no command."""
    body = json.dumps(COMPACT | fields).encode()
    call = Call("POST", "/v1/score", {"expand": "model,policy"}, body)
    return Client(at.server.url, at.key).ask(call, dict[str, Any])


# ------------------------------------------------------------------------------- logging in


def test_a_key_is_tried_out_and_kept_and_forgotten(person: Person) -> None:
    said = person.log_in()
    assert (said.code, said.out) == (0, f"{person.server.url}: demo, test mode\n")
    assert person.file.stat().st_mode & 0o777 == 0o600
    listed = person.type("login").out
    assert listed.split()[-4:] == [person.server.url, "demo", "test", person.key[-4:]]
    assert person.type("logout").out == f"{person.server.url}: demo, test mode: forgotten\n"
    assert not person.file.exists()
    assert "No key is kept" in person.type("login").err
    assert "alama login URL" in person.refused("health")


def test_a_key_that_is_typed_is_never_shown(person: Person) -> None:
    """A terminal shows what is typed unless it is told not to, so this one is a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*ALAMA, "login", person.server.url],
        env=person.environment,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    ) as process:
        os.close(theirs)
        shown = os.read(ours, 4096)
        while b"(not shown)" not in shown:
            shown += os.read(ours, 4096)
        os.write(ours, person.key.encode() + b"\n")
        with suppress(OSError):  # how a terminal ends that nobody is at any more
            while more := os.read(ours, 4096):
                shown += more
    os.close(ours)
    assert process.returncode == 0, shown
    assert person.key.encode() not in shown
    assert person.key in person.file.read_text("utf-8")


def test_a_key_comes_by_a_pipe_and_by_no_argument(person: Person) -> None:
    done = subprocess.run(
        [*ALAMA, "login", person.server.url],
        env=person.environment,
        input=f"{person.key}\n",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert person.key not in done.stdout + done.stderr
    assert person.type("login", person.server.url, "--key", "x").code == EXIT_MISTAKE
    for more in ((person.key,), ("--plain-http", person.key), ("--key", person.key)):
        said = person.type("login", person.server.url, *more)  # which looks for the key
        assert said.code == EXIT_MISTAKE
        assert "the key is asked for" in said.err


def test_what_is_no_key_is_not_kept(person: Person) -> None:
    login = ("login", person.server.url)
    mistyped = person.key[:-1] + ("A" if person.key[-1] != "A" else "B")
    assert "mistyped" in person.type(*login, typed=mistyped).err
    assert "no key was given" in person.type(*login).err  # nobody is there to type one
    unknown = keys.make(0, b"another pepper", DEMO)[0]
    assert "error: key_refused: " in person.type(*login, typed=unknown).err
    assert not person.file.exists()


def test_a_key_that_is_revoked_is_told_with_what_to_do(at: Person) -> None:
    at.server.alama("keys", "revoke", at.key_id)
    time.sleep(1.1)  # a key is looked for again after a second
    said = at.refused("scores", "list")
    assert "error: key_refused: " in said
    assert f"alama login {at.server.url}" in said


def test_a_key_of_few_scopes_is_kept_and_told_what_it_may_not(person: Person) -> None:
    person.key, _ = person.issued((Scope.OUTCOMES_WRITE,))
    said = person.log_in()
    assert (said.code, said.out) == (0, f"{person.server.url}: a lender, test mode\n")
    assert "lender is not told" in said.err
    refused = person.refused("scores", "list")
    assert "scope_missing" in refused
    assert "scores:read" in refused


def test_which_service_is_meant_is_never_guessed(at: Person) -> None:
    kept = json.loads(at.file.read_text())
    kept["logins"].append(kept["logins"][0] | {"url": "https://two.example"})
    at.file.write_text(json.dumps(kept))
    said = at.refused("health")
    assert "--at https://two.example --mode test" in said
    assert f"--at {at.server.url} --mode test" in said
    assert "status   ok" in at.remote("health", "--at", f"{at.server.url}/")
    assert "no such key" in at.refused("health", "--at", "https://three.example")
    assert at.type("logout").code == EXIT_MISTAKE
    assert at.type("logout", "https://two.example").code == 0


def test_a_file_that_others_can_read_is_not_used(at: Person) -> None:
    at.file.chmod(0o644)
    assert "others on this machine can read the keys" in at.refused("health")
    assert at.log_in().code == EXIT_MISTAKE


# ------------------------------------------------------------------------------- the same words


def test_lists_are_those_of_the_machine_itself(at: Person) -> None:
    *_, given = (give(at) for _ in range(3))
    for columns in ("80", "160"):
        at.environment["COLUMNS"] = at.server.environment["COLUMNS"] = columns
        here = at.server.alama("scores", "list", "--limit", "2")
        assert at.remote("scores", "list", "--limit", "2") == here
    at.environment["COLUMNS"] = at.server.environment["COLUMNS"] = "80"
    before = ("--before", given["request_id"], "--limit", "1")
    assert at.remote("scores", "list", *before) == at.server.alama("scores", "list", *before)
    rid = given["request_id"]
    here, there = at.server.alama("scores", "show", rid), at.remote("scores", "show", rid)
    assert [line for line in there.splitlines() if line not in here.splitlines()] == [
        f"model {given['model'][:19]}, policy {given['policy'][:19]}"
    ]
    assert at.remote("monitor", "--days", "5") == at.server.alama("monitor", "--days", "5")


def test_scores_are_found_by_what_is_known_of_them(at: Person) -> None:
    given = give(at, applicant_ref="fixture-declined")

    def listed(*filters: str) -> list[str]:
        lines = at.remote("scores", "list", "--json", "--limit", "1000", *filters).splitlines()
        return [json.loads(line)["request_id"] for line in lines]

    rid = given["request_id"]
    by_ref = listed("--ref", "fixture-declined")
    assert by_ref == [rid]
    here = at.server.alama("scores", "list", "--ref", "fixture-declined")
    assert re.findall(r"req_\w+", here) == by_ref
    assert rid in listed("--decision", "DECLINED", "--tier", given["tier"], "--since", "2026-01-01")
    assert rid not in listed("--decision", "APPROVED")
    assert listed("--until", "2026-01-01") == []
    assert rid not in listed("--waiting")
    record = json.loads(at.remote("scores", "show", rid, "--json"))
    assert record["score"] == given["score"]


def test_pages_are_read_as_far_as_is_wanted(at: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    given = loans(at, 6)[1:]
    monkeypatch.setattr("alama.app.remote.client.PAGE_MAX", 2)
    said = at.type("remote", "scores", "list", "--json", "--limit", "5")
    assert [json.loads(line)["request_id"] for line in said.out.splitlines()] == given[::-1]
    assert said.err.endswith(f"Older ones: --before {given[0]}\n")


def test_a_list_goes_on_with_the_options_that_it_was_asked_for_with(at: Person) -> None:
    one, two = (give(at, applicant_ref="fixture-review")["request_id"] for _ in range(2))
    wanted = ("--waiting", "--at", at.server.url, "--mode", "test", "--ref", "fixture-review")
    said = at.type("remote", "scores", "list", "--limit", "1", *wanted)
    assert two in said.out
    (again,) = re.findall("Older ones: (.+)", said.err)
    for option in ("--waiting", f"--at {at.server.url}", "--mode test", "--ref fixture-review"):
        assert option in again
    more = at.type("remote", "scores", "list", "--limit", "1", *shlex.split(again))
    assert one in more.out
    none = at.type("remote", "scores", "list", "--tier", "Z", "--before", one)
    assert none.err.endswith("There are no older scores of that kind.\n")


def test_an_application_is_scored_once_under_a_key(at: Person, application: Path) -> None:
    under = ("--idempotency-key", f"loan-{at.key[-6:]}")
    assert scored(at, application, *under) == scored(at, application, *under)
    shown = at.remote("score", str(application), *under)
    assert "What speaks for it" in shown or "Why" in shown
    assert "KES" in shown


@pytest.mark.parametrize("status", [None, 500, 502, 503, 504, 524, 200])
def test_what_may_have_been_done_is_told_with_the_way_to_do_it_once(
    at: Person, application: Path, monkeypatch: pytest.MonkeyPatch, status: int | None
) -> None:
    send = Client._send

    def unheard(client: Client, call: Call) -> Any:
        answer = send(client, call)
        if call.method == "GET":
            return answer
        if status is None:
            raise Unreachable("it broke off")
        return _Answer(status, {}, b"<html>a gateway</html>")

    ref = f"lost-in-between-{status}"
    application.write_text(json.dumps(COMPACT | {"applicant_ref": ref}))
    with monkeypatch.context() as patch:
        patch.setattr(Client.__init__, "__defaults__", (lambda _wait_s: None,))
        patch.setattr(Client, "_send", unheard)
        said = at.refused("score", str(application))
        assert at.refused("score", str(application), *once(said), "--json").count(once(said)[1])
        assert "shows it, `remove` takes it away" in at.refused("webhooks", "add", HOOK)
    rid = scored(at, application, *once(said))["request_id"]
    (line,) = at.remote("scores", "list", "--ref", ref, "--json").splitlines()
    assert json.loads(line)["request_id"] == rid
    (endpoint,) = re.findall(r"we_[0-9a-f]{28}", at.remote("webhooks", "list"))
    at.remote("webhooks", "remove", endpoint, "--yes")


def once(said: str) -> list[str]:
    """The options that a command is told to be typed with again."""
    (told,) = re.findall(r"--idempotency-key .+", said)
    return shlex.split(told)


def test_whoever_breaks_a_score_off_is_told_the_way_to_do_it_once(
    at: Person, application: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    send = Client._send

    def broken_off(client: Client, call: Call) -> Any:
        send(client, call)
        raise KeyboardInterrupt

    application.write_text(json.dumps(COMPACT | {"applicant_ref": "broken-off"}))
    with monkeypatch.context() as patch:
        patch.setattr(Client, "_send", broken_off)
        said = at.type("remote", "score", str(application))
        own = at.type("remote", "score", str(application), "--idempotency-key", "it's one")
        hook = at.type("remote", "webhooks", "add", HOOK)
    assert said.code == own.code == hook.code == EXIT_INTERRUPTED
    assert once(own.err) == ["--idempotency-key", "it's one"]
    assert "shows it, `remove` takes it away" in hook.err
    rids = [scored(at, application, *once(one.err))["request_id"] for one in (said, own)]
    listed = at.remote("scores", "list", "--ref", "broken-off", "--json").splitlines()
    assert [json.loads(line)["request_id"] for line in listed] == rids[::-1]
    (endpoint,) = re.findall(r"we_[0-9a-f]{28}", at.remote("webhooks", "list"))
    at.remote("webhooks", "remove", endpoint, "--yes")


def test_what_was_certainly_not_done_is_not_said_to_be(at: Person, application: Path) -> None:
    application.write_text("[]")
    assert "--idempotency-key" not in at.refused("score", str(application))
    assert "takes it away" not in at.refused("webhooks", "add", "ftp://example.org")


def test_an_idempotency_key_is_printable(at: Person, application: Path) -> None:
    for key in ("", "a\nb", "\u00fc", "k" * 256):
        assert "printable" in at.refused("score", str(application), "--idempotency-key", key)


def test_a_removal_whose_answer_was_lost_is_done(
    at: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    at.remote("webhooks", "add", HOOK)
    (endpoint,) = re.findall(r"we_[0-9a-f]{28}", at.remote("webhooks", "list"))
    send = Client._send
    lost: list[Call] = []

    def unheard(client: Client, call: Call) -> Any:
        answer = send(client, call)
        if call.method == "DELETE" and not lost:
            lost.append(call)
            raise Unreachable("it broke off")
        return answer

    monkeypatch.setattr(Client.__init__, "__defaults__", (lambda _wait_s: None,))
    monkeypatch.setattr(Client, "_send", unheard)
    assert at.remote("webhooks", "remove", endpoint, "--yes") == f"{endpoint} is removed.\n"
    assert lost
    assert "unknown_webhook_endpoint" in at.refused("webhooks", "remove", endpoint, "--yes")


def test_what_is_no_answer_of_alama_is_told_also_to_programs(
    at: Person, application: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rid = give(at)["request_id"]
    bodies = [b"<html>a portal</html>", b"{}", b'{"data": [{}], "next_cursor": null}', b""]
    for body in bodies:
        answer = _Answer(200, {}, body)
        with monkeypatch.context() as patch:
            patch.setattr(Client, "_send", lambda _client, _call, answer=answer: answer)
            for asked in (
                ("scores", "list"),
                ("scores", "show", rid),
                ("score", str(application)),
                ("explain", str(application)),
                ("outcomes", "record", rid, "repaid", "--date", today()),
                ("health",),
            ):
                assert "does not know" in at.refused(*asked, "--json")


def test_what_a_service_says_steers_no_terminal(
    at: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    hidden = "\x7f\x9b\x9d\u202e"
    body = json.dumps({"status": "ok", "more": hidden}, ensure_ascii=False).encode()
    monkeypatch.setattr(Client, "_send", lambda *_: _Answer(200, {}, body))
    said = at.remote("health", "--json")
    assert json.loads(said)["more"] == hidden
    assert not set(hidden) & set(said)
    monkeypatch.undo()


def test_a_byte_order_mark_is_no_part_of_an_application(at: Person, application: Path) -> None:
    application.write_bytes(b"\xef\xbb\xbf" + application.read_bytes())
    assert at.remote("score", str(application)).startswith("req_")
    assert "base score" in at.remote("explain", str(application))


def test_an_explanation_stores_nothing_and_shows_ways(at: Person, application: Path) -> None:
    before = at.remote("scores", "list", "--json")
    application.write_text(json.dumps(COMPACT | {"applicant_ref": "fixture-declined"}))
    shown = at.remote("explain", str(application))
    for part in ("base score", "Why", "leads to APPROVED", "cost "):
        assert part in shown
    application.write_text(json.dumps(COMPACT | {"applicant_ref": "fixture-approved"}))
    assert "APPROVED is met" in at.remote("explain", str(application))
    told = json.loads(at.remote("explain", str(application), "--json", "--language", "sw"))
    assert told["language"] == "sw"
    assert at.remote("scores", "list", "--json") == before


def test_what_is_wrong_with_an_application_is_told_field_by_field(
    at: Person, application: Path
) -> None:
    application.write_text('{"mm_months": 2.5, "gender": "Zq7"}')
    said = at.refused("score", str(application))
    assert "error: invalid_application: " in said
    assert "  mm_months must be a whole number" in said
    assert "  gender must never be sent" in said
    assert "  request req_" in said
    assert "Zq7" not in said


def test_a_rate_is_waited_for_with_a_word(
    at: Person, application: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    monkeypatch.setattr(Client.__init__, "__defaults__", (waited.append,))
    application.write_text(json.dumps(COMPACT | {"applicant_ref": "fixture-429"}))
    said = at.refused("score", str(application))
    assert waited == [1, 1, 1, 1]
    assert said.count("the service says too_many_requests; trying again in 1 s\n") == 4
    assert "error: too_many_requests: " in said


def test_a_review_is_kept_and_shown(at: Person) -> None:
    rid = give(at, applicant_ref="fixture-review")["request_id"]
    judged = ("--decision", "DECLINED", "--reason", "cannot_afford", "--by", "W. Mutua")
    said = at.remote("scores", "review", rid, *judged)
    assert "DECLINED: cannot afford, by W. Mutua" in said
    assert "by W. Mutua" in at.remote("scores", "show", rid)


def test_webhooks_are_managed_from_afar(at: Person) -> None:
    secret = at.remote("webhooks", "add", HOOK, "--kind", "score.created")
    assert secret.startswith("whsec_")
    here = ("demo", "--mode", "test")
    listed = at.remote("webhooks", "list")
    assert listed == at.server.alama("webhooks", "list", *here)
    (endpoint,) = re.findall(r"we_[0-9a-f]{28}", listed)
    shown = at.remote("webhooks", "show", endpoint)
    assert shown == at.server.alama("webhooks", "show", *here, endpoint)
    assert at.remote("webhooks", "rotate", endpoint, "--now") != secret
    said = at.type("remote", "webhooks", "test", endpoint, "--mode", "test")
    assert "is on its way" in said.out
    assert f"alama remote webhooks attempts --mode test {endpoint}" in said.err
    events = at.remote("webhooks", "events")
    assert events == at.server.alama("webhooks", "events", *here)
    event, *_ = re.findall(r"evt_[0-9a-f]{28}", events)
    assert "to 1 endpoint." in at.remote("webhooks", "resend", "--event", event)
    resent = at.remote("webhooks", "resend", "--to", endpoint, "--since", "2026-01-01")
    assert "way." in resent
    assert "Nothing was tried" in at.type("remote", "webhooks", "attempts", endpoint).err
    disabled = at.remote("webhooks", "update", endpoint, "--disable")
    assert "(requested)" in disabled
    assert "update ENDPOINT_ID --enable" in at.refused("webhooks", "test", endpoint)
    assert "wants to be confirmed" in at.type("remote", "webhooks", "remove", endpoint).err
    assert "is removed" in at.remote("webhooks", "remove", endpoint, "--yes")
    assert "unknown_webhook_endpoint" in at.refused("webhooks", "show", endpoint)


# ------------------------------------------------------------------------------- outcomes


def today() -> str:
    return datetime.now(UTC).date().isoformat()


def loans(at: Person, many: int) -> list[str]:
    return [give(at)["request_id"] for _ in range(many)]


def file_of(folder: Path, rows: Sequence[str]) -> Path:
    file = folder / "news.csv"
    file.write_text("\n".join(["request_id,outcome,date,colour", *rows, ""]))
    return file


def kept(at: Person) -> Counter[str]:
    """The pieces of news that are kept, by the score that they are of."""
    opening = installation.open_installation(settings.read(at.server.environment))
    with closing(opening) as opened, opened.database.reading() as connection:
        return Counter(row.request_id for row in connection.execute(select(schema.outcomes)))


def table(printed: str) -> dict[str, int]:
    rows = [line.split()[:2] for line in printed.splitlines()[2:]]
    return {result: int(count) for result, count in rows}


def test_a_file_is_loaded_with_an_account_of_every_row_that_is_not(
    at: Person, tmp_path: Path
) -> None:
    one, two, three = loans(at, 3)
    day = today()
    rows = [
        f"{one},repaid,{day},red",
        f"{two},lost,{day},red",
        f"{three},repaid,2020-01-01,red",
        f"req_{'0' * 28},repaid,{day},red",
    ]
    file, refused = file_of(tmp_path, rows), tmp_path / "refused.csv"
    said = at.type("remote", "outcomes", "load", str(file))
    assert said.code == 1
    assert table(said.out) == {
        "recorded": 1,
        "unknown_score": 1,
        "before_the_loan": 1,
        "invalid": 1,
    }
    for line in ("row 2: invalid: outcome must be one of", "row 3: before_the_loan: ", "row 4: "):
        assert f"\n{line}" in said.err
    assert "ignored: colour" in said.err
    again = at.type("remote", "outcomes", "load", str(file), "--refused", str(refused))
    assert table(again.out)["unchanged"] == 1
    assert [line.split(",")[0] for line in refused.read_text().splitlines()] == [
        "place",
        "row 2",
        "row 3",
        "row 4",
    ]
    here = ("outcomes", "load", str(file), "--lender", "demo", "--mode", "test")
    assert at.server.typed(*here)[1] == again.out


def test_a_load_that_is_broken_off_is_done_again_and_nothing_counts_twice(
    at: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = loans(at, 5)
    file = file_of(tmp_path, [f"{rid},repaid,{today()},red" for rid in ids])
    monkeypatch.setattr(outcomes_cli, "BATCH_MAX", 2)
    fetch, calls = Client.fetch, []

    def broken_off(client: Client, call: Call) -> bytes:
        """The service has recorded the second batch, and nobody has heard of it."""
        answer = fetch(client, call)
        calls.append(call)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return answer

    with monkeypatch.context() as patch:
        patch.setattr(Client, "fetch", broken_off)
        said = at.type("remote", "outcomes", "load", str(file))
    assert said.code == EXIT_INTERRUPTED
    assert "2 rows dealt with" in said.err
    assert {rid: kept(at)[rid] for rid in ids} == dict(zip(ids, [1, 1, 1, 1, 0], strict=True))
    assert table(at.remote("outcomes", "load", str(file))) == {"recorded": 1, "unchanged": 4}
    assert {rid: kept(at)[rid] for rid in ids} == dict.fromkeys(ids, 1)


def test_one_outcome_is_recorded_or_told_why_not(at: Person) -> None:
    (rid,) = loans(at, 1)
    said = ("outcomes", "record", rid, "repaid", "--date", today())
    assert at.remote(*said, "--repaid-amount", "900") == f"{rid}: recorded\n"
    assert json.loads(at.remote(*said, "--json"))["counts"] == {"unchanged": 1}
    assert "repaid on" in at.remote("scores", "show", rid)
    unknown = at.type("remote", "outcomes", "record", f"req_{'0' * 28}", *said[3:])
    assert (unknown.code, "unknown_score: There is no score" in unknown.out) == (1, True)
    amount = at.type("remote", *said, "--repaid-amount", "nan")
    assert (amount.code, "--repaid-amount" in amount.err) == (EXIT_MISTAKE, True)
    assert "invalid_request" in at.refused("outcomes", "record", rid, "repaid", "--date", "soon")


# ------------------------------------------------------------------------------- the page


@pytest.mark.long
def test_the_walk_goes_as_the_page_says(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    with Server(sqlite_url(home), home) as server:
        environment = server.environment | {"XDG_CONFIG_HOME": str(tmp_path / "config")}
        Walk(PAGE, UNSTABLE).go(tmp_path, environment, server.url)
