"""Reviews as a verification reads them: each beside its score, whatever somebody has put there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import and_, select

from alama.service.audit.reviews import ReviewColumns, ReviewRow
from alama.service.records import ApplicantKey
from alama.storage import schema

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection, RowMapping, Select

_TABLE, _SCORES, _KEYS = schema.reviews, schema.scores, schema.applicant_keys
_PLACE: Final = tuple(_TABLE.primary_key.columns)
_COPIES: Final = {
    "score_us": "created_us",
    "model_id": "model_id",
    "score": "score",
    "tier": "tier",
    "default_probability": "default_probability",
    "given_decision": "decision",
}
"""Columns of a review that repeat one of its score, and which."""

_NAMES: Final = ("request_id", "applicant_key_id")
_OF_SCORE: Final = "of_score_"


def review_rows(connection: Connection, at_once: int) -> Iterator[ReviewRow]:
    """Give all reviews, some at a time, in the order of their keys."""
    rows = connection.execute(_query().execution_options(yield_per=at_once))
    return map(_review_row, rows.mappings())


def _query() -> Select[Any]:
    same = and_(*(_SCORES.c[column.name] == column for column in _PLACE))
    beside = _TABLE.outerjoin(_SCORES, same).outerjoin(
        _KEYS, _KEYS.c.id == _TABLE.c.applicant_key_id
    )
    return (
        select(
            *_TABLE.c,
            *(_SCORES.c[name].label(_OF_SCORE + name) for name in _COPIES.values()),
            *(_SCORES.c[name].label(_OF_SCORE + name) for name in _NAMES),
            _KEYS.c.id.label("found_key_id"),
            _KEYS.c.lender_key_id,
            _KEYS.c.wrapped,
            _KEYS.c.erased_us,
        )
        .select_from(beside)
        .order_by(*_PLACE)
    )


def _review_row(found: RowMapping) -> ReviewRow:
    key_id, note = found["applicant_key_id"], found["note"]
    applicant = None
    if key_id is not None:
        wrapped, erased_us = found["wrapped"], found["erased_us"]
        whole = wrapped if isinstance(wrapped, bytes) else None
        applicant = ApplicantKey(str(key_id), str(found["lender_key_id"]), whole, erased_us)
    return ReviewRow(
        str(found["lender"]),
        str(found["mode"]),
        str(found["request_id"]),
        ReviewColumns._make(found[name] for name in ReviewColumns._fields),
        str(found["reason"]),
        () if found[f"{_OF_SCORE}request_id"] is None else tuple(_strange(found)),
        note if isinstance(note, bytes) else b"",
        None if found["seal_key_id"] is None else str(found["seal_key_id"]),
        applicant,
    )


def _strange(found: RowMapping) -> Iterator[str]:
    """Name the columns in which a review is not what its score is."""
    for name, of_score in _COPIES.items():
        if found[name] != found[_OF_SCORE + of_score]:
            yield name
    key_id, of_score = found["applicant_key_id"], found[f"{_OF_SCORE}applicant_key_id"]
    is_there = key_id is None or found["found_key_id"] is not None
    if not is_there or key_id != of_score:
        yield "applicant_key_id"
    if key_id is not None and found["seal_key_id"] is not None:
        yield "seal_key_id"
