from __future__ import annotations

from alama.core.tables import Feature
from alama.training.validation import shapes

SPACE = "\N{NARROW NO-BREAK SPACE}"


def number(*cuts: float) -> Feature:
    slots = len(cuts) + 2
    return Feature("n", (0.0,) * slots, (1.0 / slots,) * slots, (0.1,) * slots, cuts=cuts)


WORD = Feature("w", (0.0,) * 4, (0.25,) * 4, (0.1,) * 4, words=(("phone", "tablet"), ("watch",)))


def test_bands_of_numbers_read_as_ranges() -> None:
    assert shapes.slot_labels(number(6.0, 12.5, 20000.0)) == [
        "not given",
        f"<{SPACE}6",
        f"6 to <{SPACE}12.5",
        f"12.5 to <{SPACE}20,000",
        f"≥{SPACE}20,000",
    ]


def test_groups_of_words_are_listed_and_the_last_is_any_other() -> None:
    assert shapes.slot_labels(WORD) == ["not given", "phone, tablet", "watch", "any other"]


def test_neighbouring_bands_read_as_one() -> None:
    feature = number(6.0, 12.0, 24.0)
    assert shapes.group_label(feature, [2, 3]) == f"6 to <{SPACE}24"
    assert shapes.group_label(feature, [0, 1, 2]) == f"not given, <{SPACE}12"
    assert shapes.group_label(feature, [1, 4]) == f"<{SPACE}6, ≥{SPACE}24"
    assert shapes.group_label(feature, [1, 2, 3, 4]) == "any value"


def test_a_feature_without_cuts_has_one_band() -> None:
    assert shapes.slot_labels(number()) == ["not given", "any value"]


def test_groups_turn_a_map_of_slots_round() -> None:
    assert shapes.groups((0, 1, 1, 2)) == [[0], [1, 2], [3]]
