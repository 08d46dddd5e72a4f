"""A model as one SQL query, for a lender's warehouse: the same points, bit for bit.

Cells are multiples of 2^-40 points, so the query adds whole numbers of that grain and divides once
at the end: exact in every engine, where a literal such as 12.3456789012345 is not (SQLite reads one
in some hundred thousand wrong by a bit). Standard SQL that SQLite (with its mathematical functions)
and PostgreSQL run as it is; Spark once DOUBLE PRECISION is replaced by DOUBLE and the double quotes
around names by backticks.

Words are the one exception: LOWER and TRIM are sure to fold ASCII letters and spaces alone. A word
with other letters gets the points of the model when it comes folded (lower case, trimmed); its
usual upper- and title-case forms are listed too, but an unusual one ("tHIÈS") may count as another
word.
"""

# ruff: noqa: S608  the query is the product; names and words of the model are quoted below

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from alama.core import calibration, memory
from alama.core.application import fold
from alama.core.model import Model, money_factor
from alama.core.scorecard import cuts_in
from alama.core.tables import GRID, Card, Feature, Pair

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from alama.core.catalogue import Catalogue


TABLE: Final = "applications"
KEY: Final = "application_id"

_HEADER: Final = """\
-- Alama scorecard {name}
-- model {id}
-- money in {currency}
-- tables hold whole numbers of 2^-40 points, which every engine adds exactly; points in comments
--
-- Reads the table {table}: one row an application, one column a field (null = not given), and
-- {key}, which names the row. Runs in SQLite and PostgreSQL; for Spark replace
-- DOUBLE PRECISION by DOUBLE and the double quotes around names by backticks.
--
-- Empty text in a column of numbers is missing. Any other text that is no number is an error in
-- PostgreSQL but 0 in SQLite: clean such a column first.
-- Words are compared without case and without space around them, but LOWER and TRIM are sure to
-- fold ASCII letters and spaces alone: send a word with other letters folded (lower case, trimmed).
"""

_REMEMBERED: Final = """\
--
-- A query does not know what Alama remembers of a borrower. Give as columns what your books said
-- on the day of each application, or scores differ from those of the service: {names}
"""

_DOUBLE: Final = "DOUBLE PRECISION"

_SOURCE: Final = "source"
"""Columns are named through it: SQLite takes a quoted name alone, if unknown, for a string."""


def as_sql(model: Model, cards: Sequence[Card], currency: str | None = None) -> str:
    """Give the query for all these cards of a model, each row by the smallest that is enough.

    One card alone scores every row. `currency` None means the model's own.
    """
    factor = money_factor(model, currency)
    names = dict.fromkeys(feature.field for card in cards for feature in card.features)
    inputs = ",\n".join(f"    {_read(name, model.catalogue)} AS {_given(name)}" for name in names)
    parts = [_card_query(card, cards, model.catalogue, factor) for card in cards]
    fields = [feature.field for feature in cards[-1].features]
    steps = ",\n".join(step for steps, _ in parts for step in steps)
    union = "\n  UNION ALL\n".join(
        _selected(card, last, fields) for card, (_, last) in zip(cards, parts, strict=True)
    )
    own_currency = model.money.currency if model.money else "no currency"
    header = _HEADER.format(
        name=_comment(model.name),
        id=_comment(model.id),
        currency=_comment(currency or own_currency),
        table=TABLE,
        key=KEY,
    )
    remembered = ", ".join(name for name in names if name in memory.NAMES)
    if remembered:
        header += _REMEMBERED.format(names=remembered)
    return (
        f"{header}WITH inputs AS (\n  SELECT {_SOURCE}.{KEY},\n{inputs}\n"
        f"  FROM {TABLE} AS {_SOURCE}\n),\n"
        f"{steps},\nscored AS (\n{union}\n)\n{_result(fields)};\n"
    )


def _result(fields: Sequence[str]) -> str:
    """Round as `calibration` does: halves to even for the score, six decimals for the chance."""
    low, high = calibration.SCORE_MIN, calibration.SCORE_MAX
    scale = 10**calibration.PROBABILITY_DECIMALS
    doublings = (
        f"(points - {_number(calibration.ANCHOR_POINTS)})"
        f" / {_number(calibration.POINTS_TO_DOUBLE_THE_ODDS)}"
    )
    chance = f"1e0 / (1e0 + {_number(calibration.ANCHOR_ODDS)} * POWER(2e0, {doublings}))"
    shown = ",\n  ".join(_name(f"points_{field}") for field in fields)
    return f"""\
SELECT
  {KEY},
  card,
  points,
  CAST(floored + CASE
    WHEN clamped - floored > 0.5e0 THEN 1
    WHEN clamped - floored < 0.5e0 THEN 0
    ELSE floored - 2 * FLOOR(floored / 2)
  END AS INTEGER) AS score,
  FLOOR({scale} * ({chance}) + 0.5e0) / {scale} AS default_probability,
  base_score,
  {shown}
FROM (
  SELECT clamped_rows.*, FLOOR(clamped) AS floored
  FROM (
    SELECT scored.*, CASE
      WHEN points < {low} THEN CAST({low} AS {_DOUBLE})
      WHEN points > {high} THEN CAST({high} AS {_DOUBLE})
      ELSE points
    END AS clamped
    FROM scored
  ) AS clamped_rows
) AS floored_rows"""


# ----------------------------------------------------------------------------------- one card


def _card_query(
    card: Card, cards: Sequence[Card], catalogue: Catalogue, factor: float
) -> tuple[list[str], str]:
    """Give the steps of one card, and the name of the last of them."""
    tag = f"card_{cards.index(card) + 1}"
    slots = ",\n    ".join(
        f"{_slot_case(feature, catalogue, factor)} AS slot_{place}"
        for place, feature in enumerate(card.features)
    )
    chosen = _condition(card, cards)
    pairs = "".join(
        f",\n    {_pair_case(pair)} AS pair_{place}" for place, pair in enumerate(card.pairs)
    )
    points = ",\n    ".join(
        f"{_points(card, place)} AS {_name(f'points_{feature.field}')}"
        for place, feature in enumerate(card.features)
    )
    steps = [
        f"{tag}_slots AS (\n  SELECT {KEY},\n    {slots}\n  FROM inputs{chosen}\n)",
        f"{tag}_pairs AS (\n  SELECT {tag}_slots.*{pairs}\n  FROM {tag}_slots\n)",
        f"{tag}_points AS (\n  SELECT {KEY},\n    {points}\n  FROM {tag}_pairs\n)",
    ]
    return steps, f"{tag}_points"


def _condition(card: Card, cards: Sequence[Card]) -> str:
    """Choose the rows of a card as `ReadyModel.scorecard_for` does."""
    place = cards.index(card)
    tests = [f"NOT ({_enough(smaller, cards)})" for smaller in cards[:place]]
    if place < len(cards) - 1:
        tests.append(f"({_enough(card, cards)})")
    return f"\n  WHERE {' AND '.join(tests)}" if tests else ""


def _enough(card: Card, cards: Sequence[Card]) -> str:
    read = {feature.field for feature in card.features}
    beyond = [feature.field for feature in cards[-1].features if feature.field not in read]
    return " AND ".join(f"{_given(name)} IS NULL" for name in beyond) or "1 = 1"


def _slot_case(feature: Feature, catalogue: Catalogue, factor: float) -> str:
    value = _given(feature.field)
    lines = ["CASE", f"WHEN {value} IS NULL THEN 0"]
    if feature.words:
        for slot, group in enumerate(feature.words, start=1):
            listed = ", ".join(_text(form) for word in group for form in _forms(word))
            lines.append(f"WHEN {value} IN ({listed}) THEN {slot}")
    else:
        for slot, cut in enumerate(cuts_in(feature, catalogue, factor), start=1):
            lines.append(f"WHEN {value} < {_number(cut)} THEN {slot}")
    lines.append(f"ELSE {len(feature.main) - 1}")
    return "\n      ".join(lines) + "\n    END"


def _pair_case(pair: Pair) -> str:
    lines = ["CASE"]
    for row, row_slots in _slots_by_place(pair.rows):
        cells = " ".join(
            f"WHEN slot_{pair.second} IN ({column_slots}) THEN {_grains(pair.halves[row][column])}"
            for column, column_slots in _slots_by_place(pair.columns)
        )
        lines.append(f"WHEN slot_{pair.first} IN ({row_slots}) THEN CASE {cells} END")
    return "\n      ".join(lines) + "\n    END"


def _slots_by_place(places: Sequence[int]) -> Iterator[tuple[int, str]]:
    for place in sorted(set(places)):
        yield place, ", ".join(str(slot) for slot, where in enumerate(places) if where == place)


def _points(card: Card, place: int) -> str:
    feature = card.features[place]
    cells = "\n      ".join(
        f"WHEN {slot} THEN {_grains(cell)}" for slot, cell in enumerate(feature.main)
    )
    halves = "".join(
        f" + pair_{number}"
        for number, pair in enumerate(card.pairs)
        if place in (pair.first, pair.second)
    )
    return f"CASE slot_{place}\n      {cells}\n    END{halves}"


def _selected(card: Card, step: str, fields: Sequence[str]) -> str:
    """Line a card's points up with those of the largest: null for what it does not read."""
    mine = [_name(f"points_{feature.field}") for feature in card.features]
    base = _grains(card.base)
    shown = ",\n    ".join(
        f"{_in_points(name) if name in mine else f'CAST(NULL AS {_DOUBLE})'} AS {name}"
        for name in (_name(f"points_{field}") for field in fields)
    )
    return (
        f"  SELECT {KEY}, {_text(card.name)} AS card, {_in_points(base)} AS base_score,\n"
        f"    {_in_points(' + '.join([base, *mine]))} AS points,\n    {shown}\n  FROM {step}"
    )


# ----------------------------------------------------------------------------------- words of SQL


def _grains(points: float) -> str:
    return f"{int(points / GRID)} /* {points:+.2f} */"


def _in_points(grains: str) -> str:
    return f"CAST({grains} AS {_DOUBLE}) / {_number(1.0 / GRID)}"


def _read(field: str, catalogue: Catalogue) -> str:
    """Read a column as a double or as a folded word; null where nothing was given."""
    column = f"{_SOURCE}.{_name(field)}"
    if catalogue.field(field).numeric:
        # The text only decides whether anything is there: a double would lose digits on the way.
        empty = f"TRIM(CAST({column} AS VARCHAR(255))) = ''"
        return f"CASE WHEN {empty} THEN NULL ELSE CAST({column} AS {_DOUBLE}) END"
    return f"NULLIF(LOWER(TRIM({column})), '')"


def _given(field: str) -> str:
    """Name what `_read` gave; the prefix keeps a field apart from the key."""
    return _name(f"given_{field}")


def _forms(word: str) -> list[str]:
    """Give what a word may be once LOWER has been at its ASCII letters: itself first."""
    forms = [word]
    if not word.isascii():
        forms += [_ascii_lower(form) for form in (word.upper(), word.title(), word.capitalize())]
    return list(dict.fromkeys(form for form in forms if fold(form) == fold(word)))


def _ascii_lower(word: str) -> str:
    return "".join(letter.lower() if letter.isascii() else letter for letter in word)


def _comment(text: str) -> str:
    """Put text on the rest of a comment's line, with nothing that could end the line."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _number(value: float) -> str:
    """Write a double; the exponent keeps engines from decimals."""
    written = repr(float(value)).removesuffix(".0")
    return written if "e" in written else f"{written}e0"


def _name(name: str) -> str:
    # Always quoted: what is reserved differs from engine to engine.
    return '"' + name.replace('"', '""') + '"'


def _text(word: str) -> str:
    return "'" + word.replace("'", "''") + "'"
