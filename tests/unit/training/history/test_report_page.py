from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec

from alama.training.history.report import HistoryReport
from alama.training.history.report_page import history_page
from tests.histories import history_columns, read, repeat, write_csv


def test_every_planted_fault_stands_on_the_page(tmp_path: Path) -> None:
    columns = history_columns()
    columns["amount"][17] = -1
    columns["status_after"] = [
        "lost" if late >= 30 else "paid" for late in columns["largest_days_past_due"]
    ]
    repeat(columns, [40])

    shown = history_page(read(write_csv(tmp_path, columns)).report, "Mkopo <Ltd>")

    for told in (
        "Mkopo &lt;Ltd&gt;",
        "must be a number above 0",
        "<td>18</td>",
        "status_after",
        "equal in every column",
        "<td>2001</td>",
        "2024-01",
        "due date + 30 days",
    ):
        assert told in shown


def test_the_page_is_well_formed_and_holds_no_script(tmp_path: Path) -> None:
    shown = history_page(read(write_csv(tmp_path, history_columns())).report, "Mkopo")

    ET.fromstring(shown.removeprefix("<!DOCTYPE html>\n"))  # noqa: S314 - our own page
    assert "<script" not in shown


def test_a_history_with_nothing_in_it_has_a_page_too(tmp_path: Path) -> None:
    columns = history_columns(20)
    columns["mm_months"] = [-1] * 20

    shown = history_page(read(write_csv(tmp_path, columns)).report, "Mkopo")

    assert "Not enough" in shown
    assert "shadow" in shown


def test_a_report_that_was_kept_before_it_told_of_restructuring_still_has_its_page(
    tmp_path: Path,
) -> None:
    report = read(write_csv(tmp_path, history_columns(100))).report
    kept = msgspec.to_builtins(report)
    del kept["tells_restructuring"]

    again = msgspec.json.decode(msgspec.json.encode(kept), type=HistoryReport)

    assert history_page(again, "Mkopo") == history_page(report, "Mkopo")
