"""A scorecard as rows that a credit officer can read, and for other programs as JSON and CSV."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from alama.core.catalogue import Field, Kind
from alama.core.model import Model, money_factor
from alama.core.scorecard import cuts_in
from alama.core.tables import MISSING, Card, Feature, Pair, neighbours
from alama.platform.files import cells as promise

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


NOT_GIVEN: Final = "not given"
OTHER: Final = "other"
ANY: Final = "any"


class Band(msgspec.Struct, frozen=True):
    """One row of a feature's table: `numbers`, or `words`, or any `other` word, or `not_given`.

    Numbers of the band are at least `at_least` and below `below`, None at the open ends.
    """

    band: str
    at_least: float | None
    below: float | None
    words: tuple[str, ...]
    points: float
    share: float
    default_rate: float | None
    numbers: bool
    other: bool
    not_given: bool


class FeatureRows(msgspec.Struct, frozen=True):
    """The table of a feature. `importance` is the mean absolute points of the population."""

    feature: str
    meaning: str
    unit: str
    required: bool
    importance: float
    bands: tuple[Band, ...]


class PairRow(msgspec.Struct, frozen=True):
    """One cell of a pair: what both features together add, half of it to each.

    A side may be several of what a band is one of: some words, any other and not given.
    """

    band: str
    with_band: str
    points: float
    share: float
    at_least: float | None
    below: float | None
    words: tuple[str, ...]
    numbers: bool
    other: bool
    not_given: bool
    with_at_least: float | None
    with_below: float | None
    with_words: tuple[str, ...]
    with_numbers: bool
    with_other: bool
    with_not_given: bool


class PairRows(msgspec.Struct, frozen=True):
    """The table of two features together."""

    feature: str
    with_feature: str
    importance: float
    cells: tuple[PairRow, ...]


class Listing(msgspec.Struct, frozen=True):
    """A whole card, the most important features and pairs first. Money is in `currency`."""

    model: str
    name: str
    card: str
    currency: str | None
    base_score: float
    features: tuple[FeatureRows, ...]
    pairs: tuple[PairRows, ...]


def listing(model: Model, card: Card, currency: str | None = None) -> Listing:
    """Put a card into words; `currency` None means the model's own."""
    factor = money_factor(model, currency)
    shown_currency = currency or (model.money.currency if model.money else None)
    labellers = [
        Labels(
            feature,
            model.catalogue.field(feature.field),
            cuts_in(feature, model.catalogue, factor),
        )
        for feature in card.features
    ]
    features = [_feature_rows(labels, shown_currency) for labels in labellers]
    pairs = [_pair_rows(pair, labellers[pair.first], labellers[pair.second]) for pair in card.pairs]
    return Listing(
        model=model.id,
        name=model.name,
        card=card.name,
        currency=shown_currency,
        base_score=card.base,
        features=tuple(sorted(features, key=lambda rows: -rows.importance)),
        pairs=tuple(sorted(pairs, key=lambda rows: -rows.importance)),
    )


class Side(NamedTuple):
    """What some slots of a feature hold, for a program."""

    at_least: float | None
    below: float | None
    words: tuple[str, ...]
    numbers: bool
    other: bool
    not_given: bool


class Labels:
    """Words for the slots of one feature, with its cuts in the currency shown."""

    def __init__(self, feature: Feature, field: Field, cuts: Sequence[float]) -> None:
        self.feature = feature
        self.field = field
        self.cuts = cuts

    def bounds(self, first: int, last: int) -> tuple[float | None, float | None]:
        """Give the least value of a run of bands and the first value beyond it."""
        low = self.cuts[first - 2] if first > 1 else None
        high = self.cuts[last - 1] if last <= len(self.cuts) else None
        return low, high

    def of(self, slots: Sequence[int]) -> str:
        """Say what some slots hold together: "6 to 11", "under 20,000, not given"."""
        known = sorted(slot for slot in slots if slot != MISSING)
        if self.feature.words:
            parts = [", ".join(self.words(slot)) or OTHER for slot in known]
        else:
            parts = [self._run(*self.bounds(first, last)) for first, last in neighbours(known)]
        if MISSING in slots:
            parts.append(NOT_GIVEN)
        return ", ".join(parts)

    def side(self, slots: Sequence[int]) -> Side:
        """Say it for a program; slots of numbers must be neighbours."""
        known = sorted(slot for slot in slots if slot != MISSING)
        groups = self.feature.words
        ranged = bool(known) and not groups
        low, high = self.bounds(known[0], known[-1]) if ranged else (None, None)
        return Side(
            at_least=low,
            below=high,
            words=tuple(word for slot in known for word in self.words(slot)),
            numbers=ranged,
            other=bool(groups) and len(groups) + 1 in known,
            not_given=MISSING in slots,
        )

    def words(self, slot: int) -> tuple[str, ...]:
        """Give the words of a slot; none for numbers, for missing and for other."""
        groups = self.feature.words
        return groups[slot - 1] if 1 <= slot <= len(groups) else ()

    def _run(self, low: float | None, high: float | None) -> str:
        if low is None and high is None:
            return ANY
        if self.field.kind is Kind.INTEGER:
            return self._whole(low, high)
        return _range(low, high)

    def _whole(self, low: float | None, high: float | None) -> str:
        """Word a range of whole numbers by the first and the last of them."""
        first = math.ceil(low) if low is not None else self.field.minimum
        last = math.ceil(high) - 1 if high is not None else self.field.maximum
        if first is not None and first == last:
            return number(first)
        if low is None or high is None:
            return _range(low and math.ceil(low), high and math.ceil(high))
        if first is None or last is None or first > last:
            return _range(low, high)  # no whole number falls between such cuts
        return f"{number(first)} to {number(last)}"


def number(value: float) -> str:
    """Write a number with the digits it has and no more: 0.35, 12, 20,000."""
    return f"{value:,.12g}"


def _range(low: float | None, high: float | None) -> str:
    if low is None:
        assert high is not None
        return f"under {number(high)}"
    if high is None:
        return f"{number(low)} and more"
    return f"{number(low)} to under {number(high)}"


def _feature_rows(labels: Labels, currency: str | None) -> FeatureRows:
    feature = labels.feature
    bands = []
    for slot, (points, share, rate) in enumerate(
        zip(feature.main, feature.shares, feature.default_rates, strict=True)
    ):
        side = labels.side([slot])._asdict()
        bands.append(Band(labels.of([slot]), points=points, share=share, default_rate=rate, **side))
    field = labels.field
    return FeatureRows(
        feature=field.name,
        meaning=field.meaning,
        unit=field.unit.replace("money", currency) if currency else field.unit,
        required=field.required,
        importance=sum(band.share * abs(band.points) for band in bands),
        bands=_in_reading_order(bands, feature),
    )


def _in_reading_order(bands: Sequence[Band], feature: Feature) -> tuple[Band, ...]:
    """Put missing last, as the exception it is; words have no order but that of their points."""
    missing, *known = bands
    if feature.words:
        *named, other = known
        known = [*sorted(named, key=lambda band: -band.points), other]
    return (*known, missing)


def _pair_rows(pair: Pair, first: Labels, second: Labels) -> PairRows:
    cells = tuple(
        _cell(first, rows, second, columns, 2.0 * pair.halves[row][column])
        for row, rows in _sides(pair.rows, first.feature)
        for column, columns in _sides(pair.columns, second.feature)
    )
    return PairRows(
        feature=first.field.name,
        with_feature=second.field.name,
        importance=sum(cell.share * abs(cell.points) for cell in cells),
        cells=cells,
    )


def _cell(
    first: Labels, rows: Sequence[int], second: Labels, columns: Sequence[int], points: float
) -> PairRow:
    side, other_side = first.side(rows), second.side(columns)
    return PairRow(
        band=first.of(rows),
        with_band=second.of(columns),
        points=points,
        share=sum(first.feature.shares[slot] for slot in rows)
        * sum(second.feature.shares[slot] for slot in columns),
        **side._asdict(),
        **{f"with_{name}": value for name, value in other_side._asdict().items()},
    )


def _sides(places: Sequence[int], feature: Feature) -> list[tuple[int, list[int]]]:
    """Give the slots of each row (or column) that has any, missing last.

    Numbers that are no neighbours become sides of their own: each is one range.
    """
    found: dict[int, list[int]] = {}
    for slot in [*range(1, len(places)), MISSING]:
        found.setdefault(places[slot], []).append(slot)
    sides: list[tuple[int, list[int]]] = []
    for place, slots in found.items():
        known = [slot for slot in slots if slot != MISSING]
        runs = [known] if feature.words else [[*range(a, b + 1)] for a, b in neighbours(known)]
        runs = runs or [[]]
        if MISSING in slots:
            runs[-1] = [*runs[-1], MISSING]
        sides += [(place, run) for run in runs]
    return sides


# ------------------------------------------------------------------------------- for other programs


CSV_COLUMNS: Final = (
    "model",
    "card",
    "currency",
    "feature",
    "band",
    *Side._fields,
    "with_feature",
    "with_band",
    *(f"with_{name}" for name in Side._fields),
    "points",
    "share",
    "default_rate",
)


def as_json(listing: Listing) -> str:
    return msgspec.json.format(msgspec.json.encode(listing), indent=2).decode() + "\n"


def as_csv(listing: Listing) -> str:
    """Give one row a band, then one row a cell of each pair; the first row is the base score.

    Each row names the model, the card and the currency, so that files can be put together.
    """
    return promise.as_csv(CSV_COLUMNS, _rows(listing))


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
    return {name: _csv_cell(value) for name, value in values.items()}


def _csv_cell(value: object) -> object:
    """Write words with bars between them, and yes or no as JSON has it."""
    match value:
        case bool():
            return "true" if value else "false"
        case tuple():
            return "|".join(value)
        case _:
            return value
