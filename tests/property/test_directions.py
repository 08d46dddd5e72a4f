"""A card that passes the proof is monotone for every row; one that fails it is not."""

from itertools import product

import msgspec
from hypothesis import assume, given
from hypothesis import strategies as st

from alama.core.catalogue import Direction
from alama.core.scorecard import Scorecard
from alama.core.tables import Card, monotone_breaks, on_grid
from tests.factories import Case, cases, rows
from tests.property.test_shapley import points_at
from tests.tries import tries


@given(st.data())
@tries(200)
def test_a_better_value_never_lowers_the_score_whatever_else_the_row_holds(
    data: st.DataObject,
) -> None:
    case = data.draw(cases())
    directed = [f for f in case.catalogue.fields if f.direction is not Direction.FREE]
    assume(directed)
    field = data.draw(st.sampled_from(directed))
    place = case.catalogue.position[field.name]
    row = list(data.draw(rows(case)))
    low, high = sorted(data.draw(st.tuples(st.integers(-10, 200), st.integers(-10, 200))))
    scorecard = Scorecard(case.card, case.catalogue)
    at_low = scorecard.score([*row[:place], low, *row[place + 1 :]]).points
    at_high = scorecard.score([*row[:place], high, *row[place + 1 :]]).points
    assert field.direction.sign * (at_high - at_low) >= 0.0


@given(st.data())
@tries(120)
def test_the_proof_fails_exactly_where_some_row_would_break_the_direction(
    data: st.DataObject,
) -> None:
    case = data.draw(cases(features_max=3, bands_max=4))
    place = data.draw(st.integers(0, len(case.card.features) - 1))
    feature = case.card.features[place]
    assume(case.catalogue.fields[place].direction is not Direction.FREE)
    slot = data.draw(st.integers(1, len(feature.main) - 1))
    bent = list(feature.main)
    bent[slot] = on_grid(bent[slot] + data.draw(st.floats(-30.0, 30.0)))
    card = _with_main(case.card, place, bent)
    claimed = any(b.startswith(f"{feature.field}:") for b in monotone_breaks(card, case.catalogue))
    assert claimed == _some_row_breaks(Case(case.catalogue, card), place)


def _with_main(card: Card, place: int, main: list[float]) -> Card:
    features = list(card.features)
    features[place] = msgspec.structs.replace(features[place], main=tuple(main))
    return msgspec.structs.replace(card, features=tuple(features))


def _some_row_breaks(case: Case, place: int) -> bool:
    """Try every combination of slots: the truth that the proof is held against."""
    card = case.card
    sign = case.catalogue.fields[place].direction.sign
    others = [range(len(f.main)) for p, f in enumerate(card.features) if p != place]
    for slot in range(1, len(card.features[place].main) - 1):
        for rest in product(*others):
            here = (*rest[:place], slot, *rest[place:])
            there = (*rest[:place], slot + 1, *rest[place:])
            if sign * (points_at(card, there) - points_at(card, here)) < 0.0:
                return True
    return False
