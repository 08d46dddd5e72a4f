"""Application: what a lender sends about an applicant, parsed once, at the edge."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import astuple

from alama.core import memory
from alama.core.catalogue import WORD_LENGTH_MAX, Catalogue, Field, Kind, Use
from alama.core.errors import FAULTS_MAX, FieldProblem, InvalidApplication
from alama.core.memory import Remembered

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


CONTROLS: Final = r"\x00-\x1f\x7f-\x9f"
HIDDEN: Final = (
    f"{CONTROLS}"  # escapes, newlines, tabs
    r"\xad\u200b\u2060-\u2065\ufeff"  # no width: two words would look the same
    r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u206f"  # the direction of writing, and its shapes
    r"\u2028\u2029\ufff9-\ufffb"  # separators of lines, marks around annotations
)
"""The inside of a character class, as regular expressions of most languages write it."""

_REPLACEMENT: Final = "?"
_HIDDEN: Final = re.compile(f"[{HIDDEN}]")
_HIDDEN_IN_LINES: Final = re.compile(rf"(?![\n\t]|\r\n)[{HIDDEN}]")


def is_visible(text: str) -> bool:
    """Say whether a text holds none of these characters."""
    # Nearly every text is printable, which takes less time to find out.
    return text.isprintable() or _HIDDEN.search(text) is None


def visible(text: str) -> str:
    """Give a text that can be shown within a line; a question mark stands for what cannot."""
    return text if text.isprintable() else _HIDDEN.sub(_REPLACEMENT, text)


def visible_lines(text: str) -> str:
    """Give a text that can be shown in lines of its own: tabs and ends of lines stay."""
    return text if text.isprintable() else _HIDDEN_IN_LINES.sub(_REPLACEMENT, text)


def visible_json(text: str) -> str:
    """Give JSON that says the same, and can be shown: what cannot is written as its number."""
    return _HIDDEN_IN_LINES.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


Value = float | int | str | None

_LOOKS_PERSONAL: Final = re.compile(r"@|^\+?[\d\s().-]{7,}$")
"""An e-mail address, or digits enough for a phone number or a national id."""

_OPAQUE: Final = (
    "must be an opaque reference, not a phone number, e-mail address or national id: it may not "
    "hold an @, nor be seven or more digits alone; put a letter in front of a customer number"
)

_REMEMBERED: Final = (
    "is remembered by Alama, and cannot be sent: send applicant_ref, and tell of loans by "
    "POST /v1/loans"
)

_NO_PRODUCTS: Final = "is not a field: the lender's policy has no products"

PRODUCT_NAME: Final = "product"
"""What a request may say beside the fields of the catalogue, where the policy has products."""

_SUGGESTIONS_MAX: Final = 20
"""How many unknown names are compared with the known ones: it takes a while, and a body may hold
thousands of them."""


class Application(msgspec.Struct, frozen=True, gc=False):
    """The values of one application, in the order of the catalogue; None = not given.

    They already keep the rules; `read` is the door for those that may not. `spelled` names each
    given field as the caller spelled it, so that an answer can speak the caller's language; None
    means every field is spelled by its own name. `memory` is what the borrower is remembered by,
    whose values then stand among the others. `product` is the one that is asked for, or the default
    one; None: the policy has no products.
    """

    values: tuple[Value, ...]
    spelled: Mapping[int, str] | None = None
    memory: Remembered | None = None
    product: str | None = None


def remembering(
    application: Application, remembered: Remembered | None, catalogue: Catalogue
) -> Application:
    """Give an application with what its borrower is remembered by.

    Each value has the place of its field in `alama.core.memory.with_memory(catalogue)`.
    """
    if remembered is None:
        return application
    position = catalogue.position
    if memory.NAMES.isdisjoint(position):  # as nearly always: no model has learned from them
        values = (*application.values[: len(catalogue.fields)], *astuple(remembered))
        return Application(values, application.spelled, remembered, application.product)
    placed = list(application.values[: len(catalogue.fields)])
    for field, value in zip(memory.FIELDS, astuple(remembered), strict=True):
        place = position.get(field.name)
        if place is None:
            placed.append(value)
        else:
            placed[place] = value
    return Application(tuple(placed), application.spelled, remembered, application.product)


def fold(word: str) -> str:
    """Give the form in which words are compared: no case, no space around."""
    return word.strip().casefold()


def may_be_word(word: str) -> bool:
    """Say whether a word, without space around it, is one that an application may hold."""
    return 1 <= len(word) <= WORD_LENGTH_MAX and is_visible(word)


def may_have_been_word(word: str) -> bool:
    """Say whether an application that was stored may hold a word: once any character would do."""
    return 1 <= len(word) <= WORD_LENGTH_MAX


def read(
    catalogue: Catalogue,
    sent: Mapping[str, object],
    repeated: Sequence[str] = (),
    is_word: Callable[[str], bool] = may_be_word,
    products: Sequence[str] | None = (),
) -> Application:
    """Parse what was sent, or raise `InvalidApplication` with every broken rule at once.

    `products` are those that may be asked for, the default one first; None: any.
    `repeated` are names that stood more than once, of which a mapping keeps one value. Beyond
    `FAULTS_MAX` broken rules are only counted: a body has room for thousands.
    """
    problems = [
        FieldProblem(name, "duplicate_field", "stands more than once; send it once")
        for name in repeated[:FAULTS_MAX]
    ]
    unlisted = len(repeated) - len(problems)
    values: list[Value] = [None] * len(catalogue.fields)
    spelled: dict[int, str] = {}
    product = None
    if products is None or products:
        product = sent.get(PRODUCT_NAME)
        sent = {name: raw for name, raw in sent.items() if name != PRODUCT_NAME}
        problems += _problems_of_product(product, products or ())
    for name, raw in sent.items():
        place = catalogue.position.get(name)
        if place is None or catalogue.fields[place].use is Use.MEMORY:
            if len(problems) < FAULTS_MAX:
                suggest = len(problems) < _SUGGESTIONS_MAX
                problems.append(_unknown(catalogue, name, suggest=suggest))
            else:
                unlisted += 1
            continue
        if raw is None:
            continue
        field = catalogue.fields[place]
        value, problem = _parse(field, name, raw, is_word)
        if problem is not None:
            problems.append(problem)
        elif place in spelled and values[place] != value:
            problems.append(
                FieldProblem(
                    name, "conflicting_fields", f"differs from {spelled[place]}, the same field"
                )
            )
        else:
            values[place] = value
            spelled.setdefault(place, name)
    problems += _missing(catalogue, values, sent)
    if problems:
        raise InvalidApplication(problems, unlisted)
    aliased = any(catalogue.fields[place].name != name for place, name in spelled.items())
    if product is None and products:
        product = products[0]
    named = None if product is None else str(product)
    return Application(tuple(values), spelled if aliased else None, None, named)


def _problems_of_product(raw: object, products: Sequence[str]) -> list[FieldProblem]:
    if not products or raw is None or raw in products:
        return []
    code = "out_of_range" if isinstance(raw, str) else "wrong_type"
    return [FieldProblem(PRODUCT_NAME, code, f"must be one of {', '.join(products)}")]


def _unknown(catalogue: Catalogue, name: str, *, suggest: bool) -> FieldProblem:
    if fold(name) in catalogue.prohibited:
        return FieldProblem(name, "prohibited_field", "must never be sent for a credit decision")
    if name in memory.NAMES:
        return FieldProblem(name, "unknown_field", _REMEMBERED)
    if name == PRODUCT_NAME:
        return FieldProblem(name, "unknown_field", _NO_PRODUCTS)
    comparable = list(catalogue.position) if suggest and len(name) <= WORD_LENGTH_MAX else []
    near = difflib.get_close_matches(name, comparable, n=1, cutoff=0.6)
    advice = f"is not a field; did you mean {near[0]}?" if near else "is not a field"
    return FieldProblem(name, "unknown_field", advice)


def _missing(
    catalogue: Catalogue, values: list[Value], sent: Mapping[str, object]
) -> list[FieldProblem]:
    problems = []
    for place, field in enumerate(catalogue.fields):
        if not field.required or values[place] is not None:
            continue
        spellings = [name for name in (field.name, field.other_spelling) if name is not None]
        came = [name for name in spellings if name in sent]
        # A field that was sent with a bad value has its own problem; it is not missing as well.
        if any(sent[name] is not None for name in came):
            continue
        # A null is named as it was spelled.
        named = came[0] if came else field.name
        others = [name for name in spellings if name != named]
        detail = f"is required (or {others[0]})" if others else "is required"
        problems.append(FieldProblem(named, "missing_field", detail))
    return problems


def _parse(
    field: Field, name: str, raw: object, is_word: Callable[[str], bool]
) -> tuple[Value, FieldProblem | None]:
    if field.kind is Kind.WORD:
        return _parse_word(field, name, raw, is_word)
    if isinstance(raw, bool) or not isinstance(raw, int | float):
        return None, FieldProblem(name, "wrong_type", field.rule)
    number = _finite(raw)
    if number is None or not in_range(field, number):
        return None, FieldProblem(name, "out_of_range", field.rule)
    if field.kind is Kind.NUMBER:
        return number, None
    if not number.is_integer():
        return None, FieldProblem(name, "wrong_type", field.rule)
    return int(number), None


def _finite(raw: float) -> float | None:
    try:
        number = float(raw)
    except OverflowError:  # an integer with more than 308 digits
        return None
    return number if math.isfinite(number) else None


def _parse_word(
    field: Field, name: str, raw: object, is_word: Callable[[str], bool]
) -> tuple[Value, FieldProblem | None]:
    if not isinstance(raw, str):
        return None, FieldProblem(name, "wrong_type", field.rule)
    word = raw.strip()
    if not is_word(word):
        return None, FieldProblem(name, "out_of_range", field.rule)
    if field.use is Use.REFERENCE and looks_personal(word):
        return None, FieldProblem(name, "personal_identifier", _OPAQUE)
    return word, None


def looks_personal(reference: str) -> bool:
    """Say whether a reference is an e-mail address, a phone number or a national id."""
    return _LOOKS_PERSONAL.search(reference) is not None


def in_range(field: Field, number: float) -> bool:
    """Say whether a number keeps the range of its field."""
    return not (
        (field.minimum is not None and number < field.minimum)
        or (field.above is not None and number <= field.above)
        or (field.maximum is not None and number > field.maximum)
    )
