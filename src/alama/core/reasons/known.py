"""What the dictionary knows of a field: its codes, its name, and how its values are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alama.core.product import PRODUCT
from alama.core.reasons.dictionary import Shown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from alama.core.catalogue import Field
    from alama.core.reasons.dictionary import FieldCodes, Language


def is_ours(field: Field) -> bool:
    """Say whether a model means by the name of a field what we do."""
    if field.name not in PRODUCT.position:
        return False
    ours = PRODUCT.field(field.name)
    return (field.kind, field.unit, field.money) == (ours.kind, ours.unit, ours.money)


def codes_of(field: Field, language: Language) -> FieldCodes | None:
    """Give the codes of a field; None if it is not ours, or no model reads it."""
    return language.fields.get(field.name) if is_ours(field) else None


def shown_as(field: Field, language: Language) -> Shown:
    """Say how the values of a field are shown."""
    codes = codes_of(field, language)
    if codes is not None:
        return codes.shown
    return Shown.MONEY if field.money else Shown.NUMBER


def name_of(field: Field, spelled: str, language: Language) -> str:
    """Say what a field is; one that the dictionary does not know is quoted as it is spelled."""
    if is_ours(field) and field.name in language.names:
        return language.names[field.name]
    return language.forms.word.format(word=spelled)


def listed(fields: Iterable[Field], language: Language) -> str:
    """Name fields, one after another."""
    names = [name_of(field, field.name, language) for field in fields]
    if len(names) < 2:  # noqa: PLR2004  one needs no conjunction
        return "".join(names)
    *first, last = names
    return language.forms.both.format(first=", ".join(first), last=last)
