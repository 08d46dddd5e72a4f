from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import msgspec
import pytest
from sqlalchemy import update

from alama.app.cli import EXIT_MISTAKE, main
from alama.core.lending.draft import default_text
from alama.lenders import installation
from alama.platform import settings
from alama.platform.book import Book, Mode
from alama.platform.database.database import connect
from alama.scoring import schema
from alama.scoring.records import Sealed, pack
from alama.scoring.replay import open_score
from alama.scoring.store import Scores
from tests.stored import give_score
from tests.stores import sealed_row

COMPACT = {
    "mobile_money_months": 14,
    "monthly_inflow": 18_000,
    "stability_score": 0.6,
    "airtime_regularity": 0.8,
    "existing_repayments": 18_000,
    "applicant_ref": "A-[77]",
}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ALAMA_HOME", str(tmp_path))
    return tmp_path


def compact() -> bytes:
    return json.dumps(COMPACT).encode()


def tamper(home: Path, **columns: object) -> None:
    database = connect(settings.Settings(home=str(home)).database_address)
    with database.writing() as connection:
        connection.execute(update(schema.scores).values(**columns))
    database.close()


def kept(home: Path, request_id: str) -> Sealed:
    opened = installation.open_installation(settings.Settings(home=str(home)))
    found = open_score(opened.vault, Scores.at(opened).find(Book("demo", Mode.TEST), request_id))
    opened.close()
    return found


def replace_record(home: Path, request_id: str, record: Sealed, **columns: object) -> None:
    """Keep another record of a score, sealed as the service would have."""
    opened = installation.open_installation(settings.Settings(home=str(home)))
    row = Scores.at(opened).find(Book("demo", Mode.TEST), request_id).row
    values = sealed_row(opened.vault, row, pack(record))._asdict()
    opened.close()
    tamper(home, **values | columns)


def test_scores_are_listed_newest_first_with_their_offers(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    first, second = give_score(), give_score(compact())
    assert main(["scores", "list"]) == 0
    out, err = capsys.readouterr()
    newest, oldest = out.splitlines()[-2:]
    assert err == "demo, test mode:\n"
    when = r"20\d\d-\d\d-\d\d \d\d:\d\d"
    assert re.fullmatch(rf"{second}  {when}  637 C    7\.24%  DECLINED *", newest)
    assert re.fullmatch(
        rf"{first}  {when}  683 B    3\.40%  APPROVED  KES 13,000  60 d  47\.51%", oldest
    )


def test_a_long_list_is_read_page_by_page(capsys: pytest.CaptureFixture[str]) -> None:
    ids = [give_score(compact()) for _ in range(3)]
    assert main(["scores", "list", "--limit", "2"]) == 0
    out, err = capsys.readouterr()
    assert re.findall(r"req_\w+", out) == [ids[2], ids[1]]
    assert err == f"demo, test mode:\nOlder ones: --before {ids[1]}\n"
    assert main(["scores", "list", "--limit", "2", "--before", ids[1]]) == 0
    out, err = capsys.readouterr()
    assert re.findall(r"req_\w+", out) == [ids[0]]
    assert err == "demo, test mode:\n"
    assert main(["scores", "list", "--before", ids[0]]) == 0
    assert capsys.readouterr() == ("", "demo has no older scores in test mode.\n")


def test_scores_are_listed_by_what_is_known_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    approved, declined = give_score(), give_score(compact())

    def listed(*wanted: str) -> list[str]:
        assert main(["scores", "list", *wanted]) == 0
        return re.findall(r"req_\w+", capsys.readouterr().out)

    assert listed("--decision", "DECLINED") == [declined]
    assert listed("--tier", "B") == [approved]
    assert listed("--tier", "B", "--decision", "DECLINED") == []
    assert listed("--since", "2020-01-01") == [declined, approved]
    assert listed("--until", "2020-01-01") == []
    assert listed("--ref", "nobody") == []
    with pytest.raises(SystemExit):
        main(["scores", "list", "--since", "soon"])


def test_a_list_goes_on_with_the_options_that_it_was_asked_for_with(
    capsys: pytest.CaptureFixture[str],
) -> None:
    ids = [give_score(compact()) for _ in range(3)]
    give_score()
    times = ("--since", "2020-01-01", "--until=2120-01-01T10:30+03:00")
    wanted = [*times, "--decision", "DECLINED", "--tier", "C", "--ref", "A-[77]"]
    for expected in ids[::-1]:
        assert main(["scores", "list", "--limit", "1", *wanted]) == 0
        out, err = capsys.readouterr()
        assert re.findall(r"req_\w+", out) == [expected]
        wanted = shlex.split(err.partition("Older ones: ")[2])
    assert wanted == []
    main(["scores", "list", "--limit", "1", "--mode", "test", "--lender", "demo", "--tier", "C"])
    assert f"\nOlder ones: --tier C --before {ids[2]}\n" in capsys.readouterr().err


def test_the_options_that_a_list_goes_on_with_can_be_typed_into_a_shell(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(["lenders", "add", "umoja", "--name", "Umoja", "--currency", "UGX"])
    refs = ("it's $HOME", "-77")
    for ref in refs:
        for _ in range(2):
            give_score(json.dumps(COMPACT | {"applicant_ref": ref}).encode(), "umoja")
    for ref in refs:
        capsys.readouterr()
        assert main(["scores", "list", "--limit", "1", "--lender", "umoja", f"--ref={ref}"]) == 0
        again = shlex.split(capsys.readouterr().err.partition("Older ones: ")[2])
        assert again[:2] == ["--lender", "umoja"]
        assert main(["scores", "list", *again]) == 0
        assert len(re.findall(r"req_\w+", capsys.readouterr().out)) == 1


def test_a_book_is_not_called_empty_for_what_was_not_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    request_id = give_score(compact())
    for wanted in (["--tier", "Z"], ["--ref", "nobody"], ["--until", "2020-01-01"]):
        assert main(["scores", "list", *wanted]) == 0
        assert capsys.readouterr() == ("", "demo has no scores of that kind in test mode.\n")
    main(["scores", "list", "--waiting", "--tier", "C", "--before", request_id])
    said = "demo has no older scores of that kind that wait for a person in test mode.\n"
    assert capsys.readouterr() == ("", said)


def test_a_book_shows_its_own_scores_alone(capsys: pytest.CaptureFixture[str]) -> None:
    main(["lenders", "add", "umoja", "--name", "Umoja", "--currency", "UGX"])
    request_id = give_score(compact(), "umoja")
    capsys.readouterr()
    assert main(["scores", "list"]) == 0
    assert capsys.readouterr() == ("", "demo has no scores in test mode.\n")
    assert main(["scores", "list", "--lender", "umoja", "--mode", Mode.LIVE]) == 0
    assert capsys.readouterr() == ("", "umoja has no scores in live mode.\n")
    assert main(["scores", "list", "--lender", "umoja"]) == 0
    out, err = capsys.readouterr()
    assert request_id in out
    assert err == "umoja, test mode:\n"


def test_one_score_is_shown_as_it_was_given(
    capsys: pytest.CaptureFixture[str],
) -> None:
    request_id = give_score(compact())
    assert main(["scores", "show", request_id]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{request_id}\ngiven   20")
    assert re.search(r"\nto +demo, test mode, key_[0-9a-f]{16} *\n", out)
    assert re.search(r"\nmodel +sha256:[0-9a-f]{64} *\npolicy +sha256:[0-9a-f]{64} *\n", out)
    assert re.search(r"\nmemory +nothing of earlier loans or applications *\n", out)
    assert re.search(r"\nalso +existing_repayments 18000, applicant_ref A-\[77\] *\n", out)
    assert "\nscore 637   default probability 7.24%" in out
    assert "\ntier C   DECLINED (unaffordable)\n" in out
    assert re.search(r"\nmonthly_inflow +KES 18,000 +\+\d", out)
    assert main(["scores", "show", give_score(compact())]) == 0
    read = "applications_1d 1, applications_30d 1, declined_7d 1"
    assert re.search(rf"\nmemory +{read} *\n", capsys.readouterr().out)


@pytest.mark.usefixtures("installed_at_home")
def test_what_a_rule_of_the_policy_says_is_shown_where_it_objected(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rule = (
        b'[[rules]]\nname = "new_wallet"\nwhen = "mm_months < 24"\ndecision = "REVIEW"\n'
        b'says = "younger than [two] years"\n'
    )
    text = default_text("KES").replace(b'"default KES"', b'"our KES policy"') + rule
    (home / "ours.toml").write_bytes(text)
    assert main(["policy", "activate", str(home / "ours.toml")]) == 0
    request_id = give_score(compact())
    capsys.readouterr()
    assert main(["scores", "show", request_id]) == 0
    out = capsys.readouterr().out
    assert "\nnew_wallet: younger than [two] years\n" in out
    assert "\nour KES policy, sha256:" in out


def test_words_that_were_stored_with_escapes_are_shown_without_and_replayed_with_them(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # A body of the days when a word could hold any character.
    request_id = give_score(json.dumps({**COMPACT, "region": "nowhere"}).encode())
    record = kept(home, request_id)
    sent = {**COMPACT, "region": "\x1b[2J\nx", "applicant_ref": "a\u202eb\nmodel fine"}
    parts = [
        msgspec.structs.replace(part, value="\x1b[2J\nx") if part.feature == "region" else part
        for part in record.assessment.contributions
    ]
    old = Sealed(
        json.dumps(sent).encode(),
        msgspec.structs.replace(record.assessment, contributions=tuple(parts)),
    )
    replace_record(home, request_id, old)
    assert main(["scores", "show", request_id]) == 0
    out = capsys.readouterr().out
    assert "applicant_ref a?b?model fine" in out
    assert re.search(r"\nregion +\?\[2J\?x ", out)
    assert not {"\x1b", "\u202e"} & set(out)
    assert main(["scores", "replay", request_id]) == 0


def test_a_score_is_replayed_to_the_last_digit_on_either_database(
    database_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ALAMA_DATABASE", database_url)
    main(["db", "upgrade"])
    main(["lenders", "add", "umoja", "--name", "Umoja", "--currency", "UGX"])
    request_id = give_score(None, "umoja")
    capsys.readouterr()
    assert main(["scores", "replay", request_id]) == 0
    out, err = capsys.readouterr()
    assert re.fullmatch(
        rf"{request_id} is identical: score \d+, tier \w, \w+\n"
        r"model  sha256:[0-9a-f]{64}\npolicy sha256:[0-9a-f]{64}\n",
        out,
    )
    assert err == ""


def test_a_record_that_was_changed_is_found_out_number_by_number(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    request_id = give_score(compact())
    record = kept(home, request_id)
    changed = msgspec.structs.replace(record.assessment, score=702, rules=())
    forged = msgspec.structs.replace(record, assessment=changed)
    replace_record(home, request_id, forged, recommended_limit=5_000)
    assert main(["scores", "replay", request_id]) == 1
    head, _, heads, _, *rows = capsys.readouterr().out.splitlines()
    assert head == f"{request_id} differs:"
    assert heads.split() == ["part", "stored", "replayed"]
    assert [re.split("  +", row.strip()) for row in rows] == [
        ["score", "702", "637"],
        ["rules", "none", "unaffordable"],
        ["column recommended_limit", "5000.0", "0"],
    ]


def test_a_damaged_record_is_told(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    request_id = give_score()
    tamper(home, sealed=b"\x82")
    for action in ("show", "replay"):
        assert main(["scores", action, request_id]) == EXIT_MISTAKE
        assert f"error: the record of {request_id} is damaged" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "req_" + "0" * 28], f"no lender has a score req_{'0' * 28}"),
        (["replay", "alama_live_secret"], "this is not a request id"),
        (["list", "--before", "yesterday"], "this is not a request id"),
        (["list", "--lender", "nobody"], "there is no lender nobody"),
    ],
)
@pytest.mark.usefixtures("installed_at_home")
def test_what_cannot_be_found_is_told_with_the_way_out(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["scores", *arguments]) == EXIT_MISTAKE
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"error: {message}\n  hint: ")
    assert "secret" not in err


@pytest.mark.parametrize("limit", ["0", "1001", "many", "-1"])
def test_a_limit_has_its_bounds(limit: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        main(["scores", "list", f"--limit={limit}"])
    assert refused.value.code == EXIT_MISTAKE
    assert "is not a whole number from 1 to 1,000" in capsys.readouterr().err
