from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import Table, delete, select, text, update

from alama.app.cli import EXIT_MISTAKE, main
from alama.lenders import installation
from alama.platform import clock, settings
from alama.platform.book import Book, Mode
from alama.platform.database import tables
from alama.platform.database.database import connect
from alama.protection import retention
from alama.protection.retention import Plan
from alama.scoring import schema
from alama.vault import schema as vault_schema
from tests.stored import give_score


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ALAMA_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "160")
    return tmp_path


def tamper(home: Path, table: Table, **columns: object) -> None:
    database = connect(settings.Settings(home=str(home)).database_address)
    with database.writing() as connection:
        connection.execute(update(table).values(**columns))
    database.close()


def test_an_audit_that_holds_says_what_was_looked_at(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        give_score()
    assert main(["audit", "verify"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("The audit holds.\n")
    # demo added, two keys issued, two chains opened; and the two chains of one entry each.
    assert "7 in 3 chains, each hash and each signature is right" in said.out
    assert "2 are what was given, to the last bit" in said.out
    assert "from before" not in said.out
    assert "alama audit head" in said.err


def test_what_an_act_accounts_for_is_counted_apart(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        give_score()
    opened = installation.open_installation(settings.Settings(home=str(home)))
    with opened.database.writing() as connection:
        one = connection.execute(select(schema.scores.c.request_id).limit(1)).scalar_one()
        connection.execute(delete(schema.scores).where(schema.scores.c.request_id == one))
        plan = Plan(Book("demo", Mode.TEST), days=4, before_us=clock.wall_us(), scores=1)
        opened.log.append(connection, retention.retention_run(plan, [one], None))
    opened.close()
    assert main(["audit", "verify"]) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert lines[2:] == [
        "scores     1 are what was given, to the last bit",
        "1 more: deleted, each named by a retention run",
        "documents  2: each model and policy has the hash that is its id",
    ]


def test_what_is_wrong_is_listed_by_what_it_means(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = give_score()
    tamper(home, schema.scores, score=849)
    tamper(home, tables.audit_entries, created_us=1)
    assert main(["audit", "verify"]) == 1
    said = capsys.readouterr()
    lines = said.out.splitlines()
    assert lines[:2] == [
        "The audit does not hold: 6 things are wrong.",
        "The first of them: entry 1 of main, it was changed, its hash is another.",
    ]
    place = lines.index("A score is not what was given: a column or its record was changed since.")
    assert lines[place + 1].split() == [changed, "its", "digest", "is", "another"]
    assert "Keep a copy of this database as it is" in said.err


def test_one_thing_that_is_wrong_is_said_once(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = give_score()
    tamper(home, schema.scores, score=849)
    assert main(["audit", "verify"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("The audit does not hold: one thing is wrong.\n\n")
    assert out.count(changed) == 1


def test_a_long_list_is_cut(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(8):
        give_score()
    tamper(home, tables.audit_entries, created_us=1)
    assert main(["audit", "verify"]) == 1
    out = capsys.readouterr().out
    assert "33 things are wrong" in out
    assert "\n  and 5 more\n" in out


def test_heads_that_were_printed_are_found_again(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    give_score()
    assert main(["audit", "head"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("main 3 ")
    give_score()
    for head in (line, line.split()[-1]):
        assert main(["audit", "verify", "--head", head]) == 0
        said = capsys.readouterr()
        assert "1 was found again: nothing up to there was taken away" in said.out
        assert "alama audit head" not in said.err
    # As if the last act had never been: nothing within the database tells.
    main(["lenders", "add", "last", "--name", "A", "--currency", "KES"])
    capsys.readouterr()
    assert main(["audit", "head"]) == 0
    line = capsys.readouterr().out.splitlines()[0]
    database = connect(settings.Settings(home=str(home)).database_address)
    with database.writing() as connection:
        newest = tables.audit_entries.c.number == int(line.split()[1])
        connection.execute(delete(tables.audit_entries).where(newest))
        connection.execute(delete(tables.lenders).where(tables.lenders.c.id == "last"))
    database.close()
    assert main(["audit", "verify"]) == 0
    assert main(["audit", "verify", "--head", line]) == 1
    assert "The audit is not the one of which a head was written down." in capsys.readouterr().out


@pytest.mark.parametrize("head", ["", "12", "zz" * 32, "main 3", "ab" * 33])
def test_what_is_no_hash_is_refused(head: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["audit", "verify", "--head", head])
    assert ended.value.code == EXIT_MISTAKE
    assert "a hash has 64 hexadecimal digits" in capsys.readouterr().err


def test_acts_are_listed_newest_first_without_what_the_service_notes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "240")  # a key has many scopes
    give_score()
    main(["lenders", "pause", "demo", "--mode", "test", "--reason", "payments [are] down"])
    capsys.readouterr()
    assert main(["audit", "log"]) == 0
    rows = capsys.readouterr().out.splitlines()[2:]
    assert [row.split()[0] for row in rows] == ["4", "2", "1"]
    assert "paused, demo test, reason: payments [are] down" in rows[0]
    assert "reviews:write scores:read scores:write" in rows[1]
    assert main(["audit", "log", "--all"]) == 0
    rows = capsys.readouterr().out.splitlines()[2:]
    assert [row.split()[0] for row in rows] == ["4", "3", "2", "1"]
    assert rows[1].rstrip().endswith(" at 1")


def test_an_endpoint_that_wants_every_kind_is_said_to_want_all(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    installation.open_installation(settings.Settings(home=str(home))).close()
    assert main(["webhooks", "add", "demo", "https://hooks.example/", "--mode", "test"]) == 0
    capsys.readouterr()
    assert main(["audit", "log"]) == 0
    assert "host: hooks.example, kinds: all" in capsys.readouterr().out


def test_a_long_log_is_read_in_pages(capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(3):
        main(["lenders", "add", f"lender-{number}", "--name", "A", "--currency", "KES"])
    capsys.readouterr()
    assert main(["audit", "log", "--limit", "2"]) == 0
    said = capsys.readouterr()
    assert "lender-2" in said.out
    assert "lender-0" not in said.out
    assert said.err == "Older ones: --before 3\n"
    assert main(["audit", "log", "--limit", "2", "--before", "3"]) == 0
    said = capsys.readouterr()
    assert "lender-0" in said.out
    assert said.err == ""
    assert main(["audit", "log", "--before", "1"]) == 0
    assert capsys.readouterr().err == "Nothing was done before.\n"
    assert main(["audit", "log", "--all", "--limit", "2"]) == 0
    assert capsys.readouterr().err == "Older ones: --all --before 3\n"


def test_an_act_that_cannot_be_read_is_listed_all_the_same(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    give_score()
    tamper(home, tables.audit_entries, body=b"\xc1", created_us=2**62)
    capsys.readouterr()
    assert main(["audit", "log"]) == 0
    out = capsys.readouterr().out
    assert out.count("cannot be read") == 2
    assert out.count("at no time") == 2
    assert main(["audit", "verify"]) == 1
    assert main(["audit", "head"]) == 0


@pytest.mark.parametrize("action", ["verify", "log", "head"])
def test_an_audit_is_not_made_where_there_is_none(
    action: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", action]) == EXIT_MISTAKE
    assert "there is no installation" in capsys.readouterr().err


def test_a_body_that_is_text_is_a_finding(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    give_score()
    tamper(home, tables.audit_entries, body=text("'x'"))
    capsys.readouterr()
    assert main(["audit", "verify"]) == 1
    assert "it was changed, its hash is another" in capsys.readouterr().out
    for action in ("log", "head"):
        assert main(["audit", action]) == 0


def test_a_key_that_is_missing_is_told_once_and_accuses_nobody(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(3):
        give_score()
    database = connect(settings.Settings(home=str(home)).database_address)
    with database.writing() as connection:
        seal = vault_schema.vault_keys.c.purpose == "seal"
        connection.execute(delete(vault_schema.vault_keys).where(seal))
    database.close()
    capsys.readouterr()
    assert main(["audit", "verify"]) == EXIT_MISTAKE
    said = capsys.readouterr()
    assert said.out.startswith("It cannot be told whether the audit holds.\n")
    assert "3 scores or applicants of demo need it" in said.out
    assert said.out.count("vk_") == 1
    assert "nobody is to blame" in said.err


def test_the_log_says_what_it_leaves_out(capsys: pytest.CaptureFixture[str]) -> None:
    give_score()
    main(["lenders", "pause", "demo", "--mode", "test", "--reason", "payments are down"])
    capsys.readouterr()
    main(["audit", "log"])
    assert "Left out" in capsys.readouterr().err
    main(["audit", "log", "--all"])
    assert "Left out" not in capsys.readouterr().err
