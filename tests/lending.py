"""Books that are open for lending, and live keys of those that are not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alama.core import document
from alama.lenders import keys
from alama.lenders.records import Key
from alama.lenders.store import Registry
from alama.platform import clock as wiring
from alama.platform.book import USUAL_SCOPES, Book, Scope
from alama.platform.clock import Clock
from alama.platform.files.packaged import builtin

if TYPE_CHECKING:
    pass


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
