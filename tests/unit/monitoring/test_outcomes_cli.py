"""`alama outcomes load`: files of outcomes, and what is said of each row."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from sqlalchemy import select

from alama.app.cli import EXIT_MISTAKE, main
from alama.lenders import installation
from alama.monitoring import outcomes_cli, schema
from alama.monitoring.outcomes import BATCH_MAX, OutcomeStore
from alama.onboarding.job_supervisor import JOB_PAUSE_TURNS
from alama.platform import clock, settings
from alama.platform.acts import SHA256, ActKind, decode
from alama.protection.audit.store import Trail
from alama.scoring.store import Scores
from tests.entries import DEMO, LIVE, a_request_id, an_entry
from tests.lending import open_live

NOW = datetime.now(UTC)
TODAY = NOW.date().isoformat()
UNKNOWN = a_request_id()


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ALAMA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


@pytest.fixture
def scored(home: Path) -> list[str]:
    """Scores that were given in the demo lender's test book."""
    opened = installation.open_installation(settings.read({"ALAMA_HOME": str(home / "home")}))
    opened.vault.ring(DEMO.lender)
    entries = [an_entry(at_us=clock.wall_us()) for _ in range(5)]
    Scores.at(opened).commit(entries)
    opened.close()
    return [entry.score.request_id for entry in entries]


def load(file: Path, *more: str) -> int:
    return main(["outcomes", "load", str(file), "--lender", "demo", *more])


def kept(home: Path) -> dict[str, Any]:
    opened = installation.open_installation(settings.read({"ALAMA_HOME": str(home / "home")}))
    with opened.database.reading() as connection:
        rows = connection.execute(select(schema.outcomes)).all()
    opened.close()
    return {row.request_id: row for row in rows}


def table(printed: str) -> list[list[str]]:
    """The first two cells of each line."""
    return [line.split()[:2] for line in printed.splitlines()]


def csv_of(home: Path, *lines: str) -> Path:
    file = home / "news.csv"
    file.write_text("\n".join(lines) + "\n")
    return file


def test_a_csv_file_is_recorded_and_counted(
    home: Path, scored: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    first, second, third, *_ = scored
    file = csv_of(
        home,
        "request_id,outcome,date,disbursed_amount,repaid_amount,corrects,branch",
        f"{first},repaid,{TODAY},12500, 13000.50 ,,Thika",
        f"{second},defaulted,{TODAY},,0,TRUE,Thika",
        f"{third},restructured,{TODAY},1e3,,0,Thika",
    )
    assert load(file) == 0
    said = capsys.readouterr()
    assert ["recorded", "3"] in table(said.out)
    assert ", 3 rows\n" in said.err
    assert "demo, test mode" in said.err
    assert "ignored: branch" in said.err
    rows = kept(home)
    assert (rows[first].disbursed_amount, rows[first].repaid_amount) == (12_500.0, 13_000.5)
    assert (rows[second].disbursed_amount, rows[second].repaid_amount) == (None, 0.0)
    assert rows[third].defaulted_on == rows[second].defaulted_on
    assert rows[first].key_id is None


def test_the_same_file_again_changes_nothing(
    home: Path, scored: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    file = csv_of(home, "request_id,outcome,date", *(f"{one},repaid,{TODAY}" for one in scored))
    assert load(file) == 0
    before = kept(home)
    capsys.readouterr()
    assert load(file) == 0
    assert ["unchanged", "5"] in table(capsys.readouterr().out)
    assert kept(home) == before


def test_what_is_refused_keeps_no_other_row_back_and_no_value_is_repeated(
    home: Path, scored: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    first, second, third, *_ = scored
    late = (NOW + timedelta(days=2)).date()
    file = csv_of(
        home,
        "request_id,outcome,date,repaid_amount,corrects",
        f"{first},repaid,{TODAY},,",
        f"{UNKNOWN},repaid,{TODAY},,",
        f"{second},Zq7marked,16/11/2026,1 000,maybe",
        "+254712345678,repaid,2026-11-16,,",
        f"{third},repaid,{late},,",
        ",,,,",
    )
    target = home / "refused.csv"
    assert load(file, "--refused", str(target)) == 1
    said = capsys.readouterr()
    assert ["invalid", "3"] in table(said.out)
    assert f"5 rows refused, and listed in {target}" in said.err
    with target.open() as written:
        rows = list(csv.reader(written))
    assert rows[0] == ["place", "request_id", "result", "message"]
    assert [row[:3] for row in rows[1:]] == [
        ["row 2", UNKNOWN, "unknown_score"],
        ["row 3", second, "invalid"],
        ["row 4", "", "invalid"],
        ["row 5", third, "in_the_future"],
        ["row 6", "", "invalid"],
    ]
    assert rows[2][3] == (
        "outcome must be one of repaid, defaulted, written_off, restructured; "
        "date must be a date from 2000-01-01 on, such as 2026-11-16; "
        "repaid_amount must be a number from 0 to 1,000,000,000,000; leave it out where it is not "
        "known; corrects must be true or false"
    )
    assert rows[5][3] == "request_id is required; outcome is required; date is required"
    for text in (said.out, said.err, target.read_text()):
        assert "Zq7marked" not in text
        assert "254712345678" not in text
    assert kept(home).keys() == {first}


def test_a_few_refused_rows_are_told_where_no_file_is_asked_for(
    home: Path, scored: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [f"{a_request_id()},repaid,{TODAY}" for _ in range(12)]
    file = csv_of(home, "request_id,outcome,date", f"{scored[0]},repaid,{TODAY}", *lines)
    assert load(file) == 1
    told = capsys.readouterr().err
    assert "row 2: unknown_score: There is no score with this request_id" in told
    assert "row 11:" in told
    assert "row 12:" not in told
    assert "... and 2 more" in told


def test_a_score_that_is_not_there_is_told_in_the_words_of_a_command_line(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    installation.open_installation(settings.read({"ALAMA_HOME": str(home / "home")})).close()
    file = csv_of(home, "request_id,outcome,date", f"{UNKNOWN},repaid,{TODAY}")
    target = home / "refused.csv"
    assert load(file, "--refused", str(target)) == 1
    assert f"1 row refused, and listed in {target}" in capsys.readouterr().err
    told = target.read_text()
    assert "see --mode" in told
    assert "key" not in told


def test_json_lines_are_read_by_the_rules_of_the_interface(
    home: Path, scored: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    first, second, *_ = scored
    file = home / "news.jsonl"
    lines = [
        json.dumps({"request_id": first, "outcome": "repaid", "date": TODAY, "corrects": True}),
        "",
        '{"request_id": ',
        json.dumps({"request_id": second, "outcome": "repaid", "date": TODAY, "corrects": "Zq7"}),
        "[]",
        json.dumps({"request_id": second, "outcome": "written_off", "date": TODAY}),
    ]
    file.write_bytes(b"\xef\xbb\xbf" + "\n".join(lines).encode())
    assert load(file) == 1
    said = capsys.readouterr()
    assert "line 3: invalid: the line is not JSON\n" in said.err
    assert "line 4: invalid: corrects must be true or false" in said.err
    assert "line 5: invalid: the line is not a JSON object" in said.err
    assert {row.state for row in kept(home).values()} == {"repaid", "written_off"}


def test_what_lines_have_beside_the_fields_is_ignored_and_named_once(
    home: Path, scored: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    file = home / "news.jsonl"
    many = {f"more_{number}": 1 for number in range(2 * outcomes_cli.IGNORED_MAX)}
    beside: list[dict[str, Any]] = [
        {"branch": "Zq7marked", "a\x1b[31m": 1},
        {"branch": 2},
        many,
    ]
    lines = [
        json.dumps({"request_id": one, "outcome": "repaid", "date": TODAY, **more})
        for one, more in zip(scored, beside, strict=False)
    ]
    file.write_text("\n".join(lines))
    assert load(file) == 0
    said = capsys.readouterr()
    assert "ignored: branch, a?[31m, more_0, more_1," in said.err
    assert ", and others\n" in said.err
    assert said.err.count("branch") == 1
    assert "Zq7marked" not in said.out + said.err
    assert said.err.count("more_") == outcomes_cli.IGNORED_MAX - 2
    assert len(kept(home)) == 3


def test_parquet_comes_in_its_own_types(home: Path, scored: list[str]) -> None:
    today = date.fromisoformat(TODAY)
    columns = {
        "request_id": pa.array(scored[:3]).dictionary_encode(),
        "outcome": pa.array(["repaid", "defaulted", "repaid"]),
        "date": pa.array([today, today, today], pa.date32()),
        "disbursed_amount": pa.array([Decimal("10.50"), None, Decimal("7.00")]),
        "repaid_amount": pa.array([11.25, float("nan"), 8.0]),
        "corrects": pa.array([None, True, False]),
    }
    file = home / "news.parquet"
    pyarrow.parquet.write_table(pa.table(columns), file)
    assert load(file) == 0
    rows = kept(home)
    assert [rows[one].disbursed_amount for one in scored[:3]] == [10.5, None, 7.0]
    assert [rows[one].repaid_amount for one in scored[:3]] == [11.25, None, 8.0]


def test_a_time_is_taken_for_its_day(home: Path, scored: list[str]) -> None:
    columns = {
        "request_id": scored[:1],
        "outcome": ["repaid"],
        "date": [NOW.replace(tzinfo=None)],
    }
    file = home / "news.parquet"
    pyarrow.parquet.write_table(pa.table(columns), file)
    assert load(file) == 0
    assert kept(home)[scored[0]].happened_on == NOW.date().toordinal() - 719_163


def test_a_long_file_is_recorded_in_batches_each_of_them_an_act(
    home: Path, scored: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert BATCH_MAX == 1_000
    monkeypatch.setattr(outcomes_cli, "BATCH_MAX", 2)
    file = csv_of(home, "request_id,outcome,date", *(f"{one},repaid,{TODAY}" for one in scored))
    assert load(file, "--by", "A. Wanjiru") == 0
    lines = home / "news.jsonl"
    told = [
        json.dumps({"request_id": one, "outcome": "defaulted", "date": TODAY, "corrects": True})
        for one in scored
    ]
    lines.write_text("\n".join(told))
    assert load(lines, "--by", "A. Wanjiru") == 0
    opened = installation.open_installation(settings.read({"ALAMA_HOME": str(home / "home")}))
    found = [decode(link.body) for link in Trail(opened.database).links("main", 0, 1_000)]
    opened.close()
    acts = [act for act in found if act.kind is ActKind.OUTCOMES_RECORDED]
    assert [act.by for act in acts] == ["A. Wanjiru"] * 6
    counted = [act.details.get("recorded", act.details.get("corrected")) for act in acts]
    assert counted == [2, 2, 1, 2, 2, 1]
    hashes = [hashlib.sha256(one.read_bytes()).hexdigest() for one in (file, lines)]
    assert [act.details[SHA256] for act in acts] == [hashes[0]] * 3 + [hashes[1]] * 3


def test_the_log_shows_the_hash_of_the_file_as_sha256sum_prints_it(
    home: Path, scored: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    file = csv_of(home, "request_id,outcome,date", f"{scored[0]},repaid,{TODAY}")
    assert load(file) == 0
    assert main(["audit", "log"]) == 0
    shown = "".join(capsys.readouterr().out.split())
    assert f"sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}" in shown


def test_scores_keep_their_turn_while_a_file_is_loaded(
    home: Path, scored: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    paused: list[float] = []
    record = OutcomeStore.record

    def watched(store: OutcomeStore, *given: Any) -> Any:
        paused.append(store._database.write_backoff.pause_turns)
        return record(store, *given)

    monkeypatch.setattr(OutcomeStore, "record", watched)
    assert load(csv_of(home, "request_id,outcome,date", f"{scored[0]},repaid,{TODAY}")) == 0
    assert paused == [JOB_PAUSE_TURNS]


def test_where_the_lender_is_live_its_live_loans_are_meant(
    home: Path, scored: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    opened = installation.open_installation(settings.read({"ALAMA_HOME": str(home / "home")}))
    open_live(opened.registry, LIVE)
    opened.close()
    file = csv_of(home, "request_id,outcome,date", f"{scored[0]},repaid,{TODAY}")
    assert load(file) == 1
    assert "demo, live mode" in capsys.readouterr().err
    assert load(file, "--mode", "test") == 0


def _lacking(home: Path) -> Path:
    return csv_of(home, "request_id,outcome", f"{UNKNOWN},repaid")


def _ragged(home: Path) -> Path:
    return csv_of(home, "request_id,outcome,date", f"{UNKNOWN},repaid")


def _document(home: Path) -> Path:
    file = home / "news.json"
    file.write_text("[]")
    return file


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (_lacking, "has no column date"),
        (_ragged, "row 1 has 2 values where the header names 3 columns"),
        (_document, "JSON is read line by line"),
        (lambda home: home / "missing.jsonl", "cannot read"),
        (lambda home: home / "missing.csv", "does not exist"),
    ],
)
@pytest.mark.usefixtures("scored")
def test_a_file_that_is_none_is_refused_in_words(
    home: Path, capsys: pytest.CaptureFixture[str], made: Callable[[Path], Path], told: str
) -> None:
    assert load(made(home)) == EXIT_MISTAKE
    assert told in capsys.readouterr().err


@pytest.mark.usefixtures("scored")
def test_the_file_itself_is_not_written_over(home: Path) -> None:
    file = csv_of(home, "request_id,outcome,date", f"{UNKNOWN},repaid,{TODAY}")
    before = file.read_text()
    assert load(file, "--refused", str(file)) == EXIT_MISTAKE
    assert load(file, "--refused", str(home / "no" / "such" / "folder.csv")) == EXIT_MISTAKE
    assert file.read_text() == before


def test_a_lender_that_is_not_there_is_named(
    home: Path, scored: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    file = csv_of(home, "request_id,outcome,date", f"{scored[0]},repaid,{TODAY}")
    assert main(["outcomes", "load", str(file), "--lender", "nobody"]) == EXIT_MISTAKE
    assert "there is no lender nobody" in capsys.readouterr().err


def test_a_list_of_refused_rows_stays_where_the_lender_is_not_there(
    home: Path, scored: list[str]
) -> None:
    file = csv_of(home, "request_id,outcome,date", f"{scored[0]},repaid,{TODAY}")
    listed = home / "refused.csv"
    listed.write_text("what was refused last time")
    more = ["--lender", "nobody", "--refused", str(listed)]
    assert main(["outcomes", "load", str(file), *more]) == EXIT_MISTAKE
    assert listed.read_text() == "what was refused last time"
