"""The field catalogue: what may be said about an applicant, as data.

The engine works on any catalogue. The product's own is `alama.core.product`; a data scientist may
hand another to the trainer, and the one a model was trained on travels inside the model.
"""

from __future__ import annotations

import math
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from alama.core.errors import InvalidCatalogue

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


WORD_LENGTH_MAX = 64


class Kind(StrEnum):
    """What a value is."""

    INTEGER = "integer"
    NUMBER = "number"
    WORD = "word"


class Direction(StrEnum):
    """How risk moves with the value. The model is monotone in what is not free, proven."""

    SAFER = "safer with more"
    RISKIER = "riskier with more"
    FREE = "free"

    @property
    def sign(self) -> int:
        """Give the sign of the change of points as the value grows; 0 where it is free."""
        return {Direction.SAFER: 1, Direction.RISKIER: -1, Direction.FREE: 0}[self]


class Use(StrEnum):
    """Who reads the field."""

    MODEL = "model"
    POLICY = "policy"
    REFERENCE = "reference"
    MEMORY = "memory"
    """What a book remembers of a borrower: read by rules and models, and never sent."""


class Way(StrEnum):
    """Which way an applicant can move a value."""

    UP = "up"
    DOWN = "down"
    EITHER = "either"


class Change(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How an applicant can change a value: which way, how far, how soon, with what effort.

    `times_at_most` bounds the new value relative to the old one (1.5 = half as much again, or its
    inverse downwards), `by_at_most` bounds the absolute step; `effort` weighs the share of the
    population that a change crosses, 1 being an ordinary effort. `days_each` is how long one unit
    takes, where that is known: to wait for a month takes one.
    """

    way: Way
    within_days: int
    effort: float = 1.0
    times_at_most: float | None = None
    by_at_most: float | None = None
    days_each: float | None = None

    def days(self, step: float) -> int:
        """Give how many days a step may take."""
        if self.days_each is None:
            return self.within_days
        return min(self.within_days, math.ceil(self.days_each * abs(step)))


class Labels(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an applicant reads a field called, in each language of the reasons."""

    en: str
    sw: str
    fr: str


class Field(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One field: its name, what it means, what it may hold and how it bears on risk.

    A field that a lender has declared also says where its values come from, what applicants read
    it called, and where its name looks like a protected trait why it is lawful to use it.
    """

    name: str
    kind: Kind
    meaning: str = ""
    unit: str = ""
    other_spelling: str | None = None
    required: bool = False
    minimum: float | None = None
    above: float | None = None
    maximum: float | None = None
    money: bool = False
    direction: Direction = Direction.FREE
    use: Use = Use.MODEL
    change: Change | None = None
    source: str = ""
    labels: Labels | None = None
    lawful: str = ""

    @property
    def learnable(self) -> bool:
        """Say whether a model may read it."""
        return self.use in {Use.MODEL, Use.MEMORY}

    @property
    def numeric(self) -> bool:
        """Say whether values are numbers."""
        return self.kind is not Kind.WORD

    @property
    def rule(self) -> str:
        """Say in words what a value must be."""
        if self.kind is Kind.WORD:
            return f"must be a string of 1 to {WORD_LENGTH_MAX} printable characters"
        noun = "a whole number" if self.kind is Kind.INTEGER else "a number"
        bounds = []
        if self.above is not None:
            bounds.append(f"above {self.above:,.15g}")
        if self.minimum is not None:
            bounds.append(f"at least {self.minimum:,.15g}")
        if self.maximum is not None:
            bounds.append(f"at most {self.maximum:,.15g}")
        return " ".join(["must be", noun, " and ".join(bounds)]).rstrip()


class Catalogue(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """Fields in their order, and the names that must never be sent."""

    fields: tuple[Field, ...]
    prohibited: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a catalogue that contradicts itself."""
        _check(self)

    @cached_property
    def position(self) -> Mapping[str, int]:
        """Map each spelling of each field to the field's place."""
        places = {field.name: place for place, field in enumerate(self.fields)}
        for place, field in enumerate(self.fields):
            if field.other_spelling is not None:
                places[field.other_spelling] = place
        return places

    def field(self, name: str) -> Field:
        """Give the field of this name (either spelling); it must exist."""
        return self.fields[self.position[name]]

    @cached_property
    def model_fields(self) -> tuple[Field, ...]:
        """Give the fields that a model may read."""
        return tuple(field for field in self.fields if field.learnable)

    @cached_property
    def core_names(self) -> tuple[str, ...]:
        """Give the names of the required model fields: what a compact request holds."""
        return tuple(field.name for field in self.model_fields if field.required)

    def with_directions(self, directions: Mapping[str, Direction]) -> Catalogue:
        """Give this catalogue with other risk directions for the named fields."""
        return msgspec.structs.replace(
            self,
            fields=tuple(
                msgspec.structs.replace(f, direction=directions.get(f.name, f.direction))
                for f in self.fields
            ),
        )

    def only(self, names: Iterable[str]) -> Catalogue:
        """Give this catalogue with its model fields cut down to the named ones."""
        kept = set(names)
        return msgspec.structs.replace(
            self,
            fields=tuple(f for f in self.fields if not f.learnable or f.name in kept),
        )


def _check(catalogue: Catalogue) -> None:
    seen: set[str] = set(catalogue.prohibited)
    if not any(field.learnable for field in catalogue.fields):
        raise InvalidCatalogue("the catalogue has no field that a model may read")
    for field in catalogue.fields:
        spellings = {field.name, field.other_spelling or field.name}
        if not all(spellings):
            raise InvalidCatalogue("a field of the catalogue has no name")
        if seen & spellings:
            raise InvalidCatalogue(
                f"the name {min(seen & spellings)} stands twice in the catalogue"
            )
        seen |= spellings
        _check_field(field)


def _check_field(field: Field) -> None:
    low = field.minimum if field.above is None else field.above
    if field.minimum is not None and field.above is not None:
        raise InvalidCatalogue(f"{field.name}: 'minimum' and 'above' exclude each other")
    if low is not None and field.maximum is not None and low >= field.maximum:
        raise InvalidCatalogue(f"{field.name}: its range is empty")
    if not field.numeric and field.direction is not Direction.FREE:
        raise InvalidCatalogue(f"{field.name}: words have no order, so the direction must be free")
    if not field.numeric and (field.money or low is not None or field.maximum is not None):
        raise InvalidCatalogue(f"{field.name}: words have no range and are no money")
