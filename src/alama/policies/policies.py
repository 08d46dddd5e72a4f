"""Policies of lenders: which one answers in a book, since when, and who said so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from alama.core import model as models
from alama.core.errors import InvalidPolicy
from alama.core.lending import draft, policy_text
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.model import Model, ReadyModel
from alama.core.own_fields import answering, reading
from alama.core.product import PRODUCT
from alama.lenders.own_fields import own_fields_in_force
from alama.lenders.records import Deployment, Pause, Signed, UnknownPolicy
from alama.platform.errors import InvalidName

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from alama.core.lending.policy import Policy
    from alama.core.own_fields import OwnFields
    from alama.lenders.store import Registry
    from alama.platform.book import Book
    from alama.platform.clock import Clock


DEFAULT: Final = "default"
"""How a person names the policy of a lender that has none of its own."""

TEXT_MAX: Final = 200
_PREFIX: Final = "sha256:"
_PREFIX_DIGITS_MIN: Final = 4


def text_in_force(registry: Registry, book: Book) -> bytes:
    """Give the text of the policy that answers in a book."""
    deployed = registry.deployed(book)
    return text_by_id(registry, book, None if deployed is None else deployed[1])


def text_by_id(registry: Registry, book: Book, policy_id: str | None) -> bytes:
    """Give the text of a policy, or raise `InvalidPolicy` if it is not what was stored.

    None stands for the default of the lender's currency.
    """
    if policy_id is None:
        return draft.default_text(registry.lender(book.lender).currency)
    text = registry.policy(policy_id)
    policy_text.decode(text, policy_id)
    return text


def policy_by_id(registry: Registry, book: Book, policy_id: str | None) -> Policy:
    """Give a policy that answered, as `text_by_id` gives its text."""
    text = text_by_id(registry, book, policy_id)
    return policy_text.read(text) if policy_id is None else policy_text.decode(text, policy_id)


def activate(
    registry: Registry, book: Book, text: bytes, signed: Signed, builtin: Callable[[], Model]
) -> Policy:
    """Let a policy answer in a book from now on, or raise and change nothing.

    It must be sound, in the lender's currency, and fit the model that answers there.
    """
    check_signature(signed)
    own = own_fields_in_force(registry, book.lender)
    policy = policy_text.read(text, answering(PRODUCT, own))
    require_fit(registry, book, policy, builtin)
    registry.keep_policy(policy.id, text, signed.at_us)
    registry.deploy_policy(book, policy.id, signed)
    return policy


def check_signature(signed: Signed) -> None:
    """Raise `InvalidName` where who signs, or why, is not said on one line."""
    for said in (signed.by, signed.note):
        if said is not None and not _is_line(said):
            raise InvalidName(f"a name or a note has 1 to {TEXT_MAX} characters, all on one line")


def _is_line(text: str) -> bool:
    return text.isprintable() and 1 <= len(text.strip()) <= TEXT_MAX


def require_fit(
    registry: Registry,
    book: Book,
    policy: Policy,
    builtin: Callable[[], Model],
    own: OwnFields | None = None,
) -> ReadyPolicy:
    """Lay a policy out for the model of a book, or raise `InvalidPolicy` and say why not.

    Without own fields those that the lender has in force are meant.
    """
    currency = registry.lender(book.lender).currency
    if policy.currency != currency:
        raise InvalidPolicy(
            f"the policy lends in {policy.currency}, but {book.lender} lends in {currency}",
            hint=f"`alama policy init --currency {currency}` drafts one in {currency}",
        )
    deployed = registry.deployed(book)
    model_id = None if deployed is None else deployed[0]
    # Before its onboarding a live book has no model: then the built-in one stands in for it.
    stored = None if model_id is None else models.stored(registry.model(model_id), model_id)
    model = stored or builtin()
    declared = own_fields_in_force(registry, book.lender) if own is None else own
    return ReadyPolicy(policy, ReadyModel(reading(model, declared), policy.currency))


def reactivate(
    registry: Registry,
    book: Book,
    reference: str,
    signed: Signed,
    builtin: Callable[[], Model],
) -> None:
    """Go back to a policy that answered in this book before, or to the default one."""
    check_signature(signed)
    policy_id = recall(registry, book, reference)
    policy = policy_by_id(registry, book, policy_id)
    # The model may have changed since: it must fit that one.
    require_fit(registry, book, policy, builtin)
    registry.deploy_policy(book, policy_id, signed)


def recall(registry: Registry, book: Book, reference: str) -> str | None:
    """Give the id of a policy that answered in this book, by its first digits.

    None stands for the default one, be it named by its digits or by that word.
    """
    if reference == DEFAULT:
        return None
    default_id = policy_text.read(text_by_id(registry, book, None)).id
    steps = registry.deployments(book)
    known = {step.policy_id for step in steps if step.policy_id is not None}
    found = _named(reference, sorted(known | {default_id}))
    return None if found == default_id else found


def text_of(registry: Registry, book: Book, reference: str) -> bytes:
    """Give the text of a policy that answered in this book; named as `recall` wants it."""
    return text_by_id(registry, book, recall(registry, book, reference))


def history(registry: Registry, book: Book) -> list[Deployment]:
    """Give the deployments that changed the policy of a book, oldest first."""
    steps: list[Deployment] = []
    before: str | None = None
    for step in registry.deployments(book):
        if step.policy_id != before:
            steps.append(step)
        before = step.policy_id
    return steps


def _named(reference: str, known: Sequence[str]) -> str:
    digits = reference.removeprefix(_PREFIX)
    found = [one for one in known if one.removeprefix(_PREFIX).startswith(digits)]
    if not found:
        raise UnknownPolicy(reference)
    if len(digits) < _PREFIX_DIGITS_MIN:
        raise InvalidName(
            f"{digits or 'nothing'} is too short to name a policy",
            hint=f"give the first {_PREFIX_DIGITS_MIN} digits of its id or more",
        )
    if len(found) > 1:
        raise InvalidName(
            f"{len(found)} policies that answered here begin with {digits}",
            hint="give more digits; `alama policy history` shows twelve",
        )
    return found[0]


def pause(registry: Registry, clock: Clock, book: Book, reason: str) -> Pause:
    """Leave every decision of a book to a person from now on; a pause that stands goes on."""
    registry.lender(book.lender)
    if not _is_line(reason):
        raise InvalidName(f"a reason has 1 to {TEXT_MAX} characters, all on one line")
    registry.pause(book, Pause(clock(), reason.strip()))
    paused = registry.pause_of(book)
    assert paused is not None
    return paused
