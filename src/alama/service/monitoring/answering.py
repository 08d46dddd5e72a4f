"""Which model answers in a book: its own, or the built-in one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alama.service.book import Mode

if TYPE_CHECKING:
    from collections.abc import Callable

    from alama.core.model import Model
    from alama.service.book import Book
    from alama.service.ports import Registry


def answering(registry: Registry, book: Book, builtin: Callable[[], Model]) -> str | None:
    """Give the id of the model that answers in a book now; None where none does.

    Without one of its own a test book is answered by the built-in model, and so is a live book in
    shadow, whose every decision is left to a person.
    """
    model_id, _ = registry.deployed(book) or (None, None)
    if model_id is None and (book.mode is Mode.TEST or registry.in_shadow(book)):
        return builtin().id
    return model_id
