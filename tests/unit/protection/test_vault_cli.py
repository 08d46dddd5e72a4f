from __future__ import annotations

import io
import json
import os
import re
from contextlib import closing
from pathlib import Path

import pytest

from alama.app.cli import EXIT_MISTAKE, main
from alama.lenders import installation
from alama.platform import clock, settings
from alama.platform.book import Book, Mode
from alama.platform.files.packaged import sample_application
from alama.webhooks import secrets
from alama.webhooks.endpoint_store import EndpointStore
from tests.stored import give_score
from tests.webhooked import SECRET, an_endpoint

DEMO = Book("demo", Mode.TEST)
EXIT_WRONG = 1


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ALAMA_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


def of(reference: str) -> bytes:
    return json.dumps(json.loads(sample_application()) | {"applicant_ref": reference}).encode()


def replayed(*request_ids: str) -> bool:
    return all(main(["scores", "replay", request_id]) == 0 for request_id in request_ids)


def run(*args: str) -> int:
    return main(["vault", *args])


def test_status_shows_the_keys_of_each_lender_and_nothing_left_to_do(
    capsys: pytest.CaptureFixture[str],
) -> None:
    give_score()
    assert run("status") == 0
    out, err = capsys.readouterr()
    assert out.startswith("master key ")
    assert [line.split()[:2] for line in out.splitlines()[4:-2]] == [
        ["this", "installation"],
        ["demo", "find"],
        ["demo", "seal"],
    ]
    assert out.endswith("\n0 applicants have a key of their own.\n")
    assert err == "Nothing is left to do.\n"


def test_status_shows_ids_whole_in_a_narrow_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    give_score()
    monkeypatch.setenv("COLUMNS", "72")
    assert run("status") == 0
    assert len(re.findall(r"\bvk_[0-9a-f]{28}\b", capsys.readouterr().out)) == 3


def test_status_names_keys_that_are_older_than_a_year(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    give_score(of("A-1"))
    now_us = clock.wall_us()
    later_us = now_us + 400 * 86_400 * 1_000_000
    monkeypatch.setattr("alama.lenders.installation.wall_us", lambda: later_us)
    assert run("status") == 0
    out, err = capsys.readouterr()
    assert "1 applicant has a key of their own." in out
    assert "webhook" not in out
    assert "is older than a year: `alama vault rotate lender demo`" in err
    assert "is older than a year: `alama vault rotate signing`" in err
    assert err.count("older") == 2


def test_status_counts_webhook_endpoints_and_rotation_hands_their_secrets_over(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with closing(installation.open_installation(settings.read(os.environ))) as opened:
        endpoint = an_endpoint(opened.vault)
        store = EndpointStore(opened.database, opened.log, opened.vault)
        store.add(endpoint)
        assert run("status") == 0
        said = "1 webhook endpoint has secrets under the key of their lender.\n"
        assert capsys.readouterr().out.endswith(said)
        assert run("rotate", "lender", "demo") == 0
        moved = store.find(DEMO, endpoint.id)
        assert moved.secrets.lender_key_id != endpoint.secrets.lender_key_id
        assert secrets.of_endpoint(opened.vault, moved, opened.clock()) == [SECRET]


def test_a_lender_is_rotated_and_its_scores_replay(capsys: pytest.CaptureFixture[str]) -> None:
    scores = give_score(), give_score(of("A-1"))
    assert run("rotate", "lender", "demo", "--by", "W. Mutua") == 0
    out, err = capsys.readouterr()
    assert out.startswith("demo seals under vk_")
    assert err.startswith("Handing over: 2 keys in ")
    assert replayed(*scores)
    assert run("rotate", "lender", "nobody") == EXIT_MISTAKE


def test_an_applicant_is_rotated_by_a_reference_from_a_pipe(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = give_score(of("A-1")), give_score(of("A-1")), give_score(of("A-2"))
    monkeypatch.setattr("sys.stdin", io.StringIO("A-1\n"))
    assert run("rotate", "applicant", "--lender", "demo", "--mode", "test") == 0
    assert capsys.readouterr().out == "3 records and replies are sealed under a new key.\n"
    assert replayed(*scores)


def test_a_new_key_signs_and_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    request_id = give_score()
    assert run("rotate", "signing") == 0
    out = capsys.readouterr().out
    assert " signs from now on: " in out
    assert len(out.rpartition(": ")[2].strip()) == 64
    assert replayed(request_id, give_score())


def test_a_master_key_is_rotated_in_the_three_steps_of_the_help(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    scores = give_score(), give_score(of("A-1"))
    old, new = home / "master-key", home / "master-key-new"
    new.write_text("0a" * 32)
    new.chmod(0o600)
    monkeypatch.setenv("ALAMA_MASTER_KEY_FILE", str(new))
    assert run("status") == EXIT_WRONG
    out, err = capsys.readouterr()
    assert re.match(r"master key [0-9a-f]{16}, which is not the one of this database\n", out)
    assert "ALAMA_MASTER_KEY_OLD" in err
    assert run("rotate", "master", "--yes") == EXIT_MISTAKE
    monkeypatch.setenv("ALAMA_MASTER_KEY_OLD_FILE", str(old))
    assert replayed(*scores, give_score())
    assert run("status") == 0
    assert "started with both: `alama vault rotate master`" in capsys.readouterr().err
    assert run("rotate", "master") == EXIT_MISTAKE
    assert "will answer 503 from now on" in capsys.readouterr().err
    assert run("rotate", "master", "--yes") == 0
    assert "3 keys are under the master key" in capsys.readouterr().out
    monkeypatch.delenv("ALAMA_MASTER_KEY_OLD_FILE")
    old.unlink()
    assert replayed(*scores, give_score())


def test_without_a_new_master_key_it_is_said_where_it_belongs(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    give_score()
    assert run("rotate", "master") == 0
    out, err = capsys.readouterr()
    assert "nothing to do" in out
    assert "set a new one in ALAMA_MASTER_KEY(_FILE)" in err
    assert "the present one in ALAMA_MASTER_KEY_OLD(_FILE)" in err
    other = home / "master-key-other"
    other.write_text("0a" * 32)
    other.chmod(0o600)
    monkeypatch.setenv("ALAMA_MASTER_KEY_OLD_FILE", str(other))
    assert run("rotate", "master") == 0
    assert "ALAMA_MASTER_KEY_OLD(_FILE) can be unset" in capsys.readouterr().err


def test_without_its_master_key_nothing_opens_and_it_is_said_what_to_do(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    request_id = give_score()
    capsys.readouterr()
    kept = (home / "master-key").read_bytes()
    (home / "master-key").unlink()
    for command in (
        ["scores", "show", request_id],
        ["keys", "issue", "--lender", "demo", "--mode", "test"],
        ["lenders", "pause", "demo", "--reason", "a case"],
        ["vault", "rotate", "lender", "demo"],
    ):
        assert main(command) == EXIT_MISTAKE
        err = capsys.readouterr().err
        assert "wrapped under the master key" in err
        assert "from your backup" in err
    for command in (["scores", "list"], ["keys", "list"], ["audit", "log"]):
        assert main(command) == 0
    capsys.readouterr()
    assert run("status") == EXIT_WRONG
    assert capsys.readouterr().out.startswith("master key missing\n")
    assert not (home / "master-key").exists()
    (home / "master-key").write_bytes(kept)
    (home / "master-key").chmod(0o600)
    assert replayed(request_id)


@pytest.mark.parametrize("text", ["", "0a" * 31, "0a" * 33, "zz" * 32])
def test_what_is_no_master_key_is_refused(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    (home / "key").write_text(text)
    (home / "key").chmod(0o600)
    monkeypatch.setenv("ALAMA_MASTER_KEY_FILE", str(home / "key"))
    assert main(["keys", "issue", "--lender", "demo", "--mode", "test"]) == EXIT_MISTAKE
    err = capsys.readouterr().err
    assert "is no master key: it wants 64 hexadecimal digits" in err
    assert text == "" or text not in err


def test_a_master_key_that_everyone_can_read_is_refused(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    give_score()
    (home / "master-key").chmod(0o644)
    assert run("status") == EXIT_MISTAKE
    assert "everyone on this machine can read the master key" in capsys.readouterr().err


def test_a_file_that_is_named_and_not_there_is_told(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ALAMA_MASTER_KEY_FILE", str(home / "elsewhere"))
    assert main(["keys", "issue", "--lender", "demo", "--mode", "test"]) == EXIT_MISTAKE
    assert "ALAMA_MASTER_KEY_FILE says where it is" in capsys.readouterr().err
    assert not (home / "elsewhere").exists()
