"""Every file that cannot be trained on, or only in part, through the real command."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from alama.app.cli import main
from alama.core.model import decode
from tests.loans import noise, outcomes, product_columns, write_csv, write_parquet

Make = Callable[[Path], Path]

PRIVATE = "98765.4321"
"""Stands for somebody's data wherever a test plants it: no message may repeat it."""


def loans(**changed: Any) -> Make:
    """Ordinary loans with some columns changed."""
    usual: dict[str, Any] = {"default": outcomes(), "income": noise(), "age": noise(seed=1)}
    return lambda folder: write_csv(folder, usual | changed)


def with_value(value: Any) -> list[Any]:
    return [*noise()[:-1], value]


def raw(content: bytes, name: str = "loans.csv") -> Make:
    def make(folder: Path) -> Path:
        path = folder / name
        path.write_bytes(content)
        return path

    return make


def a_folder(folder: Path) -> Path:
    (folder / "loans.csv").mkdir()
    return folder / "loans.csv"


def half_a_parquet_file(folder: Path) -> Path:
    path = write_parquet(folder, {"default": outcomes(), "income": noise()})
    path.write_bytes(path.read_bytes()[:-100])
    return path


def out_of_range(folder: Path) -> Path:
    columns = dict(product_columns())
    columns["balance_stability"] = with_value(PRIVATE)
    return write_csv(folder, columns)


WRONG: dict[str, tuple[Make, str]] = {
    "missing label": (lambda f: write_csv(f, {"defualt": outcomes()}), "did you mean defualt?"),
    "one class": (loans(default=[0] * 2_400), "one outcome only"),
    "no outcome known": (loans(default=[""] * 2_400), "0 rows with a known default"),
    "other outcomes": (loans(default=[*outcomes()[1:], PRIVATE]), "row 2400: the outcome must"),
    "only constant columns": (loans(income=[1] * 2_400, age=[""] * 2_400), "the same value"),
    "3 rows": (raw(b"default,income\n1,2\n0,3\n0,4\n"), "at least 50 rows"),
    "19 defaults": (loans(default=[int(n < 19) for n in range(2_400)]), "20 of each outcome"),
    "mixed types": (loans(income=with_value(f"KES {PRIVATE}")), "column income, row 2400: must be"),
    "non-UTF-8": (raw(b"default,region\n" + 60 * b"1,Thi\xe9s\n0,Dakar\n"), "not UTF-8"),
    "UTF-16": (raw("default,region\n1,Thiès\n".encode("utf-16")), "UTF-16"),
    "infinite values": (loans(income=with_value("inf")), "column income, row 2400: must be a"),
    "out of range": (out_of_range, "column balance_stability, row 2400: must be a number"),
    "folder": (a_folder, "is a folder"),
    "not there": (lambda folder: folder / "nothing.csv", "does not exist"),
    "empty": (raw(b""), "is empty"),
    "header only": (raw(b"default,income\n"), "no rows"),
    "ragged": (raw(b"default,income\n" + 60 * b"1,2\n" + b"1,2,3\n"), "row 61 has 3 values"),
    "truncated Parquet": (half_a_parquet_file, "is not a Parquet file, or is damaged"),
    "not Parquet": (raw(b"default,income\n1,2\n", "loans.parquet"), "is not a Parquet file"),
    "duplicate columns": (raw(b"default,income,income\n1,2,3\n"), "two columns named income"),
    "spreadsheet": (raw(b"PK\x03\x04rest", "loans.xlsx"), "tables are read from"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_file_gets_a_clear_error_and_leaves_nothing_behind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], what: str
) -> None:
    make, said = WRONG[what]
    path = make(tmp_path)
    before = sorted(tmp_path.iterdir())
    outputs = ["--out", str(tmp_path / "m.json"), "--report", str(tmp_path / "r.html")]

    code = main(["train", str(path), "--label", "default", *outputs])

    out, err = capsys.readouterr()
    assert code == 2
    assert out == ""
    assert err.startswith("error: ") or "\nerror: " in err
    assert said in err
    assert "Traceback" not in err
    assert PRIVATE not in err
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("place", ["nowhere/m.json", "loans.csv/m.json", "folder", "loans.csv"])
def test_a_place_that_cannot_be_written_to_is_told_before_the_training(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], place: str
) -> None:
    path = loans()(tmp_path)
    content = path.read_bytes()
    (tmp_path / "folder").mkdir()

    code = main(["train", str(path), "--label", "default", "--out", str(tmp_path / place)])

    assert code == 2
    err = capsys.readouterr().err
    assert str(tmp_path / place) in err
    assert "Training" not in err
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["folder", "loans.csv"]
    assert path.read_bytes() == content


def test_a_file_system_that_takes_no_files_is_told_before_the_training(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if not Path("/proc/self").is_dir():
        pytest.skip("needs a place where not even root may write")

    code = main(["train", str(loans()(tmp_path)), "--label", "default", "--out", "/proc/m.json"])

    assert code == 2
    assert "cannot write /proc/m.json" in capsys.readouterr().err


def half_useless(folder: Path) -> Path:
    """Loans of which two columns can be learnt from, one of them only as words."""
    rows = 600
    rng = np.random.default_rng(5)
    income = rng.random(rows).round(3)
    return write_csv(
        folder,
        {
            "": list(range(rows)),
            "default": (rng.random(rows) < 0.2 + 0.6 * income).astype(int).tolist(),
            "income": income.tolist(),
            "country": ["KE"] * rows,
            "customer": [f"c-{row}" for row in range(rows)],
            "opened": [f"2024-0{1 + row % 9}-15" for row in range(rows)],
            "grade": [("1", "2", "A")[row % 3] for row in range(rows)],
            "notes": [""] * rows,
        },
    )


def test_columns_that_teach_nothing_are_ignored_with_a_word_and_the_rest_is_learnt(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, report = tmp_path / "m.json", tmp_path / "r.html"
    arguments = ["--label", "default", "--monotone", "income=riskier", "--jobs", "1"]
    outputs = ["--out", str(out), "--report", str(report)]

    code = main(["train", str(half_useless(tmp_path)), *arguments, *outputs])

    err = capsys.readouterr().err
    assert code == 0, err
    for said in (
        "a column without a name is ignored",
        "column country is ignored: it holds the same value",
        "column customer is ignored: 600 different words",
        "column opened is ignored: it holds dates",
        "column notes is ignored: it is empty",
        "column grade holds numbers (67%) and other text",
        "for study, not for lending",
    ):
        assert said in err
    model = decode(out.read_bytes())
    assert [feature.field for feature in model.cards[0].features] == ["income", "grade"]
    assert json.loads(out.read_bytes())["lineage"]["label"] == "default"
    assert "<html" in report.read_text("utf-8")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["loans.csv", "m.json", "r.html"]


@pytest.mark.long
def test_a_million_categories_are_ignored_as_an_id(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = 1_000_000
    columns = {
        "default": np.arange(rows) % 2,
        "wallet": np.char.add("w", np.arange(rows).astype(str)),
    }

    path = write_parquet(tmp_path, columns)
    code = main(["train", str(path), "--label", "default", "--out", str(tmp_path / "m.json")])

    assert code == 2
    err = capsys.readouterr().err
    assert "no column is left to learn from" in err
    assert "column wallet is ignored: more than 100,000 different words name the rows" in err
    assert list(tmp_path.iterdir()) == [path]
