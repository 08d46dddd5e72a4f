"""Other loans for the same applicant: the points as amount and term change and all else stays.

The tables add up, so only the cells that read the amount or the term are looked up again; on their
grid that gives the same bits as scoring the changed application from the start.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Final

from alama.core import tables
from alama.core.model import money_factor
from alama.core.scorecard import cuts_in
from alama.core.units import Points

if TYPE_CHECKING:
    from alama.core.model import ReadyModel
    from alama.core.scorecard import Scorecard, Scored
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

    def slot_in(self, scored: Scored) -> int:
        return tables.MISSING if self.place is None else scored.slots[self.place]

    def rows(self, scored: Scored) -> list[Row]:
        """Give the main table and, for this applicant, a row of each pair, all by own slot."""
        slots = scored.slots
        return [self.main, *[rows[slots[other]] for other, rows in self.pairs]]


class LoanTables:
    """The part of a card that reads the loan."""

    __slots__ = ("amount", "both", "term")

    def __init__(self, scorecard: Scorecard, model: ReadyModel) -> None:
        """Lay out amount, term, and `both`: rows by the term's slot, cells by the amount's."""
        self.amount = _Lever(scorecard, model, AMOUNT)
        self.term = _Lever(scorecard, model, TERM)
        self.both: tuple[Row, ...] | None = None
        first, second = self.term.place, self.amount.place
        if first is not None and second is not None and _are_paired(scorecard.card, first, second):
            self.both = _whole_pair(scorecard.card, first, second)


class Loans:
    """The loans one applicant could have asked for."""

    __slots__ = ("_rest", "_rows", "_scored", "_tables")

    def __init__(self, loan_tables: LoanTables, scored: Scored) -> None:
        """Take from the points what the loan as requested gave to them."""
        amount, term = loan_tables.amount, loan_tables.term
        slot, term_slot = amount.slot_in(scored), term.slot_in(scored)
        self._tables = loan_tables
        self._scored = scored
        self._rows = amount.rows(scored)
        given = sum([row[slot] for row in self._rows])
        given += sum([row[term_slot] for row in term.rows(scored)])
        if loan_tables.both is not None:
            given += loan_tables.both[term_slot][slot]
        self._rest = scored.points - given

    def of_term(self, term_days: int) -> LoansOfTerm:
        """Fix the term."""
        term, both = self._tables.term, self._tables.both
        slot = term.slot(term_days)
        rest = self._rest + sum([row[slot] for row in term.rows(self._scored)])
        rows = self._rows if both is None else [*self._rows, both[slot]]
        return LoansOfTerm(self._tables.amount.cuts, rest, rows)


class LoansOfTerm:
    """The loans of one term, by amount. Within a band of amounts the points are the same."""

    __slots__ = ("_cuts", "_rest", "_rows")

    def __init__(self, cuts: tuple[float, ...], rest: float, rows: list[Row]) -> None:
        """Keep the points of all but the amount, and the rows that it is looked up in."""
        self._cuts = cuts
        self._rest = rest
        self._rows = rows

    def band(self, amount: float) -> int:
        """Give the band of an amount."""
        return bisect_right(self._cuts, amount) + 1

    def points(self, band: int) -> Points:
        """Give the points of the loans in a band."""
        return Points(self._rest + sum([row[band] for row in self._rows]))


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
