"""What differs between two policies, key by key, in the words of their text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from alama.core.lending.policy import Policy

_NO_CONTENT: Final = frozenset({"schema", "id"})


class Change(NamedTuple):
    """A key whose value differs; None on the side that does not have it."""

    key: str
    old: str | None
    new: str | None


def changes(old: Policy, new: Policy) -> tuple[Change, ...]:
    """Compare two policies; tiers and rules are the same where their names are.

    The keys stand in the order of the new policy, those that it has not at the end.
    """
    before = dict(_flat("", msgspec.to_builtins(old)))
    after = dict(_flat("", msgspec.to_builtins(new)))
    keys = dict.fromkeys([*after, *before])
    return tuple(
        Change(key, before.get(key), after.get(key))
        for key in keys
        if before.get(key) != after.get(key)
    )


def _flat(path: str, value: object) -> Iterator[tuple[str, str]]:
    """Walk down to single values: `tiers.A.score_min` is 690."""
    match value:
        case None:
            pass
        case dict():
            for key, inner in value.items():
                if path or key not in _NO_CONTENT:
                    yield from _flat(f"{path}.{key}" if path else key, inner)
        case list() | tuple() if value and isinstance(value[0], dict):
            for table in value:
                named = {key: inner for key, inner in table.items() if key != "name"}
                yield from _flat(f"{path}.{table['name']}", named)
        case list() | tuple():
            if value:
                yield path, ", ".join(map(_written, value))
        case _:
            yield path, _written(value)


def _written(value: object) -> str:
    if isinstance(value, int | float):
        return f"{value:,.12g}"
    return str(value)
