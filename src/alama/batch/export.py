"""A scorecard for other programs: JSON and CSV of the listing."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from alama.batch.listing import Listing

CSV_COLUMNS: Final = (
    "feature",
    "band",
    "at_least",
    "below",
    "words",
    "with_feature",
    "with_band",
    "points",
    "share",
    "default_rate",
)


def as_json(listing: Listing) -> str:
    """Give the listing as a JSON document."""
    return msgspec.json.format(msgspec.json.encode(listing), indent=2).decode() + "\n"


def as_csv(listing: Listing) -> str:
    """Give one row a band, then one row a cell of each pair; the first row is the base score."""
    text = io.StringIO()
    rows = csv.DictWriter(text, CSV_COLUMNS, lineterminator="\n")
    rows.writeheader()
    rows.writerow({"feature": "base_score", "points": repr(listing.base_score)})
    for feature in listing.features:
        for band in feature.bands:
            rows.writerow(
                {
                    "feature": feature.feature,
                    "band": band.band,
                    "at_least": band.at_least,
                    "below": band.below,
                    "words": "|".join(band.words),
                    "points": band.points,
                    "share": band.share,
                    "default_rate": band.default_rate,
                }
            )
    for pair in listing.pairs:
        for cell in pair.cells:
            rows.writerow(
                {
                    "feature": pair.feature,
                    "band": cell.band,
                    "with_feature": pair.with_feature,
                    "with_band": cell.with_band,
                    "points": cell.points,
                    "share": cell.share,
                }
            )
    return text.getvalue()
