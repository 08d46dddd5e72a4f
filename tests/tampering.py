"""What somebody does to a statement before handing it in: as it is drawn, or to its bytes."""

from __future__ import annotations

import io
import random
import re
from collections.abc import Callable, Sequence
from datetime import timedelta
from itertools import pairwise
from typing import Final, NamedTuple

import pypdfium2

from alama.training.population.printed import MpesaLine, MtnLine
from tests.drawn_statements import Known
from tests.statement_pdfs import Sheet, draw_mpesa, draw_mtn

Line = MpesaLine | MtnLine
Lines = list[Line]


class Forged(NamedTuple):
    """A statement as it was handed in, and the rows that its drawing shows, newest first."""

    content: bytes
    lines: Lines


class Forger:
    """Tampers with one statement. Every act is another forgery of the same sound one."""

    def __init__(self, known: Known, *, mtn: bool) -> None:
        self._known = known
        self._mtn = mtn
        self._chance = random.Random(known.seed)  # noqa: S311 - repeatable on purpose
        self._sheet = known.sheet
        self.sound: Lines = list(known.mtn() if mtn else known.mpesa())

    def changed_amount(self) -> Forged:
        """A figure is another: one row brought more, or took less."""
        lines, at = list(self.sound), self._place()
        lines[at] = _amount(lines[at], self._chance.randrange(1_00, 90_000_00))
        return self._drawn(lines)

    def changed_balance(self) -> Forged:
        lines, at = list(self.sound), self._place()
        lines[at] = lines[at]._replace(balance=lines[at].balance + self._chance.randrange(1, 10**7))
        return self._drawn(lines)

    def removed_row(self) -> Forged:
        lines = list(self.sound)
        del lines[self._place()]
        return self._drawn(lines)

    def pasted_row(self) -> Forged:
        """A row stands there twice, a little later and under a receipt of its own."""
        lines, at = list(self.sound), self._place()
        later = lines[at].at + timedelta(seconds=1)
        copy = lines[at]._replace(at=later)
        lines.insert(at, self._renamed(copy))
        return self._drawn(lines)

    def shifted_rows(self) -> Forged:
        """A stretch of rows is of other days."""
        lines, at = list(self.sound), self._place()
        days = timedelta(days=self._chance.choice((-60, -30, 30, 60)))
        for place in range(at, min(at + 5, len(lines))):
            lines[place] = lines[place]._replace(at=lines[place].at + days)
        return self._drawn(lines)

    def shifted_whole(self) -> Forged:
        """An old statement says that it is of these days; the file keeps the day it was made."""
        days = timedelta(days=self._chance.randrange(60, 400))
        lines: Lines = [line._replace(at=line.at + days) for line in self.sound]
        sheet = self._sheet._replace(
            first_day=self._sheet.first_day + days, last_day=self._sheet.last_day + days
        )
        return self._drawn(lines, sheet)

    def edited_total(self) -> Forged:
        """The total, or the closing balance, is another than the rows come to."""
        more = self._chance.randrange(1_00, 90_000_00)
        if self._mtn:
            sheet = self._sheet._replace(closing=self._sheet.closing + more)
            return self._drawn(self.sound, sheet)
        return self._drawn(self.sound, summed=[_amount(self.sound[0], more), *self.sound[1:]])

    def changed_name(self) -> Forged:
        """Another's statement: the lender says whose it should be."""
        return self._drawn(self.sound, self._sheet._replace(holder="PETER KAMAU NDUNGU"))

    def swapped_rows(self) -> Forged:
        """Two rows of different times have changed places."""
        lines = list(self.sound)
        while True:
            one, other = self._place(), self._place()
            if lines[one].at != lines[other].at:
                lines[one], lines[other] = lines[other], lines[one]
                return self._drawn(lines)

    def added_income(self) -> Forged:
        """A salary that never came, and each later balance raised by it; the total is forgotten."""
        at, more = self._place(), self._chance.randrange(1_000_00, 90_000_00)
        lines: Lines = [
            line._replace(balance=line.balance + more) if place < at else line
            for place, line in enumerate(self.sound)
        ]
        before = lines[at]
        came = _amount(self._renamed(before), more)._replace(
            at=before.at + timedelta(seconds=1), balance=before.balance + more
        )
        if isinstance(came, MtnLine):
            came = came._replace(type="Salary", description="from 100 X Ltd", fees=0, taxes=0)
        lines.insert(at, came)
        return self._drawn(lines, summed=self.sound)

    def all_in_step(self) -> Forged:
        """Raise every amount, balance and total alike: a statement that holds together."""
        lines = list[Line]()
        for line in self.sound:
            if isinstance(line, MtnLine):
                doubled = line._replace(amount=2 * line.amount, balance=2 * line.balance)
                lines.append(doubled._replace(fees=2 * line.fees, taxes=2 * line.taxes))
            else:
                lines.append(line._replace(signed=2 * line.signed, balance=2 * line.balance))
        sheet = self._sheet
        sheet = sheet._replace(opening=2 * sheet.opening, closing=2 * sheet.closing)
        return self._drawn(lines, sheet, summed=lines)

    def removed_page(self) -> Forged:
        with pypdfium2.PdfDocument(self._drawn(self.sound).content) as document:
            del document[self._chance.randrange(1, len(document))]
            return Forged(_saved(document), self.sound)

    def saved_by_another_program(self) -> Forged:
        content = self._drawn(self.sound).content
        content = re.sub(
            rb"/Producer \(Alama population\)", b"/Producer (iLovePDF 1.0.0.0)", content
        )
        return Forged(_with_later_change(content), self.sound)

    def appended_update(self) -> Forged:
        """A program has appended its changes to the file, as most that edit do."""
        content = _with_later_change(self._drawn(self.sound).content)
        start = content.rfind(b"startxref")
        root = re.search(rb"/Root \d+ \d+ R", content)
        assert root is not None
        size = re.search(rb"/Size \d+", content)
        assert size is not None
        previous = content[start:].split()[1]
        table = len(content)
        content += b"xref\n0 1\n0000000000 65535 f \ntrailer\n<< %b %b /Prev %b >>\n" % (
            root[0],
            size[0],
            previous,
        )
        return Forged(content + b"startxref\n%d\n%%%%EOF\n" % table, self.sound)

    def _place(self) -> int:
        return self._chance.randrange(len(self.sound))

    def _renamed(self, line: Line) -> Line:
        number = self._chance.randrange(10**8, 10**9)
        if isinstance(line, MtnLine):
            return line._replace(id=f"77{number}")
        return line._replace(receipt=f"Z{number}")

    def _drawn(
        self,
        lines: Sequence[Line],
        sheet: Sheet | None = None,
        summed: Sequence[Line] | None = None,
    ) -> Forged:
        """Draw it; unless it is said, every second one has its summary adapted to its rows."""
        sheet = sheet or self._sheet
        if self._mtn:
            return Forged(draw_mtn(sheet, _mtn(lines)), list(lines))
        told = summed or (lines if self._known.seed % 2 else self.sound)
        return Forged(draw_mpesa(sheet, _mpesa(lines), _mpesa(told)), list(lines))


ACTS: Final[dict[str, Callable[[Forger], Forged]]] = {
    name: act
    for name, act in vars(Forger).items()
    if not name.startswith("_") and name != "all_in_step"
}

WITHOUT_FIGURES: Final = frozenset({"changed_name", "saved_by_another_program", "appended_update"})
"""What leaves no trace in figures."""


def holds(lines: Sequence[Line]) -> bool:
    """Say, without any of our code, whether each balance follows from the one before."""
    return all(
        later.balance - earlier.balance in _moves(later) for later, earlier in pairwise(lines)
    )


def _moves(line: Line) -> set[int]:
    if isinstance(line, MpesaLine):
        return {line.signed}
    costs = line.fees + line.taxes
    return {line.amount - costs, -line.amount - costs}


def _mpesa(lines: Sequence[Line]) -> list[MpesaLine]:
    return [line for line in lines if isinstance(line, MpesaLine)]


def _mtn(lines: Sequence[Line]) -> list[MtnLine]:
    return [line for line in lines if isinstance(line, MtnLine)]


def _amount(line: Line, more: int) -> Line:
    if isinstance(line, MtnLine):
        return line._replace(amount=line.amount + more)
    return line._replace(signed=abs(line.signed) + more)


def _with_later_change(content: bytes) -> bytes:
    return re.sub(rb"/ModDate \(D:\d{4}", b"/ModDate (D:2031", content)


def _saved(document: pypdfium2.PdfDocument) -> bytes:
    into = io.BytesIO()
    document.save(into)
    return into.getvalue()
