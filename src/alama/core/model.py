"""The model artefact: scorecards, the catalogue they read, and where they come from.

One JSON document with no code in it. Its id is the hash of its content, so that a stored decision
names for ever the exact tables that made it.
"""

from __future__ import annotations

import math
import re
from datetime import date
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from alama.core import booking, document, likeness, tables
from alama.core.booking import Booking, ReadyBooking
from alama.core.catalogue import Catalogue
from alama.core.document import Document, Format
from alama.core.errors import InvalidCatalogue, InvalidModel, UnknownCurrency
from alama.core.likeness import Likeness, ReadyLikeness
from alama.core.scorecard import Scorecard
from alama.core.tables import Card

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from alama.core.application import Application


_Known = TypeVar("_Known", Likeness, Booking)

REFERENCE_INFLOWS_AS_OF: Final = date(2025, 7, 1)
"""The day whose price levels the table speaks of; written into each model beside its figure."""

REFERENCE_INFLOW_MONTHLY: Final[Mapping[str, int]] = MappingProxyType(
    {
        "KES": 20_000,
        "UGX": 600_000,
        "TZS": 400_000,
        "RWF": 200_000,
        "GHS": 2_000,
        "NGN": 200_000,
        "XOF": 100_000,
        "XAF": 100_000,
        "ZAR": 4_000,
        "ZMW": 4_000,
        "ETB": 20_000,
        "EGP": 8_000,
        "INR": 20_000,
        "BDT": 20_000,
        "PKR": 40_000,
        "PHP": 10_000,
        "IDR": 3_000_000,
        "USD": 200,
        "EUR": 200,
    }
)
"""ISO 4217 code -> reference monthly inflow, in units of that currency."""


SCHEMA: Final = "alama.model/1"
SIZE_MAX: Final = 16 * 2**20
"""Bytes beyond which a document is refused unread: a real one has well under one million."""

Setting = str | int | float | bool | None


class Metric(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A figure with its 95 % bootstrap interval, where one was made."""

    name: str
    value: float
    low: float | None = None
    high: float | None = None


class OutcomeDefinition(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the model predicts: the definition of default and the terms it was learned on."""

    definition: str
    days_past_due: int
    shortest_term_days: int | None
    longest_term_days: int | None


class Recalibrated(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """That the base of every card was moved since the tables were learned, and on what evidence.

    `model_id` is the model whose bases were moved, by `points` each: `shift` log-odds of default,
    below nought where fewer default than was predicted. `loans` and `defaults` are the outcomes.
    """

    model_id: str
    on: str
    shift: float
    points: float
    loans: int
    defaults: int


class Lineage(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Where the tables come from: the data, the recipe, the libraries, the figures on unseen rows.

    Of a model that was recalibrated all of this is still of the data that its tables are from.
    `refit_of` is the model that was judged before this one was fitted on all rows, those that
    judged it included.
    """

    label: str
    rows: int
    defaults: int
    fingerprint: str
    recipe: dict[str, Setting]
    versions: dict[str, str]
    metrics: dict[str, tuple[Metric, ...]]
    recalibrated: Recalibrated | None = None
    refit_of: str | None = None


class Reference(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What drift is measured against, beside the shares in the tables: the scores of one card."""

    card: str
    score_edges: tuple[int, ...]
    score_shares: tuple[float, ...]


class Money(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The currency of the cuts, and a dated reference inflow for each currency served."""

    currency: str
    dated: str
    reference_inflows: dict[str, float]


class Model(Document, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The whole artefact. Cards stand in order of size, the one with the fewest fields first.

    What was added to the format later has a default, which is not written: an older document
    keeps its id. A card without a likeness has no opinion on how strange an application is, one
    without a booking none on whether such were booked: its history knew nobody who was not.
    """

    name: str
    outcome: OutcomeDefinition
    money: Money | None
    catalogue: Catalogue
    cards: tuple[Card, ...]
    references: tuple[Reference, ...]
    lineage: Lineage
    likeness: tuple[Likeness, ...] = ()
    booking: tuple[Booking, ...] = ()


class ReadyModel:
    """A model laid out for scoring in one currency.

    `currency` is None where the model was trained without money.
    """

    __slots__ = (
        "_booking",
        "_choices",
        "_likeness",
        "catalogue",
        "currency",
        "model",
        "scorecards",
    )

    def __init__(self, model: Model, currency: str | None = None) -> None:
        """Lay out every card; `currency` None means the currency of the model's own cuts."""
        factor = money_factor(model, currency)
        self.model = model
        self.currency = currency or (model.money.currency if model.money else None)
        self.catalogue = model.catalogue
        self.scorecards = tuple(Scorecard(c, model.catalogue, factor) for c in model.cards)
        self._likeness = {known.card: ReadyLikeness(known) for known in model.likeness}
        by_name = {scorecard.card.name: scorecard for scorecard in self.scorecards}
        self._booking = {
            known.card: ReadyBooking(known, by_name[known.card], model.catalogue, factor)
            for known in model.booking
        }
        # For each card but the largest: the places that must be empty for it to be enough.
        readable = set(self.scorecards[-1].places)
        self._choices = tuple(
            (card, tuple(sorted(readable - set(card.places)))) for card in self.scorecards[:-1]
        )

    def scorecard_for(self, application: Application) -> Scorecard:
        """Give the smallest card that reads every given field."""
        values = application.values
        for card, others in self._choices:
            for place in others:
                if values[place] is not None:
                    break
            else:
                return card
        return self.scorecards[-1]

    def likeness_of(self, scorecard: Scorecard) -> ReadyLikeness | None:
        """Give what tells how strange an application is to a card; None where nothing does."""
        return self._likeness.get(scorecard.card.name)

    def booking_of(self, scorecard: Scorecard) -> ReadyBooking | None:
        """Give what tells whether such applications were booked; None where nothing does."""
        return self._booking.get(scorecard.card.name)


def money_factor(model: Model, currency: str | None) -> float:
    """Give what a cut of the model is multiplied by to stand in a currency."""
    if currency is None:
        return 1.0
    references = model.money.reference_inflows if model.money else {}
    if model.money is None or currency not in references:
        raise UnknownCurrency(currency, sorted(references))
    return references[currency] / references[model.money.currency]


_FORMAT: Final = Format(Model, SCHEMA, "model", SIZE_MAX, InvalidModel, "retrain")

RESTORE: Final = (
    "restore it from a backup; until then a roll back lets the model before answer, or a pause of "
    "the lender leaves every decision to a person"
)

seal = document.seal
encode = document.encode


def decode(artefact: bytes) -> Model:
    """Read an artefact strictly, or raise `InvalidModel` and say what is wrong with it."""
    model = _read(artefact)
    _check(model)
    return model


def stored(artefact: bytes, model_id: str) -> Model:
    """Read a stored model, or raise `InvalidModel` if it is not the one of that id.

    Of what is there instead nothing is quoted: nobody knows what it is.
    """
    try:
        model = _read(artefact)
    except InvalidModel:
        raise InvalidModel(
            f"the stored model {model_id} is damaged: it is not a model that this version reads",
            hint=RESTORE,
        ) from None
    if model.id != model_id:
        raise InvalidModel(
            f"the stored model {model_id} was changed: it is another one", hint=RESTORE
        )
    try:
        _check(model)
    except InvalidModel as error:
        raise InvalidModel(f"the stored model {model_id}: {error}", hint=RESTORE) from error
    return model


def _read(artefact: bytes) -> Model:
    try:
        return _FORMAT.decode(artefact)
    except InvalidCatalogue as error:
        raise InvalidModel(f"the model's catalogue is not valid: {error}") from error


def _check(model: Model) -> None:
    if not model.cards:
        raise InvalidModel("the model has no scorecard")
    for card in model.cards:
        _check_card(model.catalogue, card)
    fields = [{feature.field for feature in card.features} for card in model.cards]
    if any(not small < large for small, large in pairwise(fields)):
        raise InvalidModel("each card must read the fields of the one before, and more")
    _check_one_a_card(model.cards, "likeness", model.likeness, likeness.faults)
    _check_one_a_card(model.cards, "booking", model.booking, booking.faults)
    if model.money is not None:
        _check_money(model.money)


def _check_one_a_card(
    cards: Sequence[Card],
    noun: str,
    listed: Sequence[_Known],
    faults: Callable[[_Known, Card], Iterable[str]],
) -> None:
    by_name = {card.name: card for card in cards}
    for known in listed:
        # Taken out, so that a second one for the same card finds none.
        card = by_name.pop(known.card, None)
        if card is None:
            raise InvalidModel(f"a {noun} of the model is of no card, or of one that has another")
        for fault in faults(known, card):
            raise InvalidModel(f"card {card.name}: {fault}")


def _check_money(money: Money) -> None:
    if money.currency not in money.reference_inflows:
        raise InvalidModel("the model has no reference inflow for its own currency")
    for currency, inflow in money.reference_inflows.items():
        if not re.fullmatch("[A-Z]{3}", currency):
            raise InvalidModel("a currency of the model is not three capital letters")
        if not (math.isfinite(inflow) and inflow > 0.0):
            raise InvalidModel(f"the reference inflow for {currency} is not a positive number")


def _check_card(catalogue: Catalogue, card: Card) -> None:
    names = {field.name: field for field in catalogue.model_fields}
    for feature in card.features:
        if feature.field not in names:
            raise InvalidModel(
                f"card {card.name}: {feature.field} is not a model field of its catalogue"
            )
        if feature.words and names[feature.field].numeric:
            raise InvalidModel(f"card {card.name}: {feature.field} holds numbers, its table words")
        if feature.cuts and not names[feature.field].numeric:
            raise InvalidModel(f"card {card.name}: {feature.field} holds words, its table numbers")
    for fault in tables.faults(card):
        raise InvalidModel(f"card {card.name}: {fault}")
    for broken in tables.monotone_breaks(card, catalogue):
        raise InvalidModel(f"card {card.name} breaks its own risk direction: {broken}")
    for fault in tables.impurities(card):
        raise InvalidModel(f"card {card.name} does not explain itself exactly: {fault}")
