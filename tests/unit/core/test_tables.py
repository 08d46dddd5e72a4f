"""What makes tables no scorecard, one fault at a time."""

from typing import Any

import msgspec
import pytest

from alama.core import tables
from alama.core.tables import Card, Feature, Pair, on_grid

NUMBERS = Feature("a", (0.0, -1.0, 1.0), (0.0, 0.5, 0.5), (None, 0.2, 0.1), cuts=(3.0,))
WORDS = Feature("b", (0.0, 2.0, -2.0), (0.2, 0.4, 0.4), (0.1, 0.1, 0.1), words=(("x", "y"),))
PAIR = Pair(0, 1, (0, 1, 1), (0, 1, 2), ((0.0, 0.5, 0.25), (0.0, -0.5, 0.125)))
CARD = Card("full", 600.0, (NUMBERS, WORDS), (PAIR,))


def told(**changes: Any) -> list[str]:
    return list(tables.faults(msgspec.structs.replace(CARD, **changes)))


def feature(**changes: Any) -> list[str]:
    return told(features=(msgspec.structs.replace(NUMBERS, **changes), WORDS))


def pair(**changes: Any) -> list[str]:
    return told(pairs=(msgspec.structs.replace(PAIR, **changes),))


def test_a_sound_card_has_no_faults() -> None:
    assert told() == []


def test_each_fault_is_told(subtests: pytest.Subtests) -> None:
    for found, fault in [
        (told(base=1e-13), "base is off the grid"),
        (told(base=float("nan")), "base is off the grid"),
        (told(base=5000.0), "reach beyond 4096 points"),
        (told(features=(), pairs=()), "reads no field"),
        (told(features=(NUMBERS, NUMBERS), pairs=()), "stands in it twice"),
        (feature(shares=(0.0, 0.5, 0.4)), "do not sum to 1"),
        (feature(words=(("x",),)), "both cuts and words"),
        (feature(main=(0.0, 1.0)), "2 cells where its bands need 3"),
        (feature(main=(0.0, float("inf"), 1.0)), "a cell is off the grid"),
        (feature(cuts=(float("nan"),)), "not a finite number"),
        (feature(shares=(0.0, 1.5, -0.5)), "not between 0 and 1"),
        (feature(shares=(1.0,)), "do not match"),
        (feature(default_rates=(None,)), "do not match"),
        (pair(second=0), "not there"),
        (pair(second=2), "not there"),
        (pair(rows=(0, 1)), "do not match its features"),
        (pair(halves=((0.0, 0.5, 0.25), (0.0,))), "differ in length"),
        (pair(rows=(0, 1, 7)), "outside the table"),
        (pair(columns=(0, 1, -1)), "outside the table"),
        (pair(halves=((0.0, 0.1, 0.25), (0.0, -0.5, 0.125))), "a cell is off the grid"),
        (pair(halves=()), "outside the table"),
    ]:
        with subtests.test(fault):
            assert any(fault in line for line in found), found


def test_a_word_in_two_groups_is_told() -> None:
    twice = msgspec.structs.replace(
        WORDS,
        main=(0.0, 2.0, -2.0, 1.0),
        shares=(0.25,) * 4,
        default_rates=(0.1,) * 4,
        words=(("x",), ("x", "y")),
    )
    found = told(features=(NUMBERS, twice), pairs=())
    assert any("a word stands in two groups" in line for line in found)


def test_a_word_that_no_request_could_match_is_told() -> None:
    shouted = msgspec.structs.replace(WORDS, words=(("X ", "y"),))
    found = told(features=(NUMBERS, shouted), pairs=())
    assert any("not written as words are compared" in line for line in found)


def test_cuts_that_do_not_rise_are_told() -> None:
    found = feature(
        main=(0.0, 1.0, 2.0, 3.0),
        shares=(0.25,) * 4,
        default_rates=(0.1,) * 4,
        cuts=(3.0, 3.0),
    )
    assert any("do not rise" in line for line in found)


def test_the_grid_is_fine_enough_to_change_nothing() -> None:
    assert abs(on_grid(1 / 3) - 1 / 3) < 1e-12
    assert on_grid(on_grid(0.1)) == on_grid(0.1)
