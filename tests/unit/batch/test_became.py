"""What a file says became of its loans: read by the names of the columns, refused where wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from alama.batch.deciding import TableCases
from alama.core.errors import FileProblem
from alama.core.lending.earnings import Known
from alama.core.lending.simulation import Case
from alama.core.product import PRODUCT
from alama.platform.files.reader import open_table

ASKED = "mobile_money_months,monthly_inflow,stability_score,airtime_regularity"
APPLICANT = "24,18500,0.62,0.71"


def cases(folder: Path, columns: str, *rows: str) -> list[Case]:
    path = folder / "loans.csv"
    lines = [f"{ASKED},{columns}", *(f"{APPLICANT},{row}" for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return list(TableCases(PRODUCT, open_table(path)).first(100))


def test_outcomes_amounts_chances_and_months_are_read(tmp_path: Path) -> None:
    found = cases(
        tmp_path,
        "default,disbursed_amount,repaid_amount,propensity,applied_on",
        "0,1000,1200,,2026-03-31",
        "1,1000,250,0.05,2026-04-01",
        "1,,250,1,",
        ",1000,250,0.5,2026-04-02",
        "1,0,0,NA,2026-04-02",
    )
    assert [case.known for case in found] == [
        Known(is_default=False, returned=1.2),
        Known(is_default=True, returned=0.25, propensity=0.05),
        Known(is_default=True),
        None,
        Known(is_default=True),
    ]
    assert [case.month for case in found] == ["2026-03", "2026-04", "", "2026-04", "2026-04"]


def test_a_file_that_says_nothing_of_its_loans_is_read_as_ever(tmp_path: Path) -> None:
    (case,) = cases(tmp_path, "region", "Kiambu")
    assert (case.month, case.known) == ("", None)


@pytest.mark.parametrize(
    ("columns", "row", "said"),
    [
        ("default", "0.5", "column default, row 2: must be 0 or 1"),
        ("default,propensity", "1,0", "column propensity, row 2: must lie between 0.001 and 1"),
        ("default,propensity", "1,1.5", "column propensity, row 2: must lie between 0.001 and 1"),
        ("default", "maybe", "column default, row 2: must be a number"),
    ],
)
def test_what_no_outcome_can_be_is_refused_by_its_row(
    tmp_path: Path, columns: str, row: str, said: str
) -> None:
    sound = ",".join("1" for _ in columns.split(","))
    with pytest.raises(FileProblem, match=said):
        cases(tmp_path, columns, sound, row)
