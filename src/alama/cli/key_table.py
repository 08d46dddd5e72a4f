"""Keys as a table in a terminal, and what has become of each."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from alama.cli import words
from alama.cli.tables import ONE_LINE_WIDTH, plain_table, stacked
from alama.service.keys import USUAL_SCOPES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from alama.service.keys import Key

_SOON_US: Final = 7 * 86_400 * 1_000_000


class _Row(NamedTuple):
    """The cells of one key, in groups: a narrow terminal stacks each group in one column."""

    names: tuple[str, ...]
    book: tuple[str, ...]
    scopes: tuple[str, ...]
    times: tuple[str, ...]
    state: tuple[str, ...]


_HEADS: Final = _Row(
    ("key", "ends"), ("lender", "mode"), ("scopes",), ("created", "last used"), ("state",)
)


def listing(keys: Sequence[Key], now_us: int, width: int) -> Table:
    """Lay out keys in the order given; `width` is that of the terminal."""
    rows = [_row(key, now_us) for key in keys]
    return _wide(rows) if width >= ONE_LINE_WIDTH else _narrow(rows)


def _wide(rows: Sequence[_Row]) -> Table:
    table = plain_table(*chain.from_iterable(_HEADS))
    for row in rows:
        scopes, state = " ".join(row.scopes), " ".join(row.state)
        table.add_row(*row.names, *row.book, scopes, *row.times, state)
    return table


def _narrow(rows: Sequence[_Row]) -> Table:
    # A second line in every head, so that all of them begin on the first.
    table = plain_table(*("\n".join((*heads, "")[:2]) for heads in _HEADS))
    for row in rows:
        table.add_row(*(stacked(*cells) for cells in row))
    return table


def _row(key: Key, now_us: int) -> _Row:
    used = "never" if key.last_used_us is None else f"{words.span(now_us - key.last_used_us)} ago"
    return _Row(
        (key.id, key.hint),
        (key.lender, key.mode),
        _scopes(key),
        (words.day(key.created_us), used),
        _state(key, now_us),
    )


def _scopes(key: Key) -> tuple[str, ...]:
    """Say what a key may do, a line for each thing it may do something with.

    What keys have where nobody names scopes is one word: seven in every line hide what is not so.
    """
    has_usual = set(key.scopes).issuperset(USUAL_SCOPES)
    acts: dict[str, list[str]] = {}
    for scope in key.scopes:
        if has_usual and scope in USUAL_SCOPES:
            continue
        thing, _, act = scope.partition(":")
        acts.setdefault(thing, []).append(act)
    told = tuple(f"{thing}:{','.join(done)}" for thing, done in acts.items())
    return ("usual", *told) if has_usual else told


def _state(key: Key, now_us: int) -> tuple[str, ...]:
    if key.revoked_us is not None:
        return "revoked", words.day(key.revoked_us)
    if key.expires_us is None:
        return ("active",)
    if key.expired(now_us):
        return "expired", words.day(key.expires_us)
    if key.expires_us - now_us < _SOON_US:
        return "expires in", words.span(key.expires_us - now_us)
    return "active to", words.day(key.expires_us)
