from __future__ import annotations

import json
import os
import re
from pathlib import Path

import msgspec
import pytest

from alama.app.cli import EXIT_MISTAKE, main
from alama.core import model
from alama.core.application import read
from alama.core.assess import assess
from alama.core.lending.draft import default_policy
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.model import ReadyModel
from alama.core.product import PRODUCT
from alama.core.tally import seen
from alama.lenders import installation
from alama.monitoring import scores_cli
from alama.monitoring.scores_cli import Met
from alama.platform import clock, settings
from alama.platform.days import DAY_US
from alama.platform.files.packaged import builtin
from alama.platform.terminal import tables
from alama.scoring.counts import Tallies
from alama.scoring.records import SealedEntry
from tests.entries import an_entry
from tests.stored import give_score

COMPACT = {
    "mobile_money_months": 14,
    "monthly_inflow": 18_000,
    "stability_score": 0.6,
    "airtime_regularity": 0.8,
}
DAY = r"20\d\d-\d\d-\d\d"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ALAMA_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "110")
    return tmp_path


def give(**more: object) -> None:
    give_score(json.dumps({**COMPACT, **more}).encode())


def row(out: str, name: str) -> list[str]:
    """The figures of the line that names something."""
    (figures,) = re.findall(rf"(?:^|\s){name} (.*)$", out, re.MULTILINE)
    return re.findall(r"[\d,.]+%?", figures)


def test_decisions_tiers_cards_and_scores_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(3):
        give_score()
    give(existing_repayments=18_000)
    assert main(["scores", "tally"]) == 0
    out, err = capsys.readouterr()
    assert re.match(rf"demo, test mode, {DAY} to {DAY}:\n", err)
    assert out.startswith("Alama synthetic\nsha256:")
    assert row(out, "APPROVED") == ["3", "75.0%"]
    assert row(out, "REVIEW") == ["0", "0.0%"]
    assert row(out, "DECLINED") == ["1", "25.0%"]
    assert (row(out, "B"), row(out, "C")) == (["3", "75.0%"], ["1", "25.0%"])
    assert (row(out, "full"), row(out, "compact")) == (["3", "75.0%"], ["1", "25.0%"])
    *_, top, _, _, _, line, marks = out[: out.index("card compact:")].rstrip().splitlines()
    assert marks.split() == ["300", "400", "500", "600", "700", "800"]
    assert len(line) == 56
    assert top.index("█") == 38  # 680 to 689: three of the sample
    assert "card compact: 1 score\n" in out
    assert "card full: 3 scores\n" in out


def test_each_field_has_a_line_with_its_bands_and_those_of_training(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    give(region="Turkana")
    assert main(["scores", "tally"]) == 0
    out, err = capsys.readouterr()
    (head,) = [line for line in out.splitlines() if line.startswith("field")]
    assert head.split() == ["field", "bands", "in", "training", "not", "given", "moved"]
    assert row(out, "avg_balance") == ["100.0%"]
    assert row(out, "mm_months") == []
    assert "Of fewer than 500 scores (card full) it cannot be told" in err
    monkeypatch.setattr(scores_cli, "ENOUGH", 1)
    assert main(["scores", "tally"]) == 0
    out, err = capsys.readouterr()
    assert "cannot be told" not in err
    moved = [float(figure) for figure in re.findall(r"([\d.]+)%$", out, re.MULTILINE)]
    assert len(moved) == 17
    assert moved == sorted(moved, reverse=True)


def test_a_narrow_terminal_leaves_training_out(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    give(region="Turkana")
    assert main(["scores", "tally"]) == 0
    out = capsys.readouterr().out
    assert "in training" not in out
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize("name", ["avg_inflow", "monthly_inflow"])
def test_one_field_is_shown_band_by_band_for_each_card_that_reads_it(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(3):
        give()
    give(monthly_inflow=0, region="Turkana")
    assert main(["scores", "tally", "demo", "--field", name]) == 0
    out, _ = capsys.readouterr()
    compact, full = out.split("card full: 1 score\n")
    assert "avg_inflow, KES a month" in compact
    assert row(compact, "17,900 to under 19,000") == ["3", "100.0%", "3.1%"]
    assert row(compact, "15,600 to under 17,900") == ["0", "0.0%", "7.2%"]
    assert row(full, "under 500") == ["1", "100.0%", "1.6%"]
    assert "not given" not in out  # it is a required field
    assert "decision" not in out


@pytest.mark.parametrize("columns", [60, 80, 140])
def test_bars_fit_into_the_terminal(
    columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    give(region="Turkana")
    assert main(["scores", "tally", "--field", "region"]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines()[2:])) <= columns
    assert "…" not in out


def test_a_field_that_no_model_reads_is_refused_with_those_it_does(
    capsys: pytest.CaptureFixture[str],
) -> None:
    give()
    for name in ("shoe_size", "applicant_ref"):
        assert main(["scores", "tally", "--field", name]) == EXIT_MISTAKE
        err = capsys.readouterr().err
        assert "no model that gave these scores reads such a field" in err
        assert "avg_inflow" in err


def test_only_the_last_days_are_counted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    give()
    later_us = clock.wall_us() + 2 * DAY_US
    monkeypatch.setattr("alama.lenders.installation.wall_us", lambda: later_us)
    assert main(["scores", "tally", "--days", "2"]) == 0
    out, err = capsys.readouterr()
    assert (out, err.partition(",")[0]) == ("", "demo has no scores in test mode")
    assert main(["scores", "tally", "--days", "3"]) == 0
    assert row(capsys.readouterr().out, "compact") == ["1", "100.0%"]


def test_what_names_an_applicant_is_counted_as_all_else_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for reference in ("A-1", "A-1", "A-2"):
        give(applicant_ref=reference)
    assert main(["scores", "tally"]) == 0
    assert row(capsys.readouterr().out, "compact") == ["3", "100.0%"]


def test_each_model_is_told_by_itself_the_one_that_gave_most_first(
    capsys: pytest.CaptureFixture[str],
) -> None:
    give()
    opened = installation.open_installation(settings.read(os.environ))
    other = model.seal(msgspec.structs.replace(builtin(), name="The other"))
    opened.registry.keep_model(other.id, model.encode(other), clock.wall_us())
    ready = ReadyModel(other, "KES")
    said = assess(ready, ReadyPolicy(default_policy("KES"), ready), read(PRODUCT, COMPACT))
    entry = an_entry(at_us=clock.wall_us())
    row = entry.score._replace(model_id=other.id)
    counted = SealedEntry(row, None, entry.digest, seen(said), announced=True)
    tallies = Tallies(opened.database.parameter_mark)
    with opened.database.driving() as cursor:
        tallies.add(cursor, [counted, counted])
    opened.close()
    assert main(["scores", "tally", "--field", "mm_months"]) == 0
    first, second = capsys.readouterr().out.split("\n\nAlama synthetic\n")
    assert first.startswith(f"The other\n{other.id}\n\ncard compact: 2 scores\n")
    assert "card compact: 1 score\n" in second


@pytest.mark.parametrize("days", ["0", "-1", "3661", "a week"])
def test_days_are_a_whole_number_of_them(days: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["scores", "tally", "--days", days])
    assert "is not a whole number from 1 to 3,660" in capsys.readouterr().err


# ------------------------------------------------------------------------------------- drawing


def test_moved_is_the_share_that_would_have_to_be_in_another_band() -> None:
    bands = ("under 10", "10 and more", "not given")
    met = Met("age", "months", bands, counts=(60, 30, 10), trained=(0.5, 0.4, 0.1))
    assert met.shares == (0.6, 0.3, 0.1)
    assert met.moved == pytest.approx(0.1)
    assert met._replace(counts=(5, 4, 1)).moved == pytest.approx(0.0)
    assert met._replace(counts=(0, 0, 9)).moved == pytest.approx(0.9)


def test_columns_show_what_is_little_and_nothing_where_there_is_nothing() -> None:
    assert tables.columns([0, 0.001, 4, 8], 8, 1, tables.BLOCKS) == [" ▁▄█"]
    assert tables.columns([0, 1, 4, 6, 8], 8, 2, tables.BLOCKS) == ["   ▄█", " ▂███"]
    assert tables.columns([0, 0.001, 4, 8], 8, 1, tables.ASCII) == [" .:#"]


def test_bands_that_a_replay_finds_different_can_be_shown() -> None:
    assert scores_cli._shown((17, 3)) == "17, 3"
    assert scores_cli._shown(()) == "none"
