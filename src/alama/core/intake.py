"""Bytes to an Application: a compiled decoder for what is in order, a full walk for what is not.

Nearly every body is in order, and the compiled decoder checks types and ranges while it reads. But
it stops at the first fault, and of two equal names it keeps the last without a word. So whatever it
does not plainly accept is walked once more, slowly, and the walk alone says what is wrong.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NoReturn

import msgspec
from msgspec import UNSET, Meta, UnsetType

from alama.core.application import (
    PRODUCT_NAME,
    Application,
    looks_personal,
    may_be_word,
    read,
)
from alama.core.catalogue import WORD_LENGTH_MAX, Catalogue, Field, Kind, Use
from alama.core.errors import MalformedDocument

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence


_DIGITS_MAX: Final = 400
"""A longer integer is beyond every double, and Python refuses to read it at some length."""


class Intake:
    """Reads the bodies of one catalogue.

    `is_word` says which words they may hold; those that were stored keep the rules of their day
    (`may_have_been_word`). `products` are those that they may ask for, the default one first;
    None: whatever they asked for in their day.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        is_word: Callable[[str], bool] = may_be_word,
        products: Collection[str] | None = (),
    ) -> None:
        fields = catalogue.fields
        others = [place for place, field in enumerate(fields) if field.other_spelling]
        self._catalogue = catalogue
        self._is_word = is_word
        self._products = None if products is None else tuple(products)
        self._asks_for_product = products is None or bool(products)
        self._product = self._products[0] if self._products else None
        self._decoder = msgspec.json.Decoder(request_type(catalogue, self._products))
        self._width = len(fields)
        self._other_spellings = tuple(
            (place, str(fields[place].other_spelling), len(fields) + rank)
            for rank, place in enumerate(others)
        )
        self._nothing_respelled = (UNSET,) * len(others)
        self._required = _places(catalogue, lambda field: field.required)
        self._integers = _places(catalogue, lambda field: field.kind is Kind.INTEGER)
        self._words = _places(catalogue, lambda field: field.kind is Kind.WORD)
        self._references = _places(catalogue, lambda field: field.use is Use.REFERENCE)
        self._remembered = _places(catalogue, lambda field: field.use is Use.MEMORY)

    def read(self, body: bytes) -> Application:
        """Read one body, or raise.

        `MalformedDocument` is for what is no JSON object, `InvalidApplication` for one that breaks
        rules; it carries every broken rule at once.
        """
        return self._fast(body) or self._walk(body)

    def reference_of(self, application: Application) -> str | None:
        """Give what the lender knows the applicant by, if it was sent."""
        for place in self._references:
            reference = application.values[place]
            if reference is not None:
                return str(reference)
        return None

    def _fast(self, body: bytes) -> Application | None:
        """Read a body that is plainly in order; None where the walk has to look."""
        try:
            sent = msgspec.structs.astuple(self._decoder.decode(body))
        except (ValueError, RecursionError):  # msgspec's errors are ValueErrors
            return None
        # Each member brings a colon: as many colons as names, and no name stands twice.
        if body.count(b":") != len(sent) - sent.count(UNSET):
            return None
        product = self._product
        if self._asks_for_product:
            *others, said = sent
            sent = tuple(others)
            product = said or product
        values: list[Any] = [None if value is UNSET else value for value in sent[: self._width]]
        spelled = None
        if sent[self._width :] != self._nothing_respelled:
            spelled = self._gather_other_spellings(sent, values)
            if spelled is None:
                return None
        if not self._settle(values):
            return None
        return Application(tuple(values), spelled, None, product)

    def _gather_other_spellings(
        self, sent: tuple[Any, ...], values: list[Any]
    ) -> Mapping[int, str] | None:
        """Move values to the places of their fields, or give None if both spellings came."""
        spelled = {}
        for place, name, source in self._other_spellings:
            value = sent[source]
            if value is UNSET or value is None:
                continue
            if values[place] is not None:
                return None
            values[place] = value
            spelled[place] = name
        return {
            place: spelled.get(place, field.name)
            for place, field in enumerate(self._catalogue.fields)
            if values[place] is not None
        }

    def _settle(self, values: list[Any]) -> bool:
        """Bring values into their final form; False where a rule is left to the walk."""
        for place in self._required:
            if values[place] is None:
                return False
        for place in self._integers:
            number = values[place]
            if number is not None:
                if not number.is_integer():
                    return False
                values[place] = int(number)
        for place in self._words:
            word = values[place]
            if word is not None:
                values[place] = word = word.strip()
                # Few words are not printable, and fewer still are in order.
                if not (word and word.isprintable()):
                    return False
        return not (self._names_somebody(values) or self._says_what_is_remembered(values))

    def _says_what_is_remembered(self, values: list[Any]) -> bool:
        return any(values[place] is not None for place in self._remembered)

    def _names_somebody(self, values: list[Any]) -> bool:
        for place in self._references:
            reference = values[place]
            if reference is not None and looks_personal(reference):
                return True
        return False

    def _walk(self, body: bytes) -> Application:
        sent = members(body)
        times_sent = Counter(name for name, _ in sent)
        repeated = [name for name, times in times_sent.items() if times > 1]
        return read(self._catalogue, dict(sent), repeated, self._is_word, self._products)


def request_type(catalogue: Catalogue, products: Sequence[str] | None = ()) -> type[msgspec.Struct]:
    """Make the type of a body: names in catalogue order, the other spellings, then the product.

    Required fields may be missing here, since either spelling will do: the intake looks at them.
    """
    named = [(field.name, field) for field in catalogue.fields]
    respelled = [(field.other_spelling, field) for field in catalogue.fields]
    members = [
        (name, _value_type(field) | None | UnsetType, UNSET)
        for name, field in [*named, *respelled]
        if name is not None
    ]
    if products is None or products:
        known: Any = str if products is None else Literal[*products]
        members.append((PRODUCT_NAME, known | None | UnsetType, UNSET))
    return msgspec.defstruct("Application", members, frozen=True, forbid_unknown_fields=True)


def _value_type(field: Field) -> Any:  # noqa: ANN401  a type made of the catalogue's ranges
    if field.kind is Kind.WORD:
        return Annotated[str, Meta(min_length=1, max_length=WORD_LENGTH_MAX)]
    # Integers are read as numbers too: 24.0 is a valid one. `_settle` refuses 24.5.
    if field.above is not None:
        return Annotated[float, Meta(gt=field.above, le=field.maximum)]
    return Annotated[float, Meta(ge=field.minimum, le=field.maximum)]


def _places(catalogue: Catalogue, chosen: Callable[[Field], bool]) -> tuple[int, ...]:
    return tuple(place for place, field in enumerate(catalogue.fields) if chosen(field))


# ------------------------------------------------------------------------------------- the walk


class _Members(list[tuple[str, object]]):
    """An object as it was written: every name with its value, repeated names included."""


def members(body: bytes) -> list[tuple[str, object]]:
    """Give the members of a JSON object as they were written, or raise `MalformedDocument`."""
    if not body.strip():
        raise MalformedDocument("is empty")
    try:
        # Not msgspec here: of a name that stands twice it keeps the last value and says nothing.
        sent = json.loads(
            body.decode("utf-8"),
            object_pairs_hook=_Members,
            parse_constant=_no_number,
            parse_int=_number,
        )
    except UnicodeDecodeError:
        raise MalformedDocument("is not UTF-8") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise MalformedDocument(f"is not JSON: {where}") from None
    except RecursionError:
        raise MalformedDocument("is nested too deeply") from None
    if not isinstance(sent, _Members):
        raise MalformedDocument("is not a JSON object")
    _require_text(sent)
    return sent


def inner_members(value: object) -> list[tuple[str, object]] | None:
    """Give the members of an object that is itself a value, as `members` does; None: it is none."""
    if not isinstance(value, _Members):
        return None
    _require_text(value)
    return value


def inner_object(value: object) -> object:
    """Give an object that is a member's value as a dict; as it is where a name stands twice."""
    if not isinstance(value, _Members):
        return value
    found = dict(value)
    return found if len(found) == len(value) else value


def _number(digits: str) -> int | float:
    return int(digits) if len(digits) <= _DIGITS_MAX else float(digits)


def _no_number(constant: str) -> NoReturn:
    """Refuse NaN and Infinity, which Python would read though JSON has no such numbers."""
    raise MalformedDocument(f"is not JSON: {constant} is no number")


def _require_text(sent: _Members) -> None:
    if not all(_is_text(name) and _is_text(value) for name, value in sent):
        raise MalformedDocument("holds half of a surrogate pair")


def _is_text(value: object) -> bool:
    """Say whether a string is Unicode: an escaped lone surrogate is not."""
    if not isinstance(value, str):
        return True
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
