"""Own fields of a lender, for tests: three of them, and texts that differ in one thing."""

from __future__ import annotations

from alama.core import own_fields
from alama.core.model import Model
from alama.core.own_fields import OwnFields, answering
from alama.core.product import PRODUCT
from alama.policies.fields_cli import DRAFT
from tests.factories import a_model

TEXT = DRAFT.encode()
THREE = ("bureau_score", "earlier_loans", "branch")


def declared(*changes: tuple[str, str]) -> bytes:
    """Give the text of the three fields with something else in the place of what it says."""
    text = DRAFT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text.encode()


def without(name: str) -> bytes:
    """Give the text without one of the three."""
    head, *fields = DRAFT.split("[[fields]]\n")
    return "[[fields]]\n".join([head, *(f for f in fields if f'name = "{name}"' not in f)]).encode()


def the_three() -> OwnFields:
    return own_fields.read(TEXT)


def a_model_of(own: OwnFields) -> Model:
    """Give a sound model that reads every field of the product and the own ones.

    Of this seed a low score at the bureau costs the most.
    """
    return a_model(45, catalogue=answering(PRODUCT, own))
