"""What can be wrong with a statement, as whoever sent it hears of it."""

from __future__ import annotations

from http import HTTPStatus

from alama.core.errors import AlamaError
from alama.platform.errors import Kind


class StatementUnreadable(AlamaError):
    """A file cannot be read as a statement."""

    kind = Kind(HTTPStatus.UNPROCESSABLE_ENTITY, "statement_unreadable", "Statement unreadable")


class MappingNeeded(AlamaError):
    """The columns of a table are not those of a format that is known."""

    kind = Kind(HTTPStatus.UNPROCESSABLE_ENTITY, "mapping_needed", "Mapping needed")
