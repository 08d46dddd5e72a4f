"""What `fields/1` comes to depends on what happened, and on nothing of how it was told."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from alama.statements.formulas import Derived, derive
from alama.statements.ledger import (
    INFLOW,
    Declared,
    Direction,
    Entry,
    Kind,
    Statement,
    Status,
)
from alama.statements.places import place_of
from alama.statements.published import FIELDS
from alama.statements.reading import merged

KENYA = place_of("KE")
AS_OF = date(2026, 9, 10)
BEGIN = datetime(2026, 1, 20, 9, tzinfo=UTC)
KINDS = sorted(set(Kind) - {Kind.REVERSAL})


@st.composite
def ledgers(draw: st.DrawFn) -> list[Entry]:
    """Draw acts of one to three legs at whole minutes, whose balances follow from each other."""
    balance = draw(st.integers(0, 10_000_00))
    entries = list[Entry]()
    minute = 0
    for act in range(draw(st.integers(1, 25))):
        minute += draw(st.integers(0, 20_000))
        at = BEGIN + timedelta(minutes=minute)
        for leg in range(draw(st.integers(1, 3))):
            kind = draw(st.sampled_from(KINDS))
            into = kind in INFLOW or kind.endswith("_in")
            direction = Direction.IN if into else Direction.OUT
            amount = draw(st.integers(1, 5_000_00))
            balance += amount if into else -amount
            entries.append(
                Entry(
                    id=f"{act}/{leg}",
                    at=at,
                    amount=amount,
                    direction=direction,
                    balance_after=balance,
                    kind=kind,
                    counterparty=draw(st.sampled_from([None, "a", "b", "c"])),
                    status=Status.COMPLETED,
                    group=str(act),
                )
            )
    return entries


def fields(entries: list[Entry], declared: Declared | None = None) -> Derived:
    return derive(entries, declared or Declared(), AS_OF, KENYA)


def ranges_hold(said: Derived) -> bool:
    shares = [one.name for one in FIELDS if one.unit == "share"]
    return all(0 <= said.fields[name] <= 1 for name in shares if name in said.fields)


@given(ledgers(), st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_nothing(entries: list[Entry], chance: object) -> None:
    said = fields(entries)
    shuffled = list(entries)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    assert fields(shuffled) == said
    assert ranges_hold(said)
    assert said.fields.keys().isdisjoint(said.missing)


@given(ledgers(), st.integers(-12 * 60, 14 * 60))
def test_the_zone_in_which_a_time_is_written_changes_nothing(
    entries: list[Entry], minutes: int
) -> None:
    zone = timezone(timedelta(minutes=minutes))
    moved = [msgspec.structs.replace(entry, at=entry.at.astimezone(zone)) for entry in entries]
    assert fields(moved) == fields(entries)


@given(ledgers(), st.data())
def test_a_file_split_in_two_says_the_same(entries: list[Entry], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(entries)))
    overlap = data.draw(st.integers(0, cut))
    parts = [entries[:cut], entries[cut - overlap :]]
    together = merged(
        [
            Statement(format="json", currency="KES", entries=tuple(part), rows=len(part))
            for part in parts
        ]
    )
    assert fields(list(together.entries), together.declared) == fields(entries)


@given(ledgers(), st.data())
def test_a_payment_that_was_taken_back_changes_nothing(
    entries: list[Entry], data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(entries) - 1))
    before = entries[place]
    amount = data.draw(st.integers(1, 1_000_00))
    paid = msgspec.structs.replace(
        before,
        id="paid",
        group="paid",
        amount=amount,
        direction=Direction.OUT,
        kind=Kind.PERSON_OUT,
        counterparty="z",
        balance_after=None,
    )
    back = msgspec.structs.replace(
        paid, id="back", group="back", direction=Direction.IN, kind=Kind.REVERSAL, reverses="paid"
    )
    assert fields([*entries, paid, back]).fields == fields(entries).fields
