"""Other loans for the same applicant: the points as amount and term change and all else stays.

The tables add up, so only the cells that read the amount or the term are looked up again; on their
grid that gives the same bits as scoring the changed application from the start.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Final

from alama.core import tables
from alama.core.model import ReadyModel, money_factor
from alama.core.scorecard import Scorecard, Scored, cuts_in
from alama.core.units import Points

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alama.core.tables import Card


AMOUNT: Final = "requested_amount"
TERM: Final = "requested_term_days"

Row = tuple[float, ...]


class _Lever:
    """One of the two fields: its cuts, its main table, and its pairs with all other fields.

    A pair is (place of the other feature, rows by the other's slot), in whole points.
    """

    __slots__ = ("cuts", "main", "pairs", "place")

    def __init__(self, scorecard: Scorecard, model: ReadyModel, name: str) -> None:
        """Lay the tables out; a card that does not read the field has one cell, of no points."""
        card = scorecard.card
        self.cuts: tuple[float, ...] = ()
        self.main: Row = (0.0, 0.0)
        self.place: int | None = None
        self.pairs: tuple[tuple[int, tuple[Row, ...]], ...] = ()
        if name not in scorecard.fields:
            return
        self.place = scorecard.fields.index(name)
        feature = card.features[self.place]
        self.cuts = cuts_in(feature, model.catalogue, money_factor(model.model, model.currency))
        self.main = feature.main
        levers = {scorecard.fields.index(n) for n in (AMOUNT, TERM) if n in scorecard.fields}
        self.pairs = tuple(
            (other, _whole_pair(card, other, self.place))
            for other in range(len(card.features))
            if other not in levers and _are_paired(card, other, self.place)
        )

    def slot(self, value: float) -> int:
        return bisect_right(self.cuts, value) + 1

    def slot_in(self, slots: list[int]) -> int:
        return tables.MISSING if self.place is None else slots[self.place]


class LoanTables:
    """The part of a card that reads the loan, and where the loans on offer stand in it.

    A *band* is a run of amounts on offer that have the same points. The bands are counted from the
    smallest amount; they hold the amounts from `firsts[band]` to `lasts[band]`.
    """

    __slots__ = ("amount", "amount_slots", "both", "firsts", "lasts", "term", "term_slots")

    def __init__(
        self, scorecard: Scorecard, model: ReadyModel, amounts: range, terms_days: Sequence[int]
    ) -> None:
        """Lay out for the amounts and the terms on offer, both in rising order.

        `both` is what amount and term give without any other field, each alone and as a pair: rows
        by the term's slot, cells by the amount's.
        """
        self.amount = _Lever(scorecard, model, AMOUNT)
        self.term = _Lever(scorecard, model, TERM)
        self.both = _together(scorecard.card, self.term, self.amount)
        self.term_slots = tuple(map(self.term.slot, terms_days))
        lasts = {self.amount.slot(amount): amount for amount in amounts}
        firsts = {self.amount.slot(amount): amount for amount in reversed(amounts)}
        self.amount_slots = tuple(lasts)
        self.lasts = tuple(lasts.values())
        self.firsts = tuple(firsts[slot] for slot in lasts)


class Loans:
    """The loans one applicant could have asked for."""

    __slots__ = ("_amount_rows", "_rest", "_slots", "_term_rows", "tables")

    def __init__(self, loan_tables: LoanTables, scored: Scored) -> None:
        slots = scored.slots
        amount, term = loan_tables.amount, loan_tables.term
        self.tables = loan_tables
        self._slots = slots
        self._amount_rows = [rows[slots[other]] for other, rows in amount.pairs]
        self._term_rows = [rows[slots[other]] for other, rows in term.pairs]
        self._rest = scored.points - self._given(term.slot_in(slots), amount.slot_in(slots))

    def points(self, term: int, band: int) -> Points:
        """Give the points of the loans of a term in a band of amounts, each by its place."""
        term_slot, amount_slot = self.tables.term_slots[term], self.tables.amount_slots[band]
        return Points(self._rest + self._given(term_slot, amount_slot))

    def slots(self, term: int, band: int) -> list[int]:
        """Give the slots of all features for the loans of a term in a band, each by its place."""
        tables, slots = self.tables, list(self._slots)
        if tables.term.place is not None:
            slots[tables.term.place] = tables.term_slots[term]
        if tables.amount.place is not None:
            slots[tables.amount.place] = tables.amount_slots[band]
        return slots

    def _given(self, term_slot: int, amount_slot: int) -> float:
        given = self.tables.both[term_slot][amount_slot]
        for row in self._amount_rows:
            given += row[amount_slot]
        for row in self._term_rows:
            given += row[term_slot]
        return given


def _together(card: Card, term: _Lever, amount: _Lever) -> tuple[Row, ...]:
    """Give the main tables of both, and what they give as a pair, as one table."""
    pair = tuple((0.0,) * len(amount.main) for _ in term.main)
    if term.place is not None and amount.place is not None:
        pair = _whole_pair(card, term.place, amount.place)
    return tuple(
        tuple(own + other + cell for other, cell in zip(amount.main, row, strict=True))
        for own, row in zip(term.main, pair, strict=True)
    )


def _are_paired(card: Card, one: int, other: int) -> bool:
    return any({pair.first, pair.second} == {one, other} for pair in card.pairs)


def _whole_pair(card: Card, by: int, of: int) -> tuple[Row, ...]:
    """Give the points of all pairs of two features: rows by slots of one, cells by the other's."""
    cells = [[0.0] * len(card.features[of].main) for _ in card.features[by].main]
    for pair in card.pairs:
        if {pair.first, pair.second} != {by, of}:
            continue
        for row, line in enumerate(cells):
            for column in range(len(line)):
                slots = (row, column) if pair.first == by else (column, row)
                line[column] += 2.0 * pair.half(*slots)
    return tuple(map(tuple, cells))
