"""A file as it comes: read as it is where it can be, else written anew in ways that are known."""

from __future__ import annotations

import re
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from alama.core.errors import FileProblem
from alama.platform.files.asis.columns import MIDNIGHT_ELSEWHERE
from alama.platform.files.asis.inspection import Inspected, Mapping, Reading, convert, inspect
from alama.platform.files.asis.likeness import Holds, Target, match
from alama.platform.files.asis.written import amount_of, day_of, yes_or_no
from alama.platform.files.columns import plain
from alama.platform.files.reader import open_table
from alama.platform.files.table import OWN, PARQUET, Limits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from alama.platform.files.table import Table

_NUMBER: Final = r"^\s*([+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?)?\s*$"
_DAY: Final = r"^\s*([0-9]{4}-[0-9]{2}-[0-9]{2}([T ].*)?)?\s*$"
_SHORTENED: Final = r"^[+-]?[0-9]([.,][0-9]+)?E\+[0-9]{2,3}$"
_POINTED: Final = r"\."
_IN_THREES: Final = r"^[1-9][0-9]{0,2}\.[0-9]{3}$"
_POINTED_MIN: Final = 20
_SLIPS: Final = 10
_FEW: Final = 3
"""Fewer values of their own kind are slips of a hand: who reads the rows names them."""
_SLIPS_MAX: Final = 1_000
_ODD_MAX: Final = 200
"""Odd values of a batch that are looked at; where none of so many means anything, none does."""

_RAGGED: Final = re.compile(r"values where the header names (?!1 )")
_ANSWERS: Final = frozenset(["yes", "no", "true", "false", "1", "0", "1.0", "0.0"])


def look(
    path: Path,
    targets: Sequence[Target],
    mapping: Mapping,
    watch: Callable[[float], None] = lambda _share: None,
    limits: Limits = OWN,
) -> Inspected | None:
    """Say how a file is to be read; None: as it is, by whoever reads tables.

    FileProblem where it could be read wrong. Where it is no such table at all, None: who reads it
    as it is says that best.
    """
    table, is_whole, why = _table(path, targets, limits)
    if table is not None and (
        path.suffix.lower() == ".parquet"
        or (
            is_whole
            and not _is_told_otherwise(table, mapping)
            and not _is_named_otherwise(table, targets)
            and _is_plain(table, targets)
        )
    ):
        return None
    if not path.is_file():
        return None
    with path.open("rb") as file:
        if file.read(len(PARQUET)) == PARQUET:
            return None
    try:
        found = inspect(path, targets, mapping, watch, limits)
    except FileProblem:
        if _RAGGED.search(why):
            return None  # of one row too long whoever reads the table says it best
        raise
    # Where a column is simply not there, who reads the table says best what is near to its name.
    is_lacking = bool(found.questions) and all(_is_alone(q.words) for q in found.questions)
    is_as_it_was = table is not None and not found.likened
    return None if is_as_it_was and is_lacking else found


def _is_alone(words: str) -> bool:
    return words.startswith("no column is like")


def _table(path: Path, targets: Sequence[Target], limits: Limits) -> tuple[Table | None, bool, str]:
    """Open a file as whoever reads tables does; says whether all is in it, or why it cannot."""
    try:
        table = open_table(path, limits)
    except FileProblem as error:
        return None, False, str(error)
    known = _spellings(targets)
    names = {known.get(name) for name in table.names}
    return table, all(target.name in names for target in targets if target.required), ""


def _is_told_otherwise(table: Table, mapping: Mapping) -> bool:
    """Say whether somebody has said of a column of this table that it is another than its name."""
    return any(
        source != name and (source or name) in table.names
        for name, source in mapping.columns.items()
    )


def _is_named_otherwise(table: Table, targets: Sequence[Target]) -> bool:
    """Say whether a wanted column stands under another word for it: "Bureau Score" is bureau_score.

    Read as it is, such a file would lose the column in silence.
    """
    found = match(table.names, targets)
    known = _spellings(targets)
    sure = found.places.keys() - set(found.unsure)
    return any(known.get(table.names[found.places[name]]) != name for name in sure)


def _spellings(targets: Sequence[Target]) -> dict[str, str]:
    """Give the name of a target by each of its spellings."""
    by_name = {target.name: target.name for target in targets}
    return by_name | {target.spelling: target.name for target in targets if target.spelling}


def _is_plain(table: Table, targets: Sequence[Target]) -> bool:
    """Say whether no value of a column that is wanted is written in a way of its own."""
    holds = {target.name: target.holds for target in targets}
    known = _spellings(targets)
    wanted = {name: holds[known[name]] for name in table.names if name in known}
    wanted = {name: kind for name, kind in wanted.items() if kind is not Holds.WORD}
    pointed = dict.fromkeys(wanted, (0, 0))
    try:
        for batch in table.batches(list(wanted)):
            for name, kind in wanted.items():
                text = plain(batch.column(name))
                if not (pa.types.is_string(text.type) or pa.types.is_large_string(text.type)):
                    continue
                if _is_foreign(text, kind):
                    return False
                if kind is Holds.NUMBER:
                    some, threes = pointed[name]
                    pointed[name] = some + _count(text, _POINTED), threes + _count(text, _IN_THREES)
    except FileProblem as error:
        return "UTF-8" not in str(error)  # of a broken row whoever reads the table says it best
    # Whole thousands with a point between look like numbers of three decimals.
    return not any(some == threes and some >= _POINTED_MIN for some, threes in pointed.values())


def _count(text: pa.Array[Any], pattern: str) -> int:
    return int(pc.sum(pc.match_substring_regex(text, pattern).cast(pa.int64())).as_py() or 0)


def _is_foreign(text: pa.Array[Any], kind: Holds) -> bool:
    if kind is Holds.ID:
        return bool(_count(text, _SHORTENED))
    if kind is Holds.NUMBER:
        odd = [value for value in _odd(text, _NUMBER) if amount_of(value) is not None]
        return bool(_count(text, _SHORTENED)) or len(odd) >= _FEW
    if kind is Holds.DAY:
        return _days_are_foreign(text)
    words = pc.unique(text).to_pylist()[:_ODD_MAX]
    return any(w and w.strip().casefold() not in _ANSWERS and yes_or_no(w) for w in words)


def _days_are_foreign(text: pa.Array[Any]) -> bool:
    """Say whether days of other shapes are more than slips of a hand, which are told row by row."""
    given = len(text) - text.null_count - _count(text, r"^\s*$")
    if given >= _FEW and _count(text, MIDNIGHT_ELSEWHERE.pattern) == given:
        return True
    odd = text.filter(pc.invert(pc.match_substring_regex(text, _DAY)))
    readable = [value for value in odd.to_pylist()[:_SLIPS_MAX] if value and day_of(value)]
    return len(readable) >= max(_FEW, min(_SLIPS, (len(text) - text.null_count) // 2))


def _odd(text: pa.Array[Any], pattern: str) -> list[str]:
    odd = text.filter(pc.invert(pc.match_substring_regex(text, pattern)))
    return [value for value in pc.unique(odd).to_pylist()[:_ODD_MAX] if value]


@contextmanager
def written_anew(
    path: Path,
    reading: Reading | None,
    targets: Sequence[Target],
    watch: Callable[[float], None] = lambda _share: None,
    limits: Limits = OWN,
) -> Iterator[Path]:
    """Give the file as whoever reads tables knows it; what is written for that is gone afterwards.

    What is wrong with it is told with the name of the file that came.
    """
    if reading is None:
        yield path
        return
    with TemporaryDirectory(prefix="alama-file-") as folder:
        anew = Path(folder) / "read.csv"
        convert(path, reading, targets, anew, watch, limits)
        try:
            yield anew
        except FileProblem as error:
            hint = None if error.hint is None else error.hint.replace(str(anew), str(path))
            raise FileProblem(str(error).replace(str(anew), str(path)), hint=hint) from None
