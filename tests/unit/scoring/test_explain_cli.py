import io
import json
import re
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from alama.app.cli import EXIT_MISTAKE, main
from alama.core.application import read
from alama.core.assess import ExplainedScore, assess, explain_score
from alama.core.lending.draft import default_policy
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.model import ReadyModel, seal
from alama.core.units import Points, Probability
from alama.platform.files import packaged
from alama.platform.files.packaged import sample_application
from alama.platform.terminal import tables
from alama.scoring import waterfall
from tests.factories import a_model, write_model

COMPACT = {
    "mobile_money_months": 14,
    "monthly_inflow": 18_000,
    "stability_score": 0.6,
    "airtime_regularity": 0.8,
}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.json"
    write_model(a_model(), path)
    return path


@pytest.fixture
def application(tmp_path: Path) -> Path:
    path = tmp_path / "application.json"
    path.write_text(json.dumps(COMPACT))
    return path


def test_without_a_file_the_sample_is_explained_by_the_built_in_model(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(packaged, "builtin", a_model)
    assert main(["explain"]) == 0

    ready = ReadyModel(a_model())
    said = explain_score(ready, read(ready.catalogue, json.loads(sample_application())))
    out = capsys.readouterr().out
    assert f"score {said.score}   default probability {said.default_probability:.2%}" in out
    assert "full scorecard" in out
    assert re.search(r"^avg_inflow +KES 23,800 ", out, re.MULTILINE)


def test_the_decision_of_the_default_policy_is_told_with_the_parts_of_its_price(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["explain"]) == 0
    out = capsys.readouterr().out
    assert "\ntier B   APPROVED   up to KES 13,000 for 60 days at " in out
    shown = re.search(r"^([\d.]+)% = (.*)$", out, re.MULTILINE)
    assert shown
    parts = [float(part) for part in re.findall(r"-?\d+\.\d\d", shown[2])]
    assert sum(parts) == pytest.approx(float(shown[1]))
    assert default_policy("KES").id[:19] in out


def test_a_refusal_names_its_rule_and_no_price(
    application: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    application.write_text(json.dumps({**COMPACT, "existing_repayments": 18_000}))
    assert main(["explain", str(application)]) == 0
    out = capsys.readouterr().out
    assert "DECLINED (unaffordable)\n\n" in out
    answer, _, _ = out.partition("\nWhy\n")
    assert "a year" not in answer


def test_a_model_that_the_default_policy_does_not_fit_is_explained_without_a_decision(
    tmp_path: Path, application: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = msgspec.structs.replace(a_model().outcome, longest_term_days=14)
    path = tmp_path / "short.json"
    write_model(seal(msgspec.structs.replace(a_model(), outcome=outcome)), path)
    assert main(["explain", str(application), "--model", str(path)]) == 0
    out = capsys.readouterr().out
    assert "score " in out
    assert "tier " not in out


def test_fields_are_named_as_the_application_names_them_largest_first(
    model: Path, application: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", str(application), "--model", str(model)]) == 0

    out = capsys.readouterr().out
    assert "compact scorecard" in out
    shown = re.findall(r"^(\w+) +\S.*? ([+-]\d+\.\d)", out, re.MULTILINE)
    assert {name for name, _ in shown} == set(COMPACT)
    sizes = [abs(float(points)) for _, points in shown]
    assert sizes == sorted(sizes, reverse=True)


def test_an_application_can_come_by_standard_input(
    model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = io.TextIOWrapper(io.BytesIO(json.dumps(COMPACT).encode()))
    monkeypatch.setattr(sys, "stdin", typed)
    assert main(["explain", "-", "--model", str(model), "--currency", "usd"]) == 0
    assert "USD 18,000" in capsys.readouterr().out


def test_every_bad_field_is_told_at_once(
    model: Path, application: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    application.write_text(json.dumps({**COMPACT, "stability_score": 7.25, "regoin": "Nairobi"}))
    assert main(["explain", str(application), "--model", str(model)]) == EXIT_MISTAKE

    err = capsys.readouterr().err
    assert "application.json is not a valid application:\n" in err
    assert "\n  stability_score must be a number at least 0 and at most 1\n" in err
    assert "\n  regoin is not a field; did you mean region?\n" in err
    assert "7.25" not in err


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "is empty"),
        (b"[1]", "is not a JSON object"),
        (b"{", "is not JSON: line 1, column 2"),
        (b'{"mm_months": NaN}', "is not JSON: NaN is no number"),
        (b"\xff", "is not UTF-8"),
        (b"[" * 30_000, "is nested too deeply"),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_what_is_no_json_object_is_told_under_the_name_of_its_file(
    model: Path, application: Path, content: bytes, fault: str, capsys: pytest.CaptureFixture[str]
) -> None:
    application.write_bytes(content)
    assert main(["explain", str(application), "--model", str(model)]) == EXIT_MISTAKE
    err = capsys.readouterr().err
    assert f"application.json {fault}" in err
    assert "body" not in err


def test_of_thousands_of_bad_fields_the_first_are_listed(
    application: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    application.write_text(json.dumps({**COMPACT, **{f"f{number}": 1 for number in range(2_000)}}))
    assert main(["explain", str(application)]) == EXIT_MISTAKE
    err = capsys.readouterr().err
    assert "\n  f99 is not a field" in err
    assert "\n  f100 " not in err
    assert "\n  and 1900 more" in err


def test_a_name_that_stands_twice_is_refused(
    application: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    application.write_text('{"mm_months": 14, "mm_months": 15}')
    assert main(["explain", str(application)]) == EXIT_MISTAKE
    assert "mm_months stands more than once" in capsys.readouterr().err


def test_an_enormous_application_is_refused(
    application: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    application.write_bytes(b" " * 65_537)
    assert main(["explain", str(application)]) == EXIT_MISTAKE
    assert "is larger than 64 KiB" in capsys.readouterr().err


def test_a_missing_application_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(tmp_path / "none.json")]) == EXIT_MISTAKE
    assert "cannot read" in capsys.readouterr().err


WITHOUT_ARROW = """
import sys
sys.modules["pyarrow"] = None  # importing it fails, as where it is not installed
from alama.app.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    "arguments",
    [["explain"], ["models", "show"], ["models", "show", "--format", "sql"]],
    ids=" ".join,
)
def test_reading_and_explaining_a_model_needs_no_arrow(
    model: Path, application: Path, arguments: list[str]
) -> None:
    if arguments == ["explain"]:
        arguments = ["explain", str(application), "--model", str(model)]
    else:
        arguments = [*arguments[:2], str(model), *arguments[2:]]
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_ARROW, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.returncode == 0
    assert done.stdout


# ----------------------------------------------------------------------------------- the drawing


def drawn(width: int, *, encoding: str = "utf-8") -> list[str]:
    ready = ReadyModel(a_model())
    policy = ReadyPolicy(default_policy("KES"), ready)
    said = assess(ready, policy, read(ready.catalogue, json.loads(sample_application())))
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding)
    console = Console(file=file, width=width)
    console.print(waterfall.drawing(ready, policy, said, console), soft_wrap=True)
    file.flush()
    return raw.getvalue().decode(encoding).splitlines()


@pytest.mark.parametrize("width", [72, 80, 110, 300])
def test_no_bar_is_wider_than_the_terminal_or_than_eyes_follow(width: int) -> None:
    rows = [line for line in drawn(width) if "█" in line]
    assert len(rows) > 5
    assert max(map(len, rows)) <= min(width, waterfall.WIDTH_MAX)


def test_each_bar_starts_where_the_last_one_ended() -> None:
    rows = drawn(110)
    first = next(n for n, line in enumerate(rows) if line.startswith("base score")) + 1
    last = next(n for n, line in enumerate(rows) if line.startswith("score  "))
    at = rows[first - 1].index("●")
    for line in rows[first:last]:
        cells = [n for n, letter in enumerate(line) if letter in "█▌▐"]
        grows = "+" in line
        assert abs((cells[0] if grows else cells[-1]) - at) <= 1
        at = cells[-1] if grows else cells[0]
    assert abs(rows[last].index("●") - at) <= 1


def test_a_terminal_without_blocks_gets_plain_letters() -> None:
    assert any("###" in line for line in drawn(100, encoding="ascii"))


def test_a_score_beyond_all_doubt_is_drawn_too() -> None:
    said = ExplainedScore(850, Probability(0.0), 850.0, Points(2000.0), (), "full")
    console = Console(file=io.StringIO(), width=80)
    text = waterfall.drawing(ReadyModel(a_model()), None, said, console).plain
    assert "odds of repayment beyond counting" in text


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (0.0, 10.0, "█████     "),
        (10.0, 0.0, "█████     "),
        (5.0, 9.0, "  ▐█▌     "),
        (0.0, 0.1, "▌         "),
        (0.1, 0.0, "▌         "),
        (10.0, 10.1, "     ▌    "),
        (10.0, 9.9, "    ▐┊    "),
        (20.0, 20.1, "     ┊   ▐"),
    ],
)
def test_bars_are_precise_to_half_a_letter_and_never_vanish(
    start: float, end: float, expected: str
) -> None:
    drawn_bar = tables.Scale(0.0, 20.0, 10).bar(start, end, tables.BLOCKS, guide=10.0)
    assert drawn_bar.plain.replace("┊", " ") == expected.replace("┊", " ")
