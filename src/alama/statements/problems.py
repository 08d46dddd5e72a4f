"""What can be wrong with a statement, as whoever sent it hears of it."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from alama.core.errors import AlamaError
from alama.platform.errors import Kind
from alama.platform.http.exchange import INT32


class StatementUnreadable(AlamaError):
    """A file cannot be read as a statement."""

    kind = Kind(HTTPStatus.UNPROCESSABLE_ENTITY, "statement_unreadable", "Statement unreadable")


class MappingColumn(msgspec.Struct, frozen=True):
    """A column of a table, and what it is taken for."""

    name: Annotated[
        str, Meta(description="As its header has it; empty where that could be a value.")
    ]
    holds: Annotated[str, Meta(description="amount, day, word or nothing.")]
    read_as: Annotated[str | None, Meta(description="A name of `mapping`; null: not read.")]
    by: Annotated[
        str | None,
        Meta(
            description="How that was told: `name`; `likeness`, by another word for it; `unsure`, "
            "by a word that may mean something else; `values`, as the only column of days; "
            "`mapping`, as you say."
        ),
    ]


class MappingQuestion(msgspec.Struct, frozen=True):
    """What the table does not tell."""

    about: Annotated[str, Meta(description="A name of `mapping`.")]
    answers: Annotated[
        list[str], Meta(description="What it may be, as far as that is known: columns, or words.")
    ]


class MappingProposal(msgspec.Struct, frozen=True):
    """How a table may be read: to be looked at, mended, and sent back as `mapping`."""

    mapping: Annotated[
        dict[str, Any],  # a text or a list of texts: generated clients have no words for either
        Meta(description="For the part `mapping`, once somebody has looked at it."),
    ]
    columns: list[MappingColumn]
    open: Annotated[
        list[MappingQuestion],
        Meta(description="What has to be said beside it; empty: it is whole."),
    ]
    rows: Annotated[
        int, Meta(ge=0, description="Rows by this mapping, if whole.", extra_json_schema=INT32)
    ] = 0
    rows_read: Annotated[
        int, Meta(ge=0, description="Of these can be read by it.", extra_json_schema=INT32)
    ] = 0


class MappingNeeded(AlamaError):
    """The columns of a table are not those of a format that is known."""

    kind = Kind(HTTPStatus.UNPROCESSABLE_ENTITY, "mapping_needed", "Mapping needed")

    proposal: MappingProposal | None = None
    """How it may be read, where that can be told."""
