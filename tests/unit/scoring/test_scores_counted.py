"""What is counted of a score: what the applicant said, in the bands of the card."""

import msgspec

from tests.unit.scoring.test_scoring import BODY, READY, kept
from tests.vaults import to_be_kept

LOAN = ("requested_amount", "requested_term_days")


def test_a_loan_that_the_applicant_did_not_name_is_counted_as_not_named() -> None:
    unnamed = {**msgspec.json.decode(BODY), "region": "Nairobi"}
    named = {**unnamed, "requested_amount": 4_000, "requested_term_days": 30}
    fields = READY.scorecards[-1].fields
    for body, is_named in ((unnamed, False), (named, True)):
        entry = kept(body=msgspec.json.encode(body))
        assert entry.seen is not None
        slots = dict(zip(fields, entry.seen.slots, strict=True))
        assert [slots[name] != 0 for name in LOAN] == [is_named] * 2
        # In the record stands what was scored: a standard loan, where none was named.
        scored = dict(zip(fields, to_be_kept(entry).assessment.slots, strict=True))
        assert all(scored[name] for name in LOAN)
        assert {name: slots[name] for name in fields if name not in LOAN} == {
            name: scored[name] for name in fields if name not in LOAN
        }
