"""A scorecard for other programs: JSON and CSV of the listing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from alama.files import cells

if TYPE_CHECKING:
    from collections.abc import Iterator

    from alama.batch.listing import Band, Listing, PairRow

_SIDE: Final = ("at_least", "below", "words", "numbers", "other", "not_given")

CSV_COLUMNS: Final = (
    "model",
    "card",
    "currency",
    "feature",
    "band",
    *_SIDE,
    "with_feature",
    "with_band",
    *(f"with_{name}" for name in _SIDE),
    "points",
    "share",
    "default_rate",
)


def as_json(listing: Listing) -> str:
    """Give the listing as a JSON document."""
    return msgspec.json.format(msgspec.json.encode(listing), indent=2).decode() + "\n"


def as_csv(listing: Listing) -> str:
    """Give one row a band, then one row a cell of each pair; the first row is the base score.

    Each row names the model, the card and the currency, so that files can be put together.
    """
    return cells.as_csv(CSV_COLUMNS, _rows(listing))


def _rows(listing: Listing) -> Iterator[dict[str, object]]:
    of_all = {"model": listing.model, "card": listing.card, "currency": listing.currency}
    yield {**of_all, "feature": "base_score", "points": repr(listing.base_score)}
    for feature in listing.features:
        for band in feature.bands:
            yield {**of_all, "feature": feature.feature, **_cells(band)}
    for pair in listing.pairs:
        names = {"feature": pair.feature, "with_feature": pair.with_feature}
        for cell in pair.cells:
            yield {**of_all, **names, **_cells(cell)}


def _cells(row: Band | PairRow) -> dict[str, object]:
    values = {name: getattr(row, name) for name in row.__struct_fields__ if name in CSV_COLUMNS}
    return {name: _cell(value) for name, value in values.items()}


def _cell(value: object) -> object:
    """Write words with bars between them, and yes or no as JSON has it."""
    match value:
        case bool():
            return "true" if value else "false"
        case tuple():
            return "|".join(value)
        case _:
            return value
