"""Books that are open for lending, and live keys of those that are not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alama import wiring
from alama.core import document
from alama.files.models import builtin
from alama.service import keys
from alama.service.keys import USUAL_SCOPES

if TYPE_CHECKING:
    from alama.service.book import Book
    from alama.service.keys import Key, Scope
    from alama.service.ports import Clock, Registry


def open_live(registry: Registry, book: Book) -> None:
    """Let a live book be answered, by the built-in model as if it were the lender's own."""
    model, now_us = builtin(), wiring.wall_us()
    registry.keep_model(model.id, document.encode(model), now_us)
    registry.deploy(book, model.id, None, now_us)


def early_key(
    registry: Registry,
    clock: Clock,
    pepper: bytes,
    book: Book,
    scopes: tuple[Scope, ...] = USUAL_SCOPES,
) -> tuple[str, Key]:
    """A key as versions issued it that asked for no approved model; such keys go on working."""
    text, key = keys.make(clock(), pepper, book, scopes)
    registry.add_key(key)
    return text, key
