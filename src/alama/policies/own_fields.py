"""A lender's own fields put in force: signed like a policy, and never past what reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from alama.core import own_fields
from alama.core.errors import InvalidFields, InvalidModel, InvalidPolicy
from alama.lenders.own_fields import own_fields_by_id
from alama.lenders.records import UnknownFields
from alama.platform.book import Book, Mode
from alama.platform.errors import InvalidName
from alama.policies import policies

if TYPE_CHECKING:
    from collections.abc import Callable

    from alama.core.model import Model
    from alama.core.own_fields import OwnFields
    from alama.lenders.records import Signed
    from alama.lenders.store import Registry

_PREFIX: Final = "sha256:"
_DIGITS_MIN: Final = 4


def activate(
    registry: Registry, lender: str, text: bytes, signed: Signed, builtin: Callable[[], Model]
) -> OwnFields:
    """Let a lender send these fields from now on, or raise and change nothing.

    What answers the lender in either mode must be able to go on: no model may read a field that is
    taken away or has become another, and no rule.
    """
    policies.check_signature(signed)
    registry.lender(lender)
    own = own_fields.read(text)
    for mode in Mode:
        _require_fit(registry, Book(lender, mode), own, builtin)
    registry.activate_fields(lender, own.id, text, signed)
    return own


def text_of(registry: Registry, lender: str, reference: str) -> bytes:
    """Give the text of fields that were ever in force, by the first digits of their id."""
    digits = reference.removeprefix(_PREFIX)
    known = {step.fields_id for step in registry.field_activations(lender)}
    found = [one for one in sorted(known) if one.removeprefix(_PREFIX).startswith(digits)]
    if not found:
        raise UnknownFields(reference)
    if len(digits) < _DIGITS_MIN or len(found) > 1:
        raise InvalidName(
            f"{digits or 'nothing'} does not name one catalogue",
            hint=f"give {_DIGITS_MIN} digits of its id or more",
        )
    own_fields_by_id(registry, lender, found[0])
    return registry.fields(lender, found[0])


def _require_fit(
    registry: Registry, book: Book, own: OwnFields, builtin: Callable[[], Model]
) -> None:
    deployed = registry.deployed(book)
    try:
        policy = policies.policy_by_id(registry, book, None if deployed is None else deployed[1])
        policies.require_fit(registry, book, policy, builtin, own)
    except (InvalidModel, InvalidPolicy) as error:
        raise InvalidFields(
            f"what answers {book.lender} in {book.mode} mode could not go on: {error}",
            hint=error.hint,
        ) from error
