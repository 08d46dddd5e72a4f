import csv
import io
import json

import msgspec
import pytest

from alama.batch import listing as export
from alama.batch.listing import Labels, listing
from alama.core.catalogue import Catalogue, Field, Kind
from alama.core.tables import Card, Feature, Pair
from tests.factories import a_model


def labels(kind: Kind, cuts: tuple[float, ...], **rules: float) -> list[str]:
    size = len(cuts) + 2
    feature = Feature("x", (0.0,) * size, (0.0,) * size, (None,) * size, cuts)
    field = Field("x", kind, minimum=rules.get("minimum"), maximum=rules.get("maximum"))
    return [Labels(feature, field, cuts).of([slot]) for slot in range(size)]


@pytest.mark.parametrize(
    ("cuts", "expected"),
    [
        ((6.0, 12.0), ["under 6", "6 to 11", "12 and more"]),
        ((6.0, 7.0), ["under 6", "6", "7 and more"]),
        ((5.5, 11.5), ["under 6", "6 to 11", "12 and more"]),
        ((5.2, 5.7), ["under 6", "5.2 to under 5.7", "6 and more"]),
        ((1_000.0, 20_000.0), ["under 1,000", "1,000 to 19,999", "20,000 and more"]),
        ((0.0,), ["under 0", "0 and more"]),
        ((), ["any"]),
    ],
)
def test_whole_numbers_are_ranges_with_both_ends(
    cuts: tuple[float, ...], expected: list[str]
) -> None:
    assert labels(Kind.INTEGER, cuts) == ["not given", *expected]


def test_a_whole_number_at_the_end_of_its_range_stands_alone() -> None:
    assert labels(Kind.INTEGER, (1.0, 600.0), minimum=0, maximum=600) == [
        "not given", "0", "1 to 599", "600",
    ]  # fmt: skip


def test_numbers_are_ranges_open_above() -> None:
    assert labels(Kind.NUMBER, (0.35, 1_500.5)) == [
        "not given", "under 0.35", "0.35 to under 1,500.5", "1,500.5 and more",
    ]  # fmt: skip


def test_words_are_listed_and_neighbouring_slots_read_as_one() -> None:
    words = Feature("x", (0.0,) * 4, (0.25,) * 4, (None,) * 4, words=(("a", "b"), ("c",)))
    made = Labels(words, Field("x", Kind.WORD), ())
    assert made.of([1]) == "a, b"
    assert made.of([3]) == "other"
    assert made.of([0, 2, 3]) == "c, other, not given"
    cuts = (1.0, 2.0, 3.0)
    numbers = Feature("y", (0.0,) * 5, (0.2,) * 5, (None,) * 5, cuts)
    assert Labels(numbers, Field("y", Kind.NUMBER), cuts).of([0, 1, 2, 4]) == (
        "under 2, 3 and more, not given"
    )


def test_the_most_important_feature_comes_first_and_missing_last() -> None:
    model = a_model(1)
    rows = listing(model, model.cards[-1])
    importances = [feature.importance for feature in rows.features]
    assert importances == sorted(importances, reverse=True)
    assert {feature.bands[-1].band for feature in rows.features} == {"not given"}
    assert {f.feature for f in rows.features} == {f.field for f in model.cards[-1].features}


def test_every_cell_of_the_card_is_listed_with_its_points() -> None:
    model = a_model(1)
    card = model.cards[-1]
    rows = listing(model, card)
    by_field = {feature.field: feature for feature in card.features}
    for feature in rows.features:
        assert sorted(b.points for b in feature.bands) == sorted(by_field[feature.feature].main)
        assert sum(band.share for band in feature.bands) == pytest.approx(1.0)
    listed = sorted(cell.points for pair in rows.pairs for cell in pair.cells)
    held = sorted(
        2.0 * pair.halves[row][column]
        for pair in card.pairs
        for row in set(pair.rows)
        for column in set(pair.columns)
    )
    assert listed == held


def test_money_is_shown_in_the_currency_asked_for() -> None:
    model = a_model(1)
    kenyan, ugandan = (listing(model, model.cards[0], code) for code in (None, "UGX"))
    assert (kenyan.currency, ugandan.currency) == ("KES", "UGX")
    own, other = (
        next(f for f in rows.features if f.feature == "avg_inflow") for rows in (kenyan, ugandan)
    )
    assert own.unit == "KES a month"
    assert other.unit == "UGX a month"
    assert [b.below and 28 * b.below for b in own.bands] == [b.below for b in other.bands]


def test_json_holds_the_whole_listing() -> None:
    model = a_model(1)
    rows = listing(model, model.cards[-1])
    document = json.loads(export.as_json(rows))
    assert document["model"] == model.id
    assert len(document["features"]) == 17
    assert document["features"][0]["bands"][0]["points"] == rows.features[0].bands[0].points


def test_csv_holds_a_row_for_the_base_each_band_and_each_cell_of_a_pair() -> None:
    model = a_model(1)
    rows = listing(model, model.cards[-1])
    read = list(csv.DictReader(io.StringIO(export.as_csv(rows))))
    assert tuple(read[0]) == export.CSV_COLUMNS
    assert read[0]["feature"] == "base_score"
    assert float(read[0]["points"]) == rows.base_score
    assert float(read[1]["points"]) == rows.features[0].bands[0].points
    bands = sum(len(feature.bands) for feature in rows.features)
    cells = sum(len(pair.cells) for pair in rows.pairs)
    assert len(read) == 1 + bands + cells
    assert read[-1]["with_feature"] == rows.pairs[-1].with_feature


def test_csv_names_the_model_the_card_and_the_currency_in_every_row() -> None:
    model = a_model(1)
    read = list(csv.DictReader(io.StringIO(export.as_csv(listing(model, model.cards[-1], "UGX")))))
    assert {(row["model"], row["card"], row["currency"]) for row in read} == {
        (model.id, "full", "UGX")
    }


def holds(row: dict[str, str], side: str, value: float | str | None) -> bool:
    """Tell from a row of the CSV alone whether a value falls into one of its sides."""
    if value is None:
        return row[f"{side}not_given"] == "true"
    if isinstance(value, str):
        return value in row[f"{side}words"].split("|") or row[f"{side}other"] == "true"
    low, high = row[f"{side}at_least"], row[f"{side}below"]
    inside = (not low or float(low) <= value) and (not high or value < float(high))
    return row[f"{side}numbers"] == "true" and inside


def test_a_program_finds_the_one_cell_of_a_pair() -> None:
    numbers = Feature("x", (0.0,) * 5, (0.2,) * 5, (None,) * 5, cuts=(1.0, 2.0, 3.0))
    wordy = Feature("y", (0.0,) * 4, (0.25,) * 4, (None,) * 4, words=(("a", "b"), ("c",)))
    # Bands 1 and 3 of x share a row though they are no neighbours; missing goes with band 2.
    halves = ((1.0, 2.0), (3.0, 4.0))
    pair = Pair(0, 1, (1, 0, 1, 0, 1), (0, 0, 1, 1), halves)
    model = msgspec.structs.replace(
        a_model(),
        catalogue=Catalogue((Field("x", Kind.NUMBER), Field("y", Kind.WORD))),
        cards=(Card("full", 500.0, (numbers, wordy), (pair,)),),
        money=None,
    )
    listed = listing(model, model.cards[0])
    text = io.StringIO(export.as_csv(listed))
    cells = [row for row in csv.DictReader(text) if row["with_feature"]]
    for x, row_place in ((None, 1), (0.5, 0), (1.0, 1), (2.5, 0), (3.0, 1)):
        for y, column in ((None, 0), ("a", 0), ("b", 0), ("c", 1), ("z", 1)):
            named = [c for c in cells if holds(c, "", x)]
            found = [
                c
                for c in named
                if holds(c, "with_", y) and not (y in ("a", "b") and c["with_other"] == "true")
            ]
            assert [float(c["points"]) for c in found] == [2.0 * halves[row_place][column]]
    assert sum(cell.share for cell in listed.pairs[0].cells) == pytest.approx(1.0)
    document = json.loads(export.as_json(listed))["pairs"][0]["cells"]
    assert {"at_least", "below", "words", "with_at_least", "with_words"} <= set(document[0])
