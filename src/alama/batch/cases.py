"""Applications out of a file, one by one, for what has to look at each as a whole."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from alama.batch.applications import applications
from alama.batch.field_columns import FieldColumns
from alama.core.application import looks_personal, may_be_word
from alama.core.catalogue import Use
from alama.core.lending.simulation import Case
from alama.files import columns as file_columns

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from alama.core.catalogue import Catalogue
    from alama.files.table import Table

CHUNK_ROWS: Final = 4_096
"""Rows that stand in memory as values of Python at a time."""

REFERENCES: Final = ("request_id", "applicant_ref")
"""Columns that say what an application is known by, the better one first."""


class TableCases:
    """The applications in one file, in order.

    Making one raises FileProblem where the file lacks a required field. `total` is how many there
    are, None where only reading tells. `ignored` lists the columns that the catalogue does not
    name, `absent` the fields that the file lacks, `meant` the field that an ignored column looks
    like. After reading, `markers` counts by column the marks such as NA that were taken as missing,
    and `unnamed` the references that could not be used; `ended` says whether that was all there is.
    """

    def __init__(self, catalogue: Catalogue, source: Table) -> None:
        self.total = source.rows
        self._name = source.path.name
        self._catalogue = catalogue
        self._fields = tuple(field for field in catalogue.fields if field.use is not Use.REFERENCE)
        self._file = FieldColumns(source, self._fields)
        self._reference = next((name for name in REFERENCES if name in source.names), None)
        known = {*catalogue.position, *REFERENCES}
        self.ignored = tuple(name for name in source.names if name not in known)
        self.absent = self._file.absent
        self.meant = self._file.meant(self.ignored)
        self.markers = self._file.markers
        self.unnamed = 0
        self.ended = False

    def first(self, count: int) -> Iterator[Case]:
        """Read the first so many, or all there are; FileProblem where a value breaks a rule.

        What has no reference goes by its row, and so does what has one that looks like a person's:
        a phone number must not travel in a report.
        """
        return islice(self._cases(), count)

    def described(self, count: int) -> str:
        """Say which the `count` applications of the latest reading are: all of the file or not."""
        if self.ended or count == self.total:
            return f"those in {self._name}"
        total = "" if self.total is None else f" of {self.total:,}"
        return f"the first{total} in {self._name}"

    def remarks(self) -> list[str]:
        """Say what the latest reading took otherwise than a reader of the file might."""
        told = [
            f"the column {name} was ignored; did you mean {field}?"
            for name, field in self.meant.items()
        ]
        if self.absent:
            told.append(f"fields that the file lacks, taken as not given: {', '.join(self.absent)}")
        if self.markers:
            counted = ", ".join(f"{name} ({count:,})" for name, count in self.markers.items())
            told.append(f"values such as NA, null or ? were read as missing: {counted}")
        if self.unnamed:
            told.append(
                f"{self.unnamed:,} references look like phone numbers, e-mail addresses or "
                "national ids, are too long or not printable; these applications go by their row"
            )
        return told

    def _cases(self) -> Iterator[Case]:
        self.unnamed = 0
        self.ended = False
        keep = () if self._reference is None else (self._reference,)
        row = 1
        for batch, columns in self._file.read(CHUNK_ROWS, keep):
            references = self._references(batch, row)
            read = applications(self._catalogue, columns, batch.num_rows)
            yield from map(Case, references, read)
            row += batch.num_rows
        self.ended = True

    def _references(self, batch: pa.RecordBatch, first_row: int) -> list[str]:
        rows = [f"row {first_row + place}" for place in range(batch.num_rows)]
        if self._reference is None:
            return rows
        named = file_columns.words(batch.column(self._reference), self._reference, first_row)
        usable = [_is_usable(word) for word in named.vocabulary]
        self.unnamed += sum(code >= 0 and not usable[code] for code in named.codes.tolist())
        return [
            named.vocabulary[code] if code >= 0 and usable[code] else row
            for code, row in zip(named.codes.tolist(), rows, strict=True)
        ]


def _is_usable(reference: str) -> bool:
    return may_be_word(reference) and not looks_personal(reference)
