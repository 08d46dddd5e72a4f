"""What the dictionary knows of a field: its codes, its name, and how its values are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alama.core.product import PRODUCT
from alama.core.reasons.dictionary import Shown

if TYPE_CHECKING:
    from alama.core.catalogue import Field
    from alama.core.reasons.dictionary import FieldCodes, Language


def codes_of(field: Field, language: Language) -> FieldCodes | None:
    """Give the codes of a field; None if the model means something else by the name than we do."""
    codes = language.fields.get(field.name)
    if codes is None or field.name not in PRODUCT.position:
        return None
    ours = PRODUCT.field(field.name)
    same = (field.kind, field.unit, field.money) == (ours.kind, ours.unit, ours.money)
    return codes if same else None


def shown_as(field: Field, language: Language) -> Shown:
    """Say how the values of a field are shown."""
    codes = codes_of(field, language)
    if codes is not None:
        return codes.shown
    return Shown.MONEY if field.money else Shown.NUMBER


def name_of(field: Field, spelled: str, language: Language) -> str:
    """Say what a field is; one that the dictionary does not know is quoted as it is spelled."""
    if codes_of(field, language) is None:
        return language.forms.word.format(word=spelled)
    return language.names[field.name]
