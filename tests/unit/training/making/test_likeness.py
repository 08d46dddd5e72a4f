"""The tree is found, the surprises are those of the rows, and few rows exceed the limits."""

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from alama.core import likeness
from alama.core.catalogue import Catalogue, Field, Kind
from alama.core.kernel import BatchScorecard, Words
from alama.core.likeness import SHARES, Likeness, ReadyLikeness
from alama.core.tables import Card, Feature
from alama.training.dataset import Dataset
from alama.training.making.likeness import GROUPS_MAX, learn_likeness, strangeness_of_rows
from alama.training.making.masking import rows_for
from tests.factories import a_dataset, a_model

RARE = 0.002
ROWS = 40_000
CATALOGUE = Catalogue(
    fields=(
        Field("noise", Kind.NUMBER),
        Field("cause", Kind.NUMBER),
        Field("effect", Kind.NUMBER),
        Field("place", Kind.WORD),
    )
)


def flat(field: str, cuts: tuple[float, ...] = (), words: tuple[str, ...] = ()) -> Feature:
    """A table without points: likeness asks for its slots alone."""
    slots = len(cuts or words) + 2
    return Feature(
        field,
        main=(0.0,) * slots,
        shares=(0.0, *[1.0 / (slots - 1)] * (slots - 1)),
        default_rates=(None,) * slots,
        cuts=cuts,
        words=tuple((word,) for word in words),
    )


TENTHS = tuple(n / 10 for n in range(1, 10))
PLACES = ("coast", "hills", "lake")
CARD = Card(
    "full",
    0.0,
    (
        flat("noise", TENTHS),
        flat("cause", TENTHS),
        flat("effect", TENTHS),
        flat("place", words=PLACES),
    ),
    (),
)


def rows(count: int, seed: int = 0) -> Dataset:
    """Give rows whose effect follows its cause, and whose place follows the effect a little."""
    rng = np.random.default_rng(seed)
    cause = rng.random(count)
    effect = np.clip(cause + 0.1 * rng.normal(size=count), 0.0, 0.999)
    place = np.where(
        rng.random(count) < 0.4, (3 * effect).astype(np.int32), rng.integers(0, 3, count)
    )
    noise = np.where(rng.random(count) < 0.1, np.nan, rng.random(count))
    return Dataset(
        CATALOGUE,
        {
            "noise": noise,
            "cause": cause,
            "effect": effect,
            "place": Words(place.astype(np.int32), PLACES),
        },
        np.zeros(count, np.int8),
    )


@pytest.fixture(scope="module")
def learned() -> Likeness:
    return learn_likeness(CARD, rows(ROWS), RARE)


def slots_of(data: Dataset) -> list[NDArray[np.intp]]:
    return BatchScorecard(CARD, CATALOGUE).slots(data.columns)


def test_each_field_hangs_on_the_one_that_tells_most_about_it(learned: Likeness) -> None:
    noise, cause, effect, place = (branch.parent for branch in learned.branches)
    assert cause is None, "the first of those that are always given is the root"
    assert effect == 1
    assert place == 2
    assert noise is not None


def test_what_is_learned_is_sound(learned: Likeness) -> None:
    assert not list(likeness.faults(learned, CARD))


def test_surprises_are_those_of_the_rows(learned: Likeness) -> None:
    data = slots_of(rows(ROWS))
    cause, effect = learned.branches[1], learned.branches[2]
    above, below = np.array(cause.groups)[data[1]], np.array(effect.groups)[data[2]]
    seen = np.mean(below[above == 4] == 5)
    assert math.exp(-effect.beside[4].surprises[4]) == pytest.approx(seen, abs=0.005)


def test_no_more_rows_than_the_share_exceed_a_limit(learned: Likeness) -> None:
    strange = strangeness_of_rows(learned, slots_of(rows(ROWS)))
    assert tuple(limit.share for limit in learned.limits) == SHARES
    for limit in learned.limits:
        assert np.mean(strange > limit.strangeness) <= limit.share


def test_one_row_and_many_are_as_strange_to_the_same_bit(learned: Likeness) -> None:
    slots = slots_of(rows(2_000, seed=4))
    # Some have nothing at all.
    for slot in slots:
        slot[:10] = 0
    ready = ReadyLikeness(learned)
    one_by_one = [ready.strangeness(row) for row in np.array(slots).T.tolist()]
    assert one_by_one == strangeness_of_rows(learned, slots).tolist()
    assert one_by_one[:10] == [0.0] * 10


def test_a_contradiction_is_strange_though_each_value_is_ordinary(learned: Likeness) -> None:
    ready = ReadyLikeness(learned)
    assert ready.strangeness([5, 9, 9, 3]) < 1.0
    assert ready.strangeness([5, 9, 2, 1]) > ready.limit(0.001)


def test_a_word_never_met_is_as_surprising_as_the_rarest_that_a_card_names(
    learned: Likeness,
) -> None:
    place = learned.branches[3]
    for beside in place.beside:
        assert beside.surprises[-1] == pytest.approx(-math.log(RARE), abs=0.05)


def test_the_root_is_the_field_that_is_given_most_often() -> None:
    data = rows(5_000)
    gone = np.arange(len(data)) % 3 == 0
    thinned = {
        name: np.where(gone, np.nan, column) if isinstance(column, np.ndarray) else column
        for name, column in data.columns.items()
    }
    learned = learn_likeness(CARD, replace(data, columns=thinned), RARE)
    assert [branch.parent is None for branch in learned.branches] == [False, False, False, True]


def test_few_rows_make_few_groups() -> None:
    assert max(learn_likeness(CARD, rows(900), RARE).branches[1].groups) == 3
    fine = replace_feature(CARD, 1, flat("cause", tuple(n / 30 for n in range(1, 30))))
    assert max(learn_likeness(fine, rows(ROWS), RARE).branches[1].groups) == GROUPS_MAX


def test_groups_of_numbers_are_neighbours_with_about_equal_rows() -> None:
    fine = replace_feature(CARD, 1, flat("cause", tuple(n / 30 for n in range(1, 30))))
    branch = learn_likeness(fine, rows(ROWS), RARE).branches[1]
    assert list(branch.groups) == sorted(branch.groups)
    shares = [math.exp(-surprise) for surprise in branch.beside[0].surprises]
    assert all(0.5 / GROUPS_MAX < share < 2.0 / GROUPS_MAX for share in shares)


def test_bands_without_rows_join_their_neighbours() -> None:
    wide = replace_feature(CARD, 1, flat("cause", (-2.0, -1.0, *TENTHS, 2.0, 3.0)))
    groups = learn_likeness(wide, rows(ROWS), RARE).branches[1].groups
    assert groups[1:4] == (1, 1, 1)
    assert groups[-3:] == (GROUPS_MAX,) * 3


def test_of_many_words_the_rare_ones_are_one_group_with_the_others() -> None:
    words = tuple(f"word {n:02d}" for n in range(30))
    many = replace_feature(CARD, 3, flat("place", words=words))
    data = rows(ROWS)
    codes = (30 * np.random.default_rng(1).random(ROWS) ** 3).astype(np.int32)
    columns = {**data.columns, "place": Words(codes, words)}
    branch = learn_likeness(many, replace(data, columns=columns), RARE).branches[3]
    assert list(branch.groups) == [0, *range(1, GROUPS_MAX), *[GROUPS_MAX] * (32 - GROUPS_MAX)]


def test_a_field_that_nobody_gave_is_no_obstacle() -> None:
    data = rows(1_000)
    columns = {**data.columns, "noise": np.full(len(data), np.nan)}
    learned = learn_likeness(CARD, replace(data, columns=columns), RARE)
    assert not list(likeness.faults(learned, CARD))
    # Its only group cannot surprise.
    ready = ReadyLikeness(learned)
    assert ready.strangeness([0, 5, 5, 2]) == ready.strangeness([7, 5, 5, 2])


@pytest.mark.parametrize("count", [1, 2, 30])
def test_a_handful_of_rows_has_a_likeness_too(count: int) -> None:
    learned = learn_likeness(CARD, rows(count), RARE)
    assert not list(likeness.faults(learned, CARD))
    strange = strangeness_of_rows(learned, slots_of(rows(count)))
    assert learned.limits[-1].strangeness == pytest.approx(strange.max(), abs=1e-6)


def test_a_card_learns_from_the_rows_that_it_serves() -> None:
    """Rows with core fields alone are no business of the full card."""
    model = a_model(2)
    data = a_dataset(model, rows=3_000, compact_share=0.5)
    compact, full = model.cards
    served = data.take(rows_for(data, [feature.field for feature in full.features]))
    assert len(served) < 0.6 * len(data)
    assert learn_likeness(full, data, RARE) == learn_likeness(full, served, RARE)
    assert learn_likeness(compact, data, RARE) != learn_likeness(compact, served, RARE)


def replace_feature(card: Card, place: int, feature: Feature) -> Card:
    features = list(card.features)
    features[place] = feature
    return Card(card.name, card.base, tuple(features), card.pairs)
