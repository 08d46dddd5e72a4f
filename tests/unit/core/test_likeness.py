"""How strange an application is: worked out by hand on a small tree, and never by a broken one."""

import json
import math
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alama.core import likeness
from alama.core import model as models
from alama.core.errors import InvalidModel
from alama.core.likeness import Branch, Distribution, Likeness, Limit, ReadyLikeness
from alama.core.tables import Card
from tests.factories import a_model

GOLDEN = Path(__file__).parents[2] / "golden" / "model.json"


def distribution(*chances: float) -> Distribution:
    surprises = [-math.log(chance) for chance in chances]
    return Distribution(tuple(surprises), *likeness.moments(chances, surprises))


# Two fields of two groups each. The second follows the first nine times in ten.
FIRST = Branch((0, 1, 1, 2), None, (distribution(0.6, 0.4),))
SECOND = Branch(
    (0, 1, 2),
    0,
    (distribution(0.5, 0.5), distribution(0.9, 0.1), distribution(0.2, 0.8)),
)
SMALL = Likeness("small", (FIRST, SECOND), (Limit(0.01, 2.0), Limit(0.001, 3.0)))
READY = ReadyLikeness(SMALL)


def by_hand(*terms: tuple[Distribution, int]) -> float:
    surprise = sum(d.surprises[group - 1] - d.expected for d, group in terms)
    return surprise / math.sqrt(sum(d.variance for d, _ in terms))


def test_strangeness_is_the_centred_surprise_in_its_own_standard_deviations() -> None:
    expected = by_hand((FIRST.beside[0], 1), (SECOND.beside[1], 2))
    assert READY.strangeness([2, 2]) == pytest.approx(expected)
    assert READY.strangeness([1, 2]) == READY.strangeness([2, 2]), "one group, one answer"


def test_what_contradicts_its_parent_is_stranger_than_what_follows_it() -> None:
    assert READY.strangeness([1, 2]) > 1.0 > READY.strangeness([1, 1])


def test_a_field_that_is_not_given_is_not_counted() -> None:
    assert READY.strangeness([3, 0]) == pytest.approx(by_hand((FIRST.beside[0], 2)))


def test_beside_a_parent_that_is_not_given_a_field_has_its_own_distribution() -> None:
    # Both groups are equally likely, so neither can surprise: there is no variance.
    assert SECOND.beside[0].variance == pytest.approx(0.0)
    lopsided = msgspec.structs.replace(SECOND, beside=(distribution(0.7, 0.3), *SECOND.beside[1:]))
    ready = ReadyLikeness(msgspec.structs.replace(SMALL, branches=(FIRST, lopsided)))
    assert ready.strangeness([0, 2]) == pytest.approx(by_hand((lopsided.beside[0], 2)))


def test_nothing_given_is_not_strange() -> None:
    assert READY.strangeness([0, 0]) == 0.0


def test_slots_of_another_card_are_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        READY.strangeness([1, 1, 1])


def chances(groups: int) -> st.SearchStrategy[list[float]]:
    """Draw chances that are not all alike: even ones cannot surprise, and only rounding is left."""
    weights = st.lists(st.floats(0.001, 1.0), min_size=groups - 1, max_size=groups - 1)
    return weights.map(lambda drawn: [w / (2.0 + sum(drawn)) for w in (2.0, *drawn)])


@given(st.data())
def test_surprise_is_centred_and_varies_as_much_as_what_it_is_divided_by(
    data: st.DataObject,
) -> None:
    height, width = data.draw(st.integers(2, 4)), data.draw(st.integers(2, 4))
    root = data.draw(chances(height))
    beside = [data.draw(chances(width)) for _ in range(height + 1)]
    own, lines = distribution(*root), tuple(distribution(*line) for line in beside)
    ready = ReadyLikeness(
        Likeness(
            "drawn",
            (
                Branch((0, *range(1, height + 1)), None, (own,)),
                Branch((0, *range(1, width + 1)), 0, lines),
            ),
            (),
        )
    )
    mean, square, variance = 0.0, 0.0, 0.0
    for first, chance in enumerate(root, start=1):
        whole = own.variance + lines[first].variance
        variance += chance * whole
        for second, chance_beside in enumerate(beside[first], start=1):
            surprise = ready.strangeness([first, second]) * math.sqrt(whole)
            mean += chance * chance_beside * surprise
            square += chance * chance_beside * surprise**2
    assert mean == pytest.approx(0.0, abs=1e-9)
    assert square == pytest.approx(variance)


# ------------------------------------------------------------------------ limits


@pytest.mark.parametrize(
    ("share", "limit"), [(0.01, 2.0), (0.009, 3.0), (0.001, 3.0), (0.0009, math.inf), (0, math.inf)]
)
def test_the_limit_is_that_of_the_largest_share_not_above_the_one_asked_for(
    share: float, limit: float
) -> None:
    assert READY.limit(share) == limit


@pytest.mark.parametrize("share", [-0.001, 0.011, 1.0, math.nan])
def test_a_share_that_is_not_rare_has_no_limit(share: float) -> None:
    with pytest.raises(ValueError, match=r"between 0 and 0\.01"):
        READY.limit(share)


# ------------------------------------------------------------------------ in a model

BARE = a_model(seed=3)


def even(card: Card) -> Likeness:
    """A likeness of a card whose fields hang on the first, each slot a group as likely as any."""
    counts = [len(feature.main) - 1 for feature in card.features]
    return Likeness(
        card.name,
        tuple(
            Branch(
                (0, *range(1, count + 1)),
                None if place == 0 else 0,
                (distribution(*[1.0 / count] * count),) * (1 if place == 0 else 1 + counts[0]),
            )
            for place, count in enumerate(counts)
        ),
        (Limit(0.01, 2.5), Limit(0.001, 3.5)),
    )


FULL = even(BARE.cards[-1])
FIELD = BARE.cards[-1].features[1].field


def sealed(*known: Likeness) -> bytes:
    return models.encode(models.seal(msgspec.structs.replace(BARE, likeness=known)))


def with_branch(place: int, **changes: Any) -> Likeness:
    branches = list(FULL.branches)
    branches[place] = msgspec.structs.replace(branches[place], **changes)
    return msgspec.structs.replace(FULL, branches=tuple(branches))


def with_distribution(**changes: Any) -> Likeness:
    first, *others = FULL.branches[1].beside
    return with_branch(1, beside=(msgspec.structs.replace(first, **changes), *others))


def test_a_model_reads_its_likeness_back_and_gives_it_for_the_card() -> None:
    model = models.decode(sealed(FULL))
    assert model.likeness == (FULL,)
    ready = models.ReadyModel(model)
    compact, full = ready.scorecards
    known = ready.likeness_of(full)
    assert known is not None
    assert known.likeness == FULL
    assert ready.likeness_of(compact) is None


def test_a_document_from_before_there_was_likeness_keeps_its_bytes_and_its_id() -> None:
    document = GOLDEN.read_bytes()
    assert "likeness" not in json.loads(document)
    model = models.decode(document)
    assert model.likeness == ()
    assert models.encode(model) == document
    assert models.seal(model).id == model.id
    ready = models.ReadyModel(model)
    assert all(ready.likeness_of(card) is None for card in ready.scorecards)


DISTRIBUTION = FULL.branches[1].beside[0]
GROUPS = FULL.branches[1].groups


def test_a_likeness_that_does_not_hold_is_refused(subtests: pytest.Subtests) -> None:
    for broken, told in [
        (msgspec.structs.replace(FULL, card="other"), "of no card"),
        (msgspec.structs.replace(FULL, branches=FULL.branches[:-1]), "a branch for each feature"),
        (with_branch(1, parent=99), "parent is not there"),
        (with_branch(1, parent=-1), "parent is not there"),
        (
            with_branch(0, parent=0, beside=FULL.branches[0].beside * len(FULL.branches[0].groups)),
            "ring",
        ),
        (with_branch(1, groups=GROUPS[:-1]), "slots where its table has"),
        (with_branch(1, groups=(1, *GROUPS[1:])), "missing as 0"),
        (with_branch(1, groups=(0, *GROUPS[2:], GROUPS[-1])), "missing as 0"),
        (with_branch(1, beside=FULL.branches[1].beside[:-1]), "groups of its parent"),
        (with_branch(0, beside=()), "groups of its parent"),
        (with_distribution(surprises=DISTRIBUTION.surprises[:-1]), "does not match its groups"),
        (with_distribution(surprises=(-5.0, *DISTRIBUTION.surprises[1:])), "between 0 and 100"),
        (with_distribution(surprises=(1e300, *DISTRIBUTION.surprises[1:])), "between 0 and 100"),
        (with_distribution(surprises=(0.01, *DISTRIBUTION.surprises[1:])), "do not sum to 1"),
        (with_distribution(expected=DISTRIBUTION.expected + 0.01), "an expectation"),
        (with_distribution(variance=0.5), "a variance"),
        (with_distribution(variance=-1e-6), "a variance"),
        (msgspec.structs.replace(FULL, limits=(Limit(0.5, 1.0),)), "share of its likeness"),
        (msgspec.structs.replace(FULL, limits=(Limit(0.0, 1.0),)), "share of its likeness"),
        (msgspec.structs.replace(FULL, limits=FULL.limits[::-1]), "do not fall"),
        (msgspec.structs.replace(FULL, limits=(Limit(0.01, 3.0), Limit(0.001, 2.0))), "limits"),
    ]:
        with subtests.test(told), pytest.raises(InvalidModel, match=told):
            models.decode(sealed(broken))


def test_a_limit_that_is_no_number_is_a_fault_though_no_document_can_hold_it() -> None:
    endless = msgspec.structs.replace(FULL, limits=(Limit(0.01, math.inf),))
    assert list(likeness.faults(endless, BARE.cards[-1])) == [
        "a limit of its likeness is not a finite number"
    ]


def test_two_of_one_card_are_refused() -> None:
    with pytest.raises(InvalidModel, match="one that has another"):
        models.decode(sealed(FULL, FULL))


def test_a_fault_names_the_field() -> None:
    with pytest.raises(InvalidModel, match=f"card full: the likeness of {FIELD}: "):
        models.decode(sealed(with_distribution(variance=0.5)))
