from __future__ import annotations

import base64
import json
import os
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from alama.app.cli import EXIT_MISTAKE, main
from alama.lenders import installation
from alama.lenders.installation import Installation
from alama.platform import clock, settings
from alama.platform.addresses import DEVELOPMENT
from alama.platform.book import Book, Mode
from alama.platform.events import EventKind, event
from alama.platform.terminal import terminal
from alama.webhooks import secrets
from alama.webhooks.endpoints import Endpoints
from alama.webhooks.event_store import EventStore
from alama.webhooks.outbox import Outbox
from alama.webhooks.records import Attempt, Due, Endpoint, SendError, Verdict
from tests.webhooked import settled

BOOK = Book("demo", Mode.TEST)
OF = ["demo", "--mode", "test"]
URL = "https://hooks.example/in"
NO_ID = "we_" + "0" * 28


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ALAMA_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "200")
    installation.open_installation(settings.Settings(home=str(tmp_path))).close()
    return tmp_path


def opened(home: Path) -> Installation:
    return installation.open_installation(settings.Settings(home=str(home)))


def kept(home: Path) -> list[Endpoint]:
    installed = opened(home)
    try:
        return list(Endpoints.at(installed, DEVELOPMENT).of(BOOK))
    finally:
        installed.close()


def added(home: Path, capsys: pytest.CaptureFixture[str], *options: str) -> Endpoint:
    assert main(["webhooks", "add", *OF, URL, *options]) == 0
    capsys.readouterr()
    return kept(home)[-1]


def said(capsys: pytest.CaptureFixture[str], *command: str) -> str:
    assert main(["webhooks", *command]) == 0
    return capsys.readouterr().out


def test_the_secret_is_alone_on_stdout_and_its_words_on_stderr(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["webhooks", "add", *OF, URL, "--kind", "score.created"]) == 0
    out, err = capsys.readouterr()
    assert re.fullmatch(r"whsec_[A-Za-z0-9+/=]{44}\n", out)
    (endpoint,) = kept(home)
    installed = opened(home)
    (secret,) = secrets.of_endpoint(installed.vault, endpoint, installed.clock())
    installed.close()
    assert base64.b64decode(out.strip().removeprefix("whsec_")) == secret
    assert f"{endpoint.id}: demo, test mode, score.created." in err
    assert f"alama webhooks test demo --mode test {endpoint.id}" in err
    assert out.strip() not in err


def test_the_list_says_what_each_endpoint_wants_and_what_has_become_of_it(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    everything = added(home, capsys)
    scores = added(home, capsys, "--kind", "score.created", "--kind", "model.activated")
    said(capsys, "update", *OF, scores.id, "--disable")
    lines = {line.split()[0]: line for line in said(capsys, "list", *OF).splitlines()}
    assert re.search(rf"{re.escape(URL)} +all +active", lines[everything.id])
    assert re.search(r"score\.created model\.activated +disabled \(requested\)", lines[scores.id])


def test_an_empty_list_is_said_out_of_the_way_of_a_pipe(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["webhooks", "list", *OF]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert "demo has no endpoints in test mode." in err


def test_an_update_changes_what_is_given_and_leaves_the_rest(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    endpoint = added(home, capsys, "--kind", "score.created", "--description", "core banking")
    shown = said(capsys, "update", *OF, endpoint.id, "--url", "https://new.example/", "--disable")
    assert "https://new.example/" in shown
    assert "score.created" in shown
    assert "core banking" in shown
    assert re.search(r"disabled since 20.* UTC \(requested\)", shown)
    shown = said(capsys, "update", *OF, endpoint.id, "--enable", "--kind", "all")
    assert re.search(r"kinds +all", shown)
    assert re.search(r"state +active", said(capsys, "show", *OF, endpoint.id))


def test_a_removed_endpoint_is_gone(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    endpoint = added(home, capsys)
    assert f"{endpoint.id} is removed." in said(capsys, "remove", *OF, endpoint.id, "--yes")
    assert kept(home) == []


def test_removing_wants_to_be_meant(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    endpoint = added(home, capsys)
    assert main(["webhooks", "remove", *OF, endpoint.id]) == EXIT_MISTAKE
    err = capsys.readouterr().err
    assert "there is no terminal to ask at" in err
    assert "add --yes if it is meant: what waits for it is not sent any more" in err
    assert len(kept(home)) == 1


def test_a_rotated_secret_signs_beside_the_old_one_for_a_day(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    endpoint = added(home, capsys)
    assert main(["webhooks", "rotate", *OF, endpoint.id]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("whsec_")
    assert "The old secret signs too until 20" in err
    assert "signs too until" in said(capsys, "show", *OF, endpoint.id)


def test_a_secret_that_has_leaked_is_ended_at_once(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    endpoint = added(home, capsys)
    assert main(["webhooks", "rotate", *OF, endpoint.id, "--now"]) == 0
    assert "The old secret has ended." in capsys.readouterr().err
    installed = opened(home)
    assert len(secrets.of_endpoint(installed.vault, kept(home)[0], installed.clock())) == 1
    installed.close()


def test_a_test_is_on_its_way_and_is_listed_with_what_came_of_it(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    endpoint = added(home, capsys)
    assert main(["webhooks", "attempts", *OF, endpoint.id]) == 0
    assert "Nothing was tried" in capsys.readouterr().err
    event_id = said(capsys, "test", *OF, endpoint.id).split()[0]
    fail_all(home, endpoint)
    attempts = said(capsys, "attempts", *OF, endpoint.id)
    assert re.search(rf"{event_id} +1 +500 +1\.2 s +no luck", attempts)
    assert re.search(
        rf"{event_id} .* webhook\.test +{endpoint.id}",
        said(capsys, "events", *OF, "--kind", "webhook.test"),
    )


def test_attempts_for_programs_are_whole_with_the_exact_error(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    endpoint = added(home, capsys)
    event_id = said(capsys, "test", *OF, endpoint.id).split()[0]
    answer = "no\nluck" * 500
    fail_all(home, endpoint, status=None, error=SendError.ADDRESS_FORBIDDEN, answer=answer)
    (line,) = said(capsys, "attempts", *OF, endpoint.id, "--json").splitlines()
    told = json.loads(line)
    assert (told["event"], told["number"], told["delivered"]) == (event_id, 1, False)
    assert (told["status"], told["error"]) == (None, "address_forbidden")
    assert (told["took_ms"], told["answer"]) == (1_234, answer)


def test_an_endpoint_that_the_settings_refuse_by_now_is_warned_of(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALAMA_DEVELOPMENT", "yes")
    endpoint = added(home, capsys)
    said(capsys, "update", *OF, endpoint.id, "--url", "http://127.0.0.1:9000/")
    monkeypatch.delenv("ALAMA_DEVELOPMENT")
    for command in (["list", *OF], ["show", *OF, endpoint.id], ["test", *OF, endpoint.id]):
        assert main(["webhooks", *command]) == 0
        err = capsys.readouterr().err
        assert f"with the settings here nothing may be sent to {endpoint.id}" in err
        assert "ALAMA_DEVELOPMENT=yes" in err


def fail_all(home: Path, endpoint: Endpoint, **told: Any) -> None:
    """Do what a worker does with a receiver that fails."""
    installed = opened(home)
    now_us = clock.wall_us()
    outbox = Outbox.at(installed)
    claimed = outbox.claim("one", {endpoint.id: 9}, now_us, now_us + 60_000_000)
    failed = Verdict(delivered=False)
    tried = [settled(due, attempt(due)._replace(**told), failed) for due in claimed]
    outbox.settle("one", tried)
    installed.close()


def attempt(due: Due) -> Attempt:
    return Attempt(
        id="att_" + "0" * 28,
        lender="demo",
        mode="test",
        endpoint_id=due.endpoint.id,
        event_id=due.event.id,
        number=1,
        started_us=clock.wall_us(),
        took_ms=1_234,
        status=500,
        error=None,
        answer="no\nluck",
    )


def test_pages_say_how_to_go_on(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    endpoint = added(home, capsys)
    first = said(capsys, "test", *OF, endpoint.id).split()[0]
    second = said(capsys, "test", *OF, endpoint.id).split()[0]
    assert main(["webhooks", "events", *OF, "--limit", "1"]) == 0
    out, err = capsys.readouterr()
    assert second in out
    assert first not in out
    assert f"Older ones: {shlex.join(OF)} --before {second}\n" in err
    assert first in said(capsys, "events", *OF, "--before", second)
    assert main(["webhooks", "events", *OF, "--before", first]) == 0
    assert "demo has no older events in test mode." in capsys.readouterr().err
    assert main(["webhooks", "events", *OF, "--kind", "score.created"]) == 0
    assert "demo has no events of score.created in test mode." in capsys.readouterr().err


def test_a_list_goes_on_with_what_it_was_asked_for_with(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    endpoint, other = added(home, capsys), added(home, capsys)
    tests = []
    for digit in "12":
        tests.append(said(capsys, "test", *OF, endpoint.id).split()[0])
        fail_all(home, endpoint, id="att_" + 28 * digit)
        installed = opened(home)
        happened = event(BOOK, EventKind.MODEL_ACTIVATED, "m", {}, clock.wall_us(), os.urandom(7))
        EventStore(installed.database).add(happened)
        installed.close()

    def walked(action: str, *wanted: str) -> list[str]:
        seen = []
        while wanted:
            assert main(["webhooks", action, "--limit", "1", *wanted]) == 0
            out, err = capsys.readouterr()
            seen += re.findall(r"evt_\w+", out)
            wanted = tuple(shlex.split(err.partition("Older ones: ")[2].partition("\n")[0]))
        return seen

    assert walked("events", *OF, "--kind", "webhook.test") == tests[::-1]
    assert walked("attempts", *OF, endpoint.id) == tests[::-1]
    assert walked("attempts", *OF, other.id) == []


def test_an_event_is_sent_again_to_whoever_wants_it_or_to_one(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = added(home, capsys)
    other = added(home, capsys, "--kind", "score.created")
    installed = opened(home)
    happened = event(BOOK, EventKind.MODEL_ACTIVATED, "m", {}, clock.wall_us(), os.urandom(7))
    EventStore(installed.database).add(happened)
    installed.close()
    again = ["resend", *OF, "--event", happened.id]
    assert "on its way to 1 endpoint." in said(capsys, *again)
    assert "on its way to 1 endpoint." in said(capsys, *again, "--to", other.id)
    since = ["resend", *OF, "--to", one.id, "--since", "2026-01-01"]
    assert "1 event is on its way." in said(capsys, *since)
    assert main(["webhooks", *since]) == 0
    assert "kept for 30 days: those from before that are gone" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "message", "hint"),
    [
        (["add", *OF, "http://hooks.example/"], "https", "ALAMA_DEVELOPMENT=yes"),
        (["add", *OF, URL, "--kind", "all", "--kind", "score.created"], "stands alone", "leave"),
        (["events", *OF, "--before", "nonsense"], "wants the id of an event, evt_", "below a page"),
        (["attempts", *OF, NO_ID, "--before", "evt_1"], "wants the id of an attempt, att_", None),
        (["add", *OF, URL, "--kind", "score"], "there is no such kind of event", "score.created"),
        (["add", "nobody", URL, "--mode", "test"], "there is no lender nobody", "lenders add"),
        (["show", *OF, NO_ID], "endpoint", None),
        (["update", *OF, NO_ID], "nothing is to be changed", "--enable"),
        (["resend", *OF, "--since", "2026-01-01"], "--since wants an endpoint", "--to"),
        (["resend", *OF, "--to", NO_ID, "--since", "2999-01-01"], "in the future", "30 days"),
    ],
)
def test_what_cannot_be_is_refused_with_the_way_out(
    command: list[str], message: str, hint: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["webhooks", *command]) == EXIT_MISTAKE
    err = capsys.readouterr().err
    assert message in err
    assert hint is None or hint in err


@pytest.mark.parametrize("text", ["x" * 201, "two\nlines", "\x1b[2J"])
@pytest.mark.parametrize("command", [["add", *OF, URL], ["update", *OF, NO_ID]])
def test_a_description_is_one_line_of_200_characters(
    command: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as refused:
        main(["webhooks", *command, "--description", text])
    assert refused.value.code == 2
    assert "one line of at most 200 characters" in capsys.readouterr().err


def test_what_is_of_the_other_book_is_said_to_be(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    endpoint = added(home, capsys)
    sent = said(capsys, "test", *OF, endpoint.id).split()[0]
    live = ["demo", "--mode", "live"]
    for command in (
        ["show", *live, endpoint.id],
        ["resend", *live, "--to", endpoint.id, "--since", "2026-01-01"],
        ["resend", *live, "--event", sent],
    ):
        assert main(["webhooks", *command]) == EXIT_MISTAKE
        assert "it is of the lender's test book: --mode test" in capsys.readouterr().err
    assert main(["webhooks", "show", *live, NO_ID]) == EXIT_MISTAKE
    assert "`alama webhooks list demo --mode live` shows them" in capsys.readouterr().err


def test_what_is_disabled_is_refused_with_the_command_that_enables_it(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    endpoint = added(home, capsys)
    said(capsys, "update", *OF, endpoint.id, "--disable")
    for command in (
        ["test", *OF, endpoint.id],
        ["resend", *OF, "--to", endpoint.id, "--since", "2026-01-01"],
    ):
        assert main(["webhooks", *command]) == EXIT_MISTAKE
        err = capsys.readouterr().err
        assert f"alama webhooks update demo --mode test {endpoint.id} --enable" in err


def test_what_waits_is_shown_and_after_a_while_that_nobody_sends_it(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint = added(home, capsys)
    assert re.search(r"waiting +nothing", said(capsys, "show", *OF, endpoint.id))
    said(capsys, "test", *OF, endpoint.id)
    assert re.search(r"active +1, due now", said(capsys, "list", *OF))
    later_us = clock.wall_us() + 10 * 60 * 1_000_000
    monkeypatch.setattr("alama.lenders.installation.wall_us", lambda: later_us)
    for command in (["list", *OF], ["show", *OF, endpoint.id], ["attempts", *OF, endpoint.id]):
        assert main(["webhooks", *command]) == 0
        out, err = capsys.readouterr()
        assert "no worker seems to run" in err
        assert "`alama worker`" in err
        assert "overdue" in out or command[0] == "attempts"


@pytest.mark.parametrize("columns", [80, 120])
def test_ids_stay_whole_and_no_line_is_longer_than_the_terminal(
    columns: int, home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    url = "https://integration.eu-west-1.example.com/api/v2/tenants/umoja-sacco/webhooks/alama"
    every = [option for kind in EventKind for option in ("--kind", kind.value)]
    endpoint = added(home, capsys, "--description", "x" * 200, *every)
    said(capsys, "update", *OF, endpoint.id, "--url", url)
    event_id = said(capsys, "test", *OF, endpoint.id).split()[0]
    fail_all(home, endpoint)
    terminal.stdout.cache_clear()
    monkeypatch.setenv("COLUMNS", str(columns))
    for command in ("list", "attempts", "events"):
        id_shown = endpoint.id if command == "list" else event_id
        shown = said(capsys, command, *OF, *([endpoint.id] if command == "attempts" else []))
        assert id_shown in shown
        assert max(map(len, shown.splitlines())) <= columns
    terminal.stdout.cache_clear()


@pytest.mark.parametrize("options", [["--since", "yesterday"], ["--limit", "0"], ["--limit", "x"]])
def test_what_is_no_time_or_no_count_is_refused(
    options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    action = "resend" if options[0] == "--since" else "events"
    with pytest.raises(SystemExit) as refused:
        main(["webhooks", action, *OF, *options])
    assert refused.value.code == 2
    assert "no time" in capsys.readouterr().err or options[0] == "--limit"
