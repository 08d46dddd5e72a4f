"""Values that a person can act on, and which of them are looked at."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alama.core.recourse.values import (
    Edge,
    Listed,
    Pieces,
    RoundNumbers,
    Ruler,
    Shares,
    Steps,
    above,
    below,
    is_between,
    on,
)

NOWHERE = below(-math.inf)
EVERYWHERE = above(math.inf)


@pytest.mark.parametrize(
    ("low", "first"),
    [
        (below(4137.2), 4150.0),
        (below(4150.0), 4150.0),
        (above(4150.0), 4200.0),
        (below(0.43211), 0.435),
        (below(0.29), 0.29),
        (above(0.1 + 0.2), 0.305),
        (below(10_400.0), 10_500.0),
        (below(987.0), 990.0),
        (below(0.0), 0.0),
        (above(0.0), 0.05),
        (below(-4137.2), -4100.0),
        (below(1e-30), 5e-12),
        (below(1.234e300), 1.25e300),
    ],
)
def test_a_number_is_as_round_as_its_size_suggests(low: Edge, first: float) -> None:
    assert RoundNumbers().first(low, EVERYWHERE) == first


@pytest.mark.parametrize(
    ("high", "last"),
    [
        (below(4137.2), 4100.0),
        (below(4150.0), 4100.0),
        (above(4150.0), 4150.0),
        (below(0.205), 0.2),
        (above(0.0), 0.0),
        (below(12.65), 12.5),
    ],
)
def test_downwards_the_largest_round_number_is_taken(high: Edge, last: float) -> None:
    assert RoundNumbers().last(NOWHERE, high) == last


@pytest.mark.parametrize(
    ("low", "high", "first"),
    [(14_266.67, 14_300.0, 14_270.0), (0.43111, 0.4319, 0.4312), (5.1, 5.1000001, 5.1)],
)
def test_where_little_fits_a_number_gets_more_figures(
    low: float, high: float, first: float
) -> None:
    assert RoundNumbers().first(below(low), below(high)) == first


@pytest.mark.parametrize(
    ("low", "high", "first", "last"),
    [
        (0.0077, 0.5, 0.01, 0.49),
        (0.43, 0.439, 0.43, 0.43),
        (0.431, 0.439, 0.435, 0.435),
    ],
)
def test_a_share_is_a_whole_hundredth_where_one_fits(
    low: float, high: float, first: float, last: float
) -> None:
    assert Shares().first(below(low), below(high)) == first
    assert Shares().last(below(low), below(high)) == last


def test_every_piece_on_the_way_has_a_first_and_a_last_value() -> None:
    pieces = Pieces(Steps(1), [below(10), above(12), below(20)])
    found = pieces.ends_within(above(8), below(30), [below(25)])
    assert found == [(9, 9), (10, 12), (13, 19), (20, 24), (25, 29)]
    assert pieces.ends_within(above(15), above(math.inf), []) == [(16, 19)]


def test_where_no_number_of_few_figures_fits_there_is_none() -> None:
    low = above(math.pi * 1e6)
    assert RoundNumbers().first(low, below(math.nextafter(low[0], math.inf))) is None
    assert RoundNumbers().last(low, below(math.nextafter(low[0], math.inf))) is None


def test_whole_numbers_and_steps() -> None:
    assert Steps(1).first(below(12.5), EVERYWHERE) == 13.0
    assert Steps(1).last(NOWHERE, below(12.0)) == 11.0
    assert Steps(500).last(NOWHERE, below(8_000.0)) == 7_500.0
    assert Steps(500).last(NOWHERE, above(8_000.0)) == 8_000.0
    assert Steps(500).first(above(500.0), below(1_000.0)) is None


def test_listed_values() -> None:
    terms = Listed([30, 60, 90])
    assert terms.first(above(30), EVERYWHERE) == 60
    assert terms.last(NOWHERE, below(90)) == 60
    assert terms.first(above(90), EVERYWHERE) is None


EDGES = st.tuples(
    st.floats(-1e6, 1e6, allow_subnormal=False) | st.integers(-50, 50).map(float),
    st.sampled_from([0.0, 1.0]),
)


@given(st.sampled_from([RoundNumbers(), Steps(1), Steps(50)]), EDGES, EDGES)
def test_what_a_ruler_gives_lies_between_the_edges(ruler: Ruler, one: Edge, other: Edge) -> None:
    low, high = sorted([one, other])
    for found in (ruler.first(low, high), ruler.last(low, high)):
        assert found is None or is_between(low, found, high)


@given(EDGES, EDGES)
def test_the_first_whole_number_is_the_least(one: Edge, other: Edge) -> None:
    low, high = sorted([one, other])
    inside = [
        x
        for x in range(math.floor(low[0]) - 1, min(math.ceil(high[0]), math.floor(low[0]) + 9) + 2)
        if is_between(low, x, high)
    ]
    assert Steps(1).first(low, high) == (inside[0] if inside else None)


# ------------------------------------------------------------------------------- pieces

CUTS = [below(10.0), below(20.0), below(30.0)]


def nearest(value: float, low: Edge, high: Edge, *more: Edge) -> list[float]:
    return sorted(Pieces(Steps(1), CUTS).nearest(value, low, high, more))


def test_each_piece_gives_its_nearest_value_and_the_own_piece_none() -> None:
    assert nearest(15, NOWHERE, EVERYWHERE) == [9, 20, 30]
    assert nearest(20, NOWHERE, EVERYWHERE) == [9, 19, 30]
    assert nearest(5, below(0.0), above(29.0)) == [10, 20]


def test_nothing_lies_beyond_the_reach() -> None:
    assert nearest(15, on(15), above(25.0)) == [20]
    assert nearest(15, below(8.0), on(15)) == [9]
    assert nearest(5, below(0.0), on(5)) == []
    assert nearest(35, on(35), above(90.0)) == []
    assert nearest(15, below(10.0), above(19.0)) == []


def test_a_number_that_a_rule_names_is_a_piece_of_its_own() -> None:
    assert nearest(15, NOWHERE, EVERYWHERE, below(17.0), above(17.0)) == [9, 17, 18, 20, 30]


def test_edges_beyond_the_reach_change_nothing() -> None:
    reach = below(8.0), above(25.0)
    assert nearest(15, *reach, below(26.0)) == nearest(15, *reach)


@given(
    st.lists(EDGES, max_size=6),
    st.lists(EDGES, max_size=2),
    st.floats(-100, 100),
    st.tuples(st.floats(0, 100), st.floats(0, 100)),
)
def test_every_whole_number_in_reach_has_one_of_its_piece(
    fixed: list[Edge], more: list[Edge], value: float, widths: tuple[float, float]
) -> None:
    low, high = below(value - widths[0]), above(value + widths[1])
    found = Pieces(Steps(1), fixed).nearest(value, low, high, more)

    def piece(number: float) -> int:
        return sum(edge < on(number) for edge in {*fixed, *more})

    pieces = [piece(number) for number in found]
    assert len(set(pieces)) == len(pieces)
    for number in range(math.floor(low[0]), math.ceil(high[0]) + 1):
        if is_between(low, number, high) and piece(number) != piece(value):
            assert piece(number) in pieces
            nearer = found[pieces.index(piece(number))]
            assert abs(nearer - value) <= abs(number - value)


@given(
    st.lists(EDGES, max_size=6),
    st.lists(EDGES, max_size=3),
    st.floats(-100, 100),
    st.tuples(st.floats(0, 100), st.floats(0, 100)),
    st.sampled_from([Steps(1), Steps(7), RoundNumbers(), Listed([-30, 7, 14, 30, 60])]),
)
def test_edges_that_an_applicant_adds_count_as_those_that_were_known(
    fixed: list[Edge],
    more: list[Edge],
    value: float,
    widths: tuple[float, float],
    ruler: Ruler,
) -> None:
    low, high = below(value - widths[0]), above(value + widths[1])
    added = Pieces(ruler, fixed).nearest(value, low, high, more)
    assert added == Pieces(ruler, [*fixed, *more]).nearest(value, low, high, ())


@given(EDGES, st.floats(0, 100), st.sampled_from([Steps(1), Steps(7), RoundNumbers()]))
def test_the_outermost_pieces_end_where_the_reach_does(
    edge: Edge, width: float, ruler: Ruler
) -> None:
    ends = below(edge[0] - width), above(edge[0] + width)
    pieces = Pieces(ruler, [edge])
    upwards = pieces.nearest(edge[0] - 1.0, on(edge[0] - 1.0), ends[1], ())
    downwards = pieces.nearest(edge[0] + 1.0, ends[0], on(edge[0] + 1.0), ())
    assert upwards == [n for n in [ruler.first(edge, ends[1])] if n is not None]
    assert downwards == [n for n in [ruler.last(ends[0], edge)] if n is not None]
