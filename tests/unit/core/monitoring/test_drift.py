"""How far a card stands from its training, and what of that is drift."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alama.core.monitoring.drift import PSI_MIN, SCORE, Figure, Yardstick, banded, newly_drifted
from alama.core.tally import CardTally
from tests.drifting import MOVING, card_named, drawn, the_model

STEADY, MOVED = Figure(0.05, 0.1), Figure(0.3, 0.1)


@pytest.fixture
def yardstick() -> Yardstick:
    return Yardstick(the_model(), card_named())


def test_what_is_as_in_training_is_under_every_limit(yardstick: Yardstick) -> None:
    figures = yardstick.figures(drawn(1_200, seed=1))
    assert list(figures) == [SCORE, *(feature.field for feature in card_named().features)]
    assert not any(figure.is_over for figure in figures.values())
    assert {figure.limit for figure in figures.values()} == {PSI_MIN}


def test_what_has_moved_is_over_its_limit_and_nothing_else_is(yardstick: Yardstick) -> None:
    figures = yardstick.figures(drawn(1_200, 2, (MOVING,)))
    assert [name for name, figure in figures.items() if figure.is_over] == [MOVING]


def test_scores_of_the_highest_band_are_counted_in_it(yardstick: Yardstick) -> None:
    best = CardTally(steps=[0] * 110 + [1_000])
    assert yardstick.figures(best)[SCORE].psi > 5.0


def test_without_bands_only_the_scores_are_measured(yardstick: Yardstick) -> None:
    folded = drawn(1_200, 1)
    folded.bands = []
    assert list(yardstick.figures(folded)) == [SCORE]
    assert yardstick.figures(CardTally()) == {}
    assert yardstick.fits(folded)


def test_a_model_without_a_reference_of_its_scores_measures_its_fields() -> None:
    model = msgspec.structs.replace(the_model(), references=())
    figures = Yardstick(model, card_named()).figures(drawn(1_200, 1))
    assert SCORE not in figures
    assert len(figures) == len(card_named().features)


def test_a_tally_of_another_card_does_not_fit(yardstick: Yardstick) -> None:
    assert yardstick.fits(drawn(100, 1))
    assert not yardstick.fits(drawn(100, 1, card="compact"))
    beyond = drawn(100, 1)
    beyond.bands[0] += [0] * 50
    assert not yardstick.fits(beyond)


def test_a_small_window_has_a_higher_limit(yardstick: Yardstick) -> None:
    assert yardstick.figures(drawn(100, 1))[MOVING].limit > 0.4


def test_the_bands_are_of_as_many_scores_as_any_field_says() -> None:
    counted = drawn(130, 1)
    assert banded(counted) == 130
    counted.bands = []
    assert banded(counted) == 0


def a_history(moved: str) -> list[dict[str, Figure]]:
    """Windows, oldest first: `x` where a field has moved, `.` where it has not."""
    return [{"region": MOVED if one == "x" else STEADY, SCORE: STEADY} for one in moved]


def test_drift_is_told_once_if_it_is_there_in_the_last_two_windows(
    subtests: pytest.Subtests,
) -> None:
    for earlier, latest, is_told in [
        ("", "x", False),
        (".", "x", False),
        ("x", "x", True),
        (".x", "x", True),
        ("xx", "x", False),
        ("x.", "x", False),
        ("xx.x", "x", True),
        ("xx", ".", False),
        ("", "xx", True),
        ("", "xxxx", True),
        ("xx", "xx", False),
        (".x", "xx", True),
        ("xx", ".xx", True),
        ("xx", "x.x", False),
        ("..", "xx.", False),
        ("..", "xx.xx", True),
    ]:
        with subtests.test(earlier=earlier, latest=latest, is_told=is_told):
            found = newly_drifted(a_history(earlier), a_history(latest))
            assert found == ({"region": MOVED} if is_told else {})


@given(st.text("x.", max_size=14), st.integers(0, 14))
def test_each_look_tells_what_looking_at_every_window_would_have_told_unless_it_is_over(
    moved: str, seen: int
) -> None:
    every = a_history(moved)
    earlier, latest = every[:seen], every[seen:]
    told = ""
    for place, window in enumerate(every):
        is_told = newly_drifted(every[:place], [window])
        told += "t" if is_told else moved[place]
    if latest:
        # Told in the run that lasts until now, and not before these windows.
        expected = "t" in told[seen:].rpartition(".")[2]
        assert bool(newly_drifted(earlier, latest)) == expected


def test_what_is_just_at_its_limit_is_not_over_it() -> None:
    assert not Figure(0.1, 0.1).is_over
