"""The names that an expression may use: those of the fields that say something of an applicant."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Final

from alama.core.application import fold
from alama.core.catalogue import Use
from alama.core.errors import InvalidExpression
from alama.core.expressions.tokens import KEYWORDS
from alama.core.expressions.tree import NumberField, WordField

if TYPE_CHECKING:
    from alama.core.catalogue import Catalogue
    from alama.core.expressions.tokens import Token


_BEFORE_WORDS: Final = ("==", "!=")
_ANSWERS: Final = frozenset(
    (
        *("score", "tier", "decision", "limit", "recommended_limit", "apr"),
        *("probability", "default_probability", "probability_of_default"),
    )
)
"""What people look for among the fields, and Alama works out from them."""


def field_named(
    token: Token, before: Token | None, catalogue: Catalogue
) -> NumberField | WordField:
    """Give the field of this name, in either spelling, or raise `InvalidExpression`.

    The token before it tells whether a word may have been meant.
    """
    name = token.text
    place = catalogue.position.get(name)
    if place is None:
        raise _unknown(token, before, catalogue)
    field = catalogue.fields[place]
    if field.use is Use.REFERENCE:
        raise InvalidExpression(
            f"{name} names an applicant and is no fact about them",
            column=token.column,
            hint="decide by what is known of the applicant, not by who it is",
        )
    return NumberField(field, place) if field.numeric else WordField(field, place)


def _unknown(token: Token, before: Token | None, catalogue: Catalogue) -> InvalidExpression:
    name = token.text
    if fold(name) in catalogue.prohibited:
        return InvalidExpression(
            f"{name} must never be part of a credit decision",
            column=token.column,
            hint="decide by other fields",
        )
    if fold(name) in _ANSWERS:
        return InvalidExpression(
            f"{name} is what Alama answers, and no field of an application",
            column=token.column,
            hint="use the tiers for that: their score_min, decision and limit_max",
        )
    return InvalidExpression(
        f"{name} is not a field", column=token.column, hint=_advice(name, before, catalogue)
    )


def _advice(name: str, before: Token | None, catalogue: Catalogue) -> str:
    if fold(name) in KEYWORDS:
        return f"write {fold(name)} in small letters"
    facts = [field for field in catalogue.fields if field.use is not Use.REFERENCE]
    names = [field.name for field in facts]
    others = [field.other_spelling for field in facts if field.other_spelling is not None]
    near = difflib.get_close_matches(fold(name), names + others, n=1, cutoff=0.6)
    if near:
        return f"did you mean {near[0]}?"
    fields = f"the fields are {', '.join(names)}"
    may_be_word = before is not None and before.text in _BEFORE_WORDS
    return f'put a word in quotes ("{name}"); {fields}' if may_be_word else fields
