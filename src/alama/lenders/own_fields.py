"""The own fields of a lender, as they were declared: those in force, and any that ever were."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alama.core import own_fields
from alama.core.memory import with_memory
from alama.core.own_fields import NOTHING, OwnFields, answering
from alama.core.product import PRODUCT

if TYPE_CHECKING:
    from alama.core.catalogue import Catalogue
    from alama.lenders.store import Registry


def own_fields_by_id(registry: Registry, lender: str, fields_id: str | None) -> OwnFields:
    """Give the own fields of this id, or raise `InvalidFields` if they are not what was stored."""
    if fields_id is None:
        return NOTHING
    return own_fields.decode(registry.fields(lender, fields_id), fields_id)


def own_fields_in_force(registry: Registry, lender: str) -> OwnFields:
    """Give what a lender may send beside the product's fields at this moment."""
    return own_fields_by_id(registry, lender, registry.fields_in_force(lender))


def learnable(registry: Registry, lender: str) -> Catalogue:
    """Give what a model of a lender may learn: what may be sent to it, and what is remembered."""
    return with_memory(answering(PRODUCT, own_fields_in_force(registry, lender)))


def own_fields_ever(registry: Registry, lender: str) -> OwnFields:
    """Give all that a lender ever declared, of each name the newest: to read what was stored.

    It has no id, for nobody ever declared it so.
    """
    known = {
        field.name: field
        for step in registry.field_activations(lender)
        for field in own_fields_by_id(registry, lender, step.fields_id).fields
    }
    return OwnFields(own_fields.SCHEMA, "", "", "", tuple(known.values()))
