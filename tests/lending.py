"""Books that are open for lending."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alama import wiring
from alama.core import document
from alama.files.models import builtin

if TYPE_CHECKING:
    from alama.service.book import Book
    from alama.service.ports import Registry


def open_live(registry: Registry, book: Book) -> None:
    """Let a live book be answered, by the built-in model as if it were the lender's own."""
    model, now_us = builtin(), wiring.now_us()
    registry.keep_model(model.id, document.encode(model), now_us)
    registry.deploy(book, model.id, None, now_us)
