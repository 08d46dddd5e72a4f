"""What stands by the acts, where earlier versions said less in them."""

import msgspec

from alama.service.audit import pilot_acts, standing
from alama.service.audit.standing import Columns, Standing
from tests.onboarded import a_history

RECORD = a_history("umoja")
ROW: Columns = {
    "lender": RECORD.lender,
    "digest": RECORD.digest,
    "row_count": RECORD.row_count,
    "kept_by": RECORD.kept_by,
    **pilot_acts.doubts(b"{}"),
}


def test_an_act_without_a_hash_of_the_report_says_nothing_of_it() -> None:
    act = pilot_acts.history_kept(RECORD, b'{"rows":3}')
    thing = (standing.HISTORY, RECORD.id)
    now, then = Standing(), Standing()
    now.take(act)
    (found,) = now.against({thing: ROW})
    assert (found.where, found.what) == (
        f"loan history {RECORD.id}",
        "report_hash is not what was set",
    )
    less = {name: act.details[name] for name in ("file", "rows")}
    then.take(msgspec.structs.replace(act, details=less))
    assert list(then.against({thing: ROW})) == []
