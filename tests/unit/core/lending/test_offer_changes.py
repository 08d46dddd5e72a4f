import pytest

from alama.core.lending.policy import Decision
from alama.core.lending.simulation import (
    OfferChanges,
    Stance,
    Switch,
    offer_changes,
    told,
    what_changes,
)
from alama.core.units import Apr, Money

OLD = Stance(660, "B", Decision.APPROVED, (), 12_000, 60, Apr(54.0), Money(300.0))
DECLINED = OLD._replace(decision=Decision.DECLINED, limit=0)


def switch(new: Stance) -> Switch:
    return Switch("A-1", OLD, new)


def test_each_way_in_which_an_offer_changes_is_counted() -> None:
    found = offer_changes(
        [
            switch(OLD._replace(limit=10_000, apr=Apr(54.5))),
            switch(OLD._replace(limit=13_000)),
            switch(OLD._replace(term_days=30, apr=Apr(80.0))),
            switch(OLD._replace(apr=Apr(50.0))),
        ]
    )
    assert found == OfferChanges(
        changed=4, lower=1, higher=1, shorter=1, longer=0, cheaper=1, dearer=2
    )
    assert told(found, str) == (
        "1 with a lower limit, 1 with a higher limit, 1 for a shorter term, 2 dearer, 1 cheaper"
    )


def test_no_change_is_none_of_them() -> None:
    assert offer_changes([]) == OfferChanges(0, 0, 0, 0, 0, 0, 0)
    assert told(offer_changes([]), str) == ""


@pytest.mark.parametrize(
    ("new", "changed"),
    [
        (OLD._replace(apr=Apr(50.0)), ("price",)),
        (OLD._replace(limit=1_000, term_days=90), ("limit", "term")),
        (OLD._replace(decision=Decision.REVIEW), ("decision",)),
        (DECLINED._replace(term_days=30, apr=Apr(90.0)), ("decision", "limit")),
    ],
)
def test_what_changes_for_one_application_is_named(new: Stance, changed: tuple[str, ...]) -> None:
    assert what_changes(switch(new)) == changed
