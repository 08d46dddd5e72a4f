"""What stands is held against the acts."""

from alama.onboarding import acts
from alama.platform.acts import ActKind
from alama.protection.audit import expected
from alama.protection.audit.expected import Columns, ExpectedRows
from tests.onboarded import a_history

RECORD = a_history("umoja")
ROW: Columns = {
    "lender": RECORD.lender,
    "digest": RECORD.digest,
    "row_count": RECORD.row_count,
    "kept_by": RECORD.kept_by,
    **acts.doubts(b"{}"),
}


def test_another_report_on_a_history_than_the_act_says_is_found() -> None:
    stood = ExpectedRows()
    stood.take(acts.history_kept(RECORD, b'{"rows":3}'))
    (found,) = stood.against({(expected.HISTORY, RECORD.id): ROW})
    assert (found.where, found.what) == (
        f"loan history {RECORD.id}",
        "report_hash is not what was set",
    )


def test_every_act_is_done_again_or_leaves_no_row() -> None:
    assert set(ActKind) == expected.STAND_IN_ROWS | expected.STAND_IN_NO_ROW
    assert not expected.STAND_IN_ROWS & expected.STAND_IN_NO_ROW
