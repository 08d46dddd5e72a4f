"""The names that an expression may use: those of the fields that say something of an applicant."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from alama.core.application import fold
from alama.core.catalogue import Use
from alama.core.errors import InvalidExpression
from alama.core.expressions.tokens import KEYWORDS
from alama.core.expressions.tree import NumberField, WordField

if TYPE_CHECKING:
    from alama.core.catalogue import Catalogue
    from alama.core.expressions.tokens import Token


def field_named(token: Token, catalogue: Catalogue) -> NumberField | WordField:
    """Give the field of this name, in either spelling, or raise `InvalidExpression`."""
    name = token.text
    place = catalogue.position.get(name)
    if place is None:
        raise _unknown(token, catalogue)
    field = catalogue.fields[place]
    if field.use is Use.REFERENCE:
        raise InvalidExpression(
            f"{name} names an applicant and is no fact about them",
            column=token.column,
            hint="decide by what is known of the applicant, not by who it is",
        )
    return NumberField(field, place) if field.numeric else WordField(field, place)


def _unknown(token: Token, catalogue: Catalogue) -> InvalidExpression:
    name = token.text
    if fold(name) in catalogue.prohibited:
        return InvalidExpression(
            f"{name} must never be part of a credit decision",
            column=token.column,
            hint="decide by other fields",
        )
    return InvalidExpression(
        f"{name} is not a field", column=token.column, hint=_advice(name, catalogue)
    )


def _advice(name: str, catalogue: Catalogue) -> str:
    if fold(name) in KEYWORDS:
        return f"write {fold(name)} in small letters"
    facts = [field for field in catalogue.fields if field.use is not Use.REFERENCE]
    names = [field.name for field in facts]
    others = [field.other_spelling for field in facts if field.other_spelling is not None]
    near = difflib.get_close_matches(fold(name), names + others, n=1, cutoff=0.6)
    if near:
        return f"did you mean {near[0]}?"
    return f'put a word in quotes ("{name}"); the fields are {", ".join(names)}'
