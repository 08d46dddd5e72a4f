"""Random but sound models, and rows for them: what tests use where no trainer is needed.

Everything comes from a NumPy generator or a Hypothesis draw, so a failing case can be had again.
Cells lie on the grid of `tables`, directed features are monotone by construction, and purified
cards are centred against their own shares to within a few grid steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np
from hypothesis import strategies as st

from alama.core import calibration, kernel, product, tables
from alama.core import model as models
from alama.core.application import Value
from alama.core.catalogue import Catalogue, Direction, Field, Kind
from alama.core.kernel import Column, Words
from alama.core.model import SCHEMA, Lineage, Model, Money, OutcomeDefinition, ReadyModel, Reference
from alama.core.tables import Card, Feature, Pair
from alama.core.units import LogOdds, Points
from alama.platform.files.packaged import builtin
from alama.training.dataset import Dataset

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray


WORDS: Final = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta")
UNSEEN_WORD: Final = "never met in training"

Rng = np.random.Generator


@dataclass(frozen=True, slots=True)
class Case:
    """A card and the catalogue it reads."""

    catalogue: Catalogue
    card: Card


# ----------------------------------------------------------------------------------- cards


def random_card(
    rng: Rng,
    catalogue: Catalogue,
    *,
    name: str = "full",
    bands_max: int = 8,
    pairs: int = 3,
    points_scale: float = 15.0,
    purified: bool = True,
) -> Card:
    """Give a sound card on all model fields of a catalogue.

    `points_scale` is the spread of the mains in points; pairs have a third of it. A purified card
    has mains of mean zero, and pairs of mean zero along both sides, against its own shares.
    """
    fields = catalogue.model_fields
    features = [_random_feature(rng, field, bands_max, points_scale) for field in fields]
    possible = [(i, j) for j in range(len(fields)) for i in range(j)]
    chosen = rng.permutation(len(possible))[:pairs]
    tabled = tuple(
        _random_pair(rng, features, possible[place], points_scale / 3.0, purified=purified)
        for place in sorted(chosen)
    )
    base = calibration.points_of_log_odds(LogOdds(-2.2))
    features = [
        _directed(feature, place, tabled, field.direction.sign)
        for place, (feature, field) in enumerate(zip(features, fields, strict=True))
    ]
    if purified:
        features = [_centred(feature) for feature in features]
    card = Card(name, tables.on_grid(base), tuple(features), tabled)
    assert not list(tables.faults(card))
    assert not list(tables.monotone_breaks(card, catalogue))
    return card


def _random_feature(rng: Rng, field: Field, bands_max: int, scale: float) -> Feature:
    bands = int(rng.integers(2, max(bands_max, 2) + 1))
    shares = rng.dirichlet([0.3, *[3.0] * bands, 0.3])
    if field.required:
        shares[0] = 0.0
    cuts: tuple[float, ...] = ()
    words: tuple[tuple[str, ...], ...] = ()
    if field.numeric:
        cuts = _random_cuts(rng, field, bands - 1)
        slots = len(cuts) + 2
    else:
        words = _random_groups(rng, bands)
        slots = len(words) + 2
    shares = shares[:slots] / shares[:slots].sum()
    steps = rng.normal(0.0, scale, slots)
    main = np.sort(steps) if field.direction is not Direction.FREE else steps
    rates = np.clip(0.12 - main / 400.0, 0.005, 0.9)
    return Feature(
        field=field.name,
        main=tuple(tables.on_grid(float(cell)) for cell in main),
        shares=tuple(float(share) for share in shares),
        default_rates=tuple(
            float(rate) if share else None for rate, share in zip(rates, shares, strict=True)
        ),
        cuts=cuts,
        words=words,
        lowest=_bounds(field)[0] if field.numeric else None,
        highest=_bounds(field)[1] if field.numeric else None,
    )


def _random_cuts(rng: Rng, field: Field, count: int) -> tuple[float, ...]:
    low, high = _bounds(field)
    drawn = low + (high - low) * rng.random(count) ** (2.0 if high - low > 2.0 else 1.0)
    rounded = {_two_figures(float(cut)) for cut in drawn}
    if field.kind is Kind.INTEGER:
        rounded = {float(round(cut)) for cut in rounded}
    return tuple(sorted(cut for cut in rounded if low < cut < high))


def _two_figures(number: float) -> float:
    return float(f"{number:.2g}")


def _bounds(field: Field) -> tuple[float, float]:
    """Give a range that values of the field could plausibly have."""
    low = field.minimum if field.minimum is not None else 0.0
    ceiling = 60_000.0 if field.money else 120.0
    high = min(field.maximum if field.maximum is not None else ceiling, low + ceiling)
    return low, high


def _random_groups(rng: Rng, count: int) -> tuple[tuple[str, ...], ...]:
    spread: list[list[str]] = [[] for _ in range(min(count, len(WORDS)))]
    for place, word in enumerate(rng.permutation(WORDS)):
        spread[place % len(spread)].append(str(word))
    return tuple(tuple(sorted(group)) for group in spread)


def _random_pair(
    rng: Rng,
    features: Sequence[Feature],
    places: tuple[int, int],
    scale: float,
    *,
    purified: bool,
) -> Pair:
    first, second = places
    rows, columns = (_random_bands(rng, len(features[place].main)) for place in (first, second))
    halves = rng.normal(0.0, scale / 2.0, (rows.max() + 1, columns.max() + 1))
    if purified:
        row_shares = np.bincount(rows, weights=features[first].shares)
        column_shares = np.bincount(columns, weights=features[second].shares)
        halves = halves - (halves @ column_shares)[:, None]
        halves = halves - row_shares @ halves
    return Pair(
        first,
        second,
        tuple(rows.tolist()),
        tuple(columns.tolist()),
        tuple(tuple(tables.on_grid(float(cell)) for cell in row) for row in halves),
    )


def _random_bands(rng: Rng, slots: int) -> NDArray[np.intp]:
    """Merge neighbouring slots at random; the missing slot stays alone."""
    new_band = rng.random(slots - 1) < 0.6
    return np.concatenate(([0], 1 + np.cumsum(new_band) - new_band[0])).astype(np.intp)


def _directed(feature: Feature, place: int, pairs: Sequence[Pair], sign: int) -> Feature:
    """Lift each step that the worst of its pairs could turn round; exact on the grid."""
    if sign == 0:
        return feature
    known = sorted(feature.main[1:], reverse=sign < 0)
    lifted = [known[0]]
    for slot in range(1, len(known)):
        worst = sum(tables._worst_gain(pair, place, slot, sign) for pair in pairs)
        step = max(sign * (known[slot] - known[slot - 1]), -worst)
        lifted.append(lifted[-1] + sign * step)
    return msgspec.structs.replace(feature, main=(feature.main[0], *lifted))


def _centred(feature: Feature) -> Feature:
    mean = tables.on_grid(float(np.dot(feature.main, feature.shares)))
    return msgspec.structs.replace(feature, main=tuple(cell - mean for cell in feature.main))


# ----------------------------------------------------------------------------------- strategies


@st.composite
def cases(
    draw: st.DrawFn, *, features_max: int = 5, bands_max: int = 6, purified: bool = True
) -> Case:
    """Draw a catalogue of numbers and words, some of them directed, and a card on it."""
    kinds = draw(st.lists(st.sampled_from(list(Kind)), min_size=1, max_size=features_max))
    directions = draw(
        st.lists(st.sampled_from(list(Direction)), min_size=len(kinds), max_size=len(kinds))
    )
    catalogue = Catalogue(
        fields=tuple(
            Field(
                name=f"{kind.value}_{place}",
                kind=kind,
                direction=direction if kind is not Kind.WORD else Direction.FREE,
            )
            for place, (kind, direction) in enumerate(zip(kinds, directions, strict=True))
        )
    )
    pairs = draw(st.integers(0, min(4, len(kinds) * (len(kinds) - 1) // 2)))
    bands = draw(st.integers(2, bands_max))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    card = random_card(rng, catalogue, bands_max=bands, pairs=pairs, purified=purified)
    return Case(catalogue, card)


def cards(*, features_max: int = 5, purified: bool = True) -> st.SearchStrategy[Card]:
    """Draw a card whose catalogue does not matter."""
    return cases(features_max=features_max, purified=purified).map(lambda case: case.card)


def rows(case: Case) -> st.SearchStrategy[tuple[Value, ...]]:
    """Draw values in the order of the catalogue: missing, between, on and beyond the cuts."""
    by_field = {feature.field: feature for feature in case.card.features}
    return st.tuples(
        *(
            _values(field, by_field[field.name]) if field.name in by_field else st.none()
            for field in case.catalogue.fields
        )
    )


def _values(field: Field, feature: Feature) -> st.SearchStrategy[Value]:
    if not field.numeric:
        known = [word for group in feature.words for word in group]
        spelled = [f" {word.upper()} " for word in known]
        return st.none() | st.sampled_from([*known, *spelled, UNSEEN_WORD])
    on_cuts = st.sampled_from(feature.cuts) if feature.cuts else st.nothing()
    number = on_cuts | st.floats(-10.0, 200.0)
    if field.kind is Kind.INTEGER:
        return st.none() | number.map(round)
    return st.none() | number


# ----------------------------------------------------------------------------------- datasets


def random_columns(rng: Rng, card: Card, catalogue: Catalogue, count: int) -> dict[str, Column]:
    """Give rows that fall into the slots of each feature as its shares say, independently."""
    return {
        feature.field: _random_column(rng, feature, catalogue.field(feature.field), count)
        for feature in card.features
    }


def _random_column(rng: Rng, feature: Feature, field: Field, count: int) -> Column:
    slots = rng.choice(len(feature.main), size=count, p=feature.shares)
    if not field.numeric:
        vocabulary = [*(group[0] for group in feature.words), UNSEEN_WORD]
        return Words((slots - 1).astype(np.int32), vocabulary)
    low, high = _bounds(field)
    edges = np.array([low, *feature.cuts, high])
    place = np.maximum(slots - 1, 0)
    values = edges[place] + rng.random(count) * (edges[place + 1] - edges[place])
    if field.kind is Kind.INTEGER:
        values = np.floor(values)
    values[slots == tables.MISSING] = np.nan
    return np.asarray(values, dtype=np.float64)


def a_dataset(
    model: Model, *, seed: int = 0, rows: int = 4000, compact_share: float = 0.25
) -> Dataset:
    """Give rows whose outcomes follow the model's largest card, over twelve months of 2024.

    A share of the rows gives the fields of the smallest card only.
    """
    rng = np.random.default_rng(seed)
    card = model.cards[-1]
    columns = random_columns(rng, card, model.catalogue, rows)
    # Scored before fields are withheld: to give less is not to be riskier.
    points = kernel.BatchScorecard(card, model.catalogue).score(columns).points
    labels = (rng.random(rows) < kernel.probabilities(points)).astype(np.int8)
    kept = {feature.field for feature in model.cards[0].features}
    bare = rng.random(rows) < compact_share
    columns = {
        name: column if name in kept else masked(column, bare) for name, column in columns.items()
    }
    days = rng.integers(0, 366, rows).astype("timedelta64[D]")
    dates = np.datetime64("2024-01-01", "D") + days
    return Dataset(model.catalogue, columns, labels, dates)


def masked(column: Column, hidden: NDArray[np.bool_]) -> Column:
    """Give a column with some rows made missing."""
    if isinstance(column, Words):
        return Words(np.where(hidden, -1, column.codes).astype(np.int32), column.vocabulary)
    return np.where(hidden, np.nan, column)


# ----------------------------------------------------------------------------------- models


def a_model(
    seed: int = 0,
    *,
    catalogue: Catalogue = product.PRODUCT,
    name: str = "test model",
    pairs: int = 4,
    bands_max: int = 8,
) -> Model:
    """Give a sealed model: a full card, and a compact one where the catalogue has a core.

    The compact card holds the full card's own tables for the core fields, pairs among them too.
    """
    rng = np.random.default_rng(seed)
    full = random_card(rng, catalogue, bands_max=bands_max, pairs=pairs)
    core = catalogue.core_names
    has_compact = 0 < len(core) < len(full.features)
    made = (_cut_down(full, core), full) if has_compact else (full,)
    edges = tuple(range(400, 801, 50))
    return models.seal(
        Model(
            schema=SCHEMA,
            id="",
            name=name,
            outcome=OutcomeDefinition("30 days past due on the due date + 30", 30, 14, 180),
            money=_money(catalogue),
            catalogue=catalogue,
            cards=made,
            references=tuple(
                Reference(card.name, edges, (1.0 / (len(edges) + 1),) * (len(edges) + 1))
                for card in made
            ),
            lineage=Lineage(
                label="default",
                rows=100_000,
                defaults=12_000,
                fingerprint="sha256:" + "0" * 64,
                recipe={"seed": seed, "bags": 4, "learning_rate": 0.015, "pairs": pairs},
                versions={"alama": "0.1.0", "numpy": np.__version__},
                metrics={},
            ),
        )
    )


def _money(catalogue: Catalogue) -> Money | None:
    if not any(field.money for field in catalogue.fields):
        return None
    return Money("KES", "2025-01-01", {"KES": 20_000.0, "UGX": 560_000.0, "USD": 150.0})


def _cut_down(card: Card, names: Sequence[str]) -> Card:
    kept = [place for place, feature in enumerate(card.features) if feature.field in names]
    new_place: Mapping[int, int] = {old: new for new, old in enumerate(kept)}
    return msgspec.structs.replace(
        card,
        name="compact",
        features=tuple(card.features[place] for place in kept),
        pairs=tuple(
            msgspec.structs.replace(
                pair, first=new_place[pair.first], second=new_place[pair.second]
            )
            for pair in card.pairs
            if pair.first in new_place and pair.second in new_place
        ),
    )


def write_model(model: Model, path: Path) -> None:
    path.write_bytes(models.encode(model))


def points_of(probability: float) -> Points:
    """Give the points of a default probability strictly between 0 and 1."""
    return calibration.points_of_log_odds(LogOdds(math.log(probability / (1.0 - probability))))


def missing_gain(card: Card, place: int) -> float:
    """Give what not telling a field is worth against its average, over all that others hold.

    Pairs of a purified card average to zero along each of their lines, so the main tells it.
    """
    feature = card.features[place]
    average = sum(p * share for p, share in zip(feature.main, feature.shares, strict=True))
    return feature.main[tables.MISSING] - average


@cache
def ready_model(seed: int) -> ReadyModel:
    """Give one of a few models; seed 0 is the built-in one."""
    return ReadyModel(a_model(seed, pairs=20) if seed else builtin())
