"""Who was booked is learned: softly by many fields, sharply by one, and not at all by chance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from alama.core import booking as bookings
from alama.core.booking import Booking, ReadyBooking
from alama.core.catalogue import Catalogue, Field, Kind
from alama.core.kernel import Column, Words
from alama.core.model import ReadyModel
from alama.core.scorecard import Scorecard
from alama.core.tables import Card, Feature
from alama.training.dataset import Dataset
from alama.training.making.booking import ROWS_MIN, SUPPORT, learn_booking, log_odds_by_field
from tests.factories import a_dataset, a_model
from tests.recourse import random_booking
from tests.tries import tries

ROWS = 12_000
CATALOGUE = Catalogue(
    fields=(Field("months", Kind.NUMBER), Field("balance", Kind.NUMBER), Field("use", Kind.WORD))
)


def flat(
    field: str, slots: int, **bands: tuple[float, ...] | tuple[tuple[str, ...], ...]
) -> Feature:
    """A table without points: who was booked is learned by its slots alone."""
    shares = (0.0, *[1.0 / (slots - 1)] * (slots - 1))
    return Feature(field, (0.0,) * slots, shares, (None,) * slots, **bands)  # type: ignore[arg-type]  # cuts or words


# The card knows booked loans alone, so below the lowest cut it cannot tell balances apart.
CARD = Card(
    "full",
    0.0,
    (
        flat("months", 11, cuts=tuple(n / 10 for n in range(1, 10))),
        flat("balance", 4, cuts=(0.5, 0.75)),
        flat("use", 4, words=(("farm",), ("trade",))),
    ),
    (),
)

Mask = NDArray[np.bool_]


def applications(seed: int = 1) -> Dataset:
    """People whose fields say nothing about each other; nobody was booked yet."""
    rng = np.random.default_rng(seed)
    balance = rng.random(ROWS)
    balance[rng.random(ROWS) < 0.1] = np.nan
    columns: dict[str, Column] = {
        "months": rng.random(ROWS),
        "balance": balance,
        "use": Words(rng.integers(-1, 3, ROWS).astype(np.int32), ("farm", "trade", "school")),
    }
    return Dataset(CATALOGUE, columns, np.zeros(ROWS, dtype=np.int8))


def numbers(data: Dataset, name: str) -> NDArray[np.float64]:
    column = data.columns[name]
    assert not isinstance(column, Words)
    return column


def learned(data: Dataset, booked: Mask) -> tuple[Booking, Mask]:
    """The booking, and who is outside by it."""
    booking = learn_booking(CARD, replace(data, labels=booked.astype(np.int8)))
    assert booking is not None
    assert not list(bookings.faults(booking, CARD))
    said = log_odds_by_field(booking, CARD, CATALOGUE, data.columns)
    return booking, booking.base + said.sum(axis=0) < booking.log_odds_min


def chances_of(data: Dataset) -> NDArray[np.float64]:
    return np.asarray(1.0 / (1.0 + np.exp(3.0 - 8.0 * numbers(data, "months"))))


def test_the_log_odds_are_those_by_which_people_were_booked() -> None:
    data = applications()
    chances = chances_of(data)
    booked = np.random.default_rng(2).random(ROWS) < chances
    booking, outside = learned(data, booked)
    assert booking.booked_share == pytest.approx(np.mean(booked), abs=1e-6)
    assert booking.chance_min == pytest.approx(SUPPORT * np.mean(booked), abs=1e-3)
    said = booking.base + log_odds_by_field(booking, CARD, CATALOGUE, data.columns).sum(axis=0)
    assert np.mean(np.abs(1.0 / (1.0 + np.exp(-said)) - chances)) < 0.05
    assert np.mean(outside == (chances < booking.chance_min)) > 0.9


def test_nobody_is_outside_where_chance_alone_booked() -> None:
    for share in (0.1, 0.5, 0.9):
        booked = np.random.default_rng(3).random(ROWS) < share
        booking, outside = learned(applications(), booked)
        assert not outside.any(), share
        assert all(field.lowest is None and field.highest is None for field in booking.fields)


@pytest.mark.parametrize("cut_off", [0.1, 0.3])
def test_a_cut_off_that_no_band_of_the_card_knows_is_found(cut_off: float) -> None:
    data = applications()
    balance = numbers(data, "balance")
    booked = ~(balance < cut_off) & (np.random.default_rng(4).random(ROWS) < 0.8)
    booking, outside = learned(data, booked)
    assert booking.fields[1].lowest == pytest.approx(cut_off, abs=0.01)
    assert outside[balance < cut_off - 0.01].all(), "everybody below"
    assert not outside[booked].any()
    assert not outside[np.isnan(balance)].any(), "one that is not given lies beyond no end"


def test_a_few_exceptions_do_not_hide_a_cut_off() -> None:
    data = applications()
    balance = numbers(data, "balance")
    rng = np.random.default_rng(5)
    booked = np.where(balance > 0.6, rng.random(ROWS) < 0.01, rng.random(ROWS) < 0.8)
    booking, outside = learned(data, booked)
    assert booking.fields[1].highest == pytest.approx(0.6, abs=0.01)
    assert outside[balance > 0.61].all()
    assert not outside[balance < 0.59].any()


def test_where_a_cut_off_explains_everything_all_others_are_inside() -> None:
    data = applications()
    months = numbers(data, "months")
    _, outside = learned(data, months >= 0.25)
    assert np.array_equal(outside, months < 0.25)


def test_words_that_were_never_booked_are_outside() -> None:
    data = applications()
    use = data.columns["use"]
    assert isinstance(use, Words)
    school = use.codes == 2
    booked = ~school & (np.random.default_rng(6).random(ROWS) < 0.7)
    _, outside = learned(data, booked)
    assert outside[school].all()
    assert not outside[booked].any()


def test_the_order_of_the_rows_does_not_matter() -> None:
    data = applications()
    booked = np.random.default_rng(2).random(ROWS) < chances_of(data)
    turned = np.arange(ROWS)[::-1]
    one = replace(data, labels=booked.astype(np.int8))
    other = learn_booking(CARD, one.take(turned).in_canonical_order())
    assert learn_booking(CARD, one.in_canonical_order()) == other


@pytest.mark.parametrize("count", [0, ROWS_MIN - 1, ROWS - ROWS_MIN + 1, ROWS])
def test_too_few_on_one_side_teach_nothing(count: int) -> None:
    labels = (np.arange(ROWS) < count).astype(np.int8)
    assert learn_booking(CARD, replace(applications(), labels=labels)) is None


@tries(60)
@given(st.integers(0, 2**32 - 1))
def test_many_rows_are_told_apart_exactly_as_each_alone(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = a_model(seed % 50)
    card = model.cards[-1]
    booking = random_booking(rng, card)
    factor = float(rng.choice([1.0, 0.37, 28.5]))
    data = a_dataset(model, seed=seed % 1000, rows=40)
    scorecard = Scorecard(card, model.catalogue, factor)
    known = ReadyBooking(booking, scorecard, model.catalogue, factor)
    said = log_odds_by_field(booking, card, model.catalogue, data.columns, factor)
    outside = booking.base + said.sum(axis=0) < booking.log_odds_min
    for row, values in enumerate(rows_of(ReadyModel(model), data)):
        slots = scorecard.score(values).slots
        assert outside[row] == known.is_seldom(values, slots)


def rows_of(model: ReadyModel, data: Dataset) -> list[list[float | str | None]]:
    """The rows as applications, in the order of the catalogue."""

    def value(column: Column | None, row: int) -> float | str | None:
        if column is None:
            return None
        if isinstance(column, Words):
            code = int(column.codes[row])
            return None if code < 0 else column.vocabulary[code]
        return None if np.isnan(column[row]) else float(column[row])

    names = [field.name for field in model.catalogue.fields]
    return [[value(data.columns.get(name), row) for name in names] for row in range(len(data))]
