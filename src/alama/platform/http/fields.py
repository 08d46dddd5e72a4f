"""Small bodies: the fields of a type, read strictly, with every broken rule told at once."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import msgspec

from alama.core.errors import FAULTS_MAX, FieldProblem
from alama.core.intake import inner_members, inner_object, members
from alama.platform.addresses import InvalidUrl
from alama.platform.http.problems import InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    Members = Sequence[tuple[str, object]]

    Check = Callable[[Any], None]
    """Raises `InvalidUrl` or `ValueError` for what its type lets pass and no rule does."""


S = TypeVar("S", bound=msgspec.Struct)

SPACE: Final = r"\s\x1c-\x1f\x85"
"""What Python strips from a string, for patterns; other languages know fewer kinds of space."""

_NAME_MAX: Final = 64
_SUGGESTIONS_MAX: Final = 10
"""To look for a near name costs more than all else; a body has room for thousands of them."""

_WHOLE_MAX: Final = 2**53
"""Beyond it a float stands for several whole numbers."""


class Rule(NamedTuple):
    """What a field must be: the type of its JSON, and the whole of it in words.

    `known` is what the elements of a list may be, where that is a closed set.
    """

    type: type
    told: str
    known: Sequence[str] = ()


def read(
    kind: type[S],
    body: bytes,
    rules: Mapping[str, Rule],
    checks: Mapping[str, Check] | None = None,
) -> S:
    """Read a body, or raise `MalformedDocument` or `InvalidRequest`.

    Rules and checks go by the names of the fields. No value that was sent is ever part of a fault.
    """
    return read_members(kind, members(body), rules, checks)


Faults = Callable[[S], Iterable[FieldProblem]]
"""Gives what does not go together in an object that is read."""


def read_one_or_many(
    kind: type[S],
    body: bytes,
    name: str,
    rules: Mapping[str, Rule],
    checks: Mapping[str, Check],
    faults_of: Faults[S],
    *,
    length_max: int,
) -> list[S]:
    """Read a body that is an object, or has one field, a list of them, as `read` would each."""
    sent = members(body)
    if all(each != name for each, _ in sent):
        return [read_sound(kind, sent, rules, checks, faults_of)]
    found = read_list(kind, sent, name, rules, checks, length_max=length_max)
    _refuse(fault.within(name, at) for at, one in enumerate(found) for fault in faults_of(one))
    return found


def read_sound(
    kind: type[S],
    sent: Members,
    rules: Mapping[str, Rule],
    checks: Mapping[str, Check],
    faults_of: Faults[S],
) -> S:
    """Read the members of an object whose fields go together, or raise `InvalidRequest`."""
    found = read_members(kind, sent, rules, checks)
    _refuse(faults_of(found))
    return found


def _refuse(faults: Iterable[FieldProblem]) -> None:
    if told := list(faults):
        raise InvalidRequest(told)


def read_list(
    kind: type[S],
    sent: Members,
    name: str,
    rules: Mapping[str, Rule],
    checks: Mapping[str, Check] | None = None,
    *,
    length_max: int,
) -> list[S]:
    """Read a body of one field, a list of objects, as `read` would read each of them.

    Once as many rules are broken as are told, the rest is not looked at.
    """
    faults = [*_repeated(sent), *_unknown([each for each, _ in sent], [name])]
    told = f"must be a list of 1 to {length_max:,} objects"
    given = next((value for each, value in sent if each == name), None)
    if type(given) is not list:
        raise InvalidRequest([*faults, FieldProblem(name, "wrong_type", told)])
    if not 1 <= len(given) <= length_max:
        raise InvalidRequest([*faults, FieldProblem(name, "out_of_range", told)])
    found = []
    for place, element in enumerate(given):
        inside = inner_members(element)
        if inside is None:
            faults.append(FieldProblem(name, "wrong_type", "must be an object", place))
            continue
        try:
            found.append(read_members(kind, inside, rules, checks))
        except InvalidRequest as error:
            faults += [fault.within(name, place) for fault in error.problems]
        if len(faults) >= FAULTS_MAX:
            break
    if faults:
        raise InvalidRequest(faults)
    return found


def read_members(
    kind: type[S],
    sent: Members,
    rules: Mapping[str, Rule],
    checks: Mapping[str, Check] | None = None,
) -> S:
    """Read the members of an object, or raise `InvalidRequest`; a field may be null if None is."""
    given = {name: _whole(inner_object(value)) for name, value in sent}
    if len(given) == len(sent):
        found = _at_once(kind, given, rules, checks or {})
        if found is not None:
            return found
    return _one_by_one(kind, sent, given, rules, checks or {})


def _one_by_one(
    kind: type[S],
    sent: Members,
    given: Mapping[str, object],
    rules: Mapping[str, Rule],
    checks: Mapping[str, Check],
) -> S:
    """Read field by field, so that every broken rule is told."""
    fields = _fields_of(kind)
    faults = [*_repeated(sent), *_unknown(given, [field.name for field in fields])]
    values: dict[str, Any] = {}
    for field in fields:
        name = field.name
        if given.get(name) is None and field.required:
            faults.append(FieldProblem(name, "missing_field", "is required"))
            continue
        if name not in given or (given[name] is None and field.default is None):
            continue
        if not _is_of(rules[name].type, given[name]):
            faults.append(FieldProblem(name, "wrong_type", rules[name].told))
            continue
        known = rules[name].known
        if known and (strange := list(_strange(name, given[name], known))):
            faults += strange
            continue
        try:
            values[name] = msgspec.convert(given[name], field.type)
            if name in checks:
                checks[name](values[name])
        except InvalidUrl as error:
            told = str(error) if error.hint is None else f"{error}: {error.hint}"
            faults.append(FieldProblem(name, "invalid_url", told))
        except ValueError:  # msgspec's errors are such, and name the value
            faults.append(FieldProblem(name, "out_of_range", rules[name].told))
    if faults:
        raise InvalidRequest(faults)
    return kind(**values)


def _at_once(
    kind: type[S],
    given: Mapping[str, object],
    rules: Mapping[str, Rule],
    checks: Mapping[str, Check],
) -> S | None:
    """Read all fields together, in a third of the time; None where a rule is broken, or may be.

    Which one it is, those who read field by field say.
    """
    optional = _optional(kind)
    there = {
        name: value for name, value in given.items() if value is not None or name not in optional
    }
    if not there.keys() <= _names(kind):
        return None
    for name, value in there.items():
        if rules[name].known or not _is_of(rules[name].type, value):
            return None
    try:
        found = msgspec.convert(there, kind)
        for name, check in checks.items():
            if name in there:
                check(getattr(found, name))
    except (InvalidUrl, ValueError):
        return None
    return found


@cache
def _names(kind: type[msgspec.Struct]) -> frozenset[str]:
    return frozenset(field.name for field in _fields_of(kind))


@cache
def _optional(kind: type[msgspec.Struct]) -> frozenset[str]:
    """Give the fields of which null says as much as nothing."""
    return frozenset(field.name for field in _fields_of(kind) if field.default is None)


@cache
def _fields_of(kind: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    """Give the fields of a type, looked up once: for a thousand objects it would take longest."""
    return msgspec.structs.fields(kind)


def _is_of(kind: type, value: object) -> bool:
    """Say whether a value is of a type of JSON, in which a whole number is a number too."""
    return type(value) is kind or (kind is float and type(value) is int)


def _whole(value: object) -> object:
    """Give 30.0 as 30, also within an object: to JSON Schema it is as much an integer."""
    if isinstance(value, dict):
        return {name: _whole(inner) for name, inner in value.items()}
    if isinstance(value, float) and value.is_integer() and abs(value) <= _WHOLE_MAX:
        return int(value)
    return value


def _strange(name: str, given: object, known: Sequence[str]) -> Iterator[FieldProblem]:
    """Point to each element of a list that is none of the known ones."""
    assert isinstance(given, list)
    told = f"must be one of {', '.join(known)}"
    for place, element in enumerate(given):
        if type(element) is not str:
            yield FieldProblem(name, "wrong_type", told, place)
        elif element not in known:
            yield FieldProblem(name, "out_of_range", told, place)


def _repeated(sent: Members) -> Iterator[FieldProblem]:
    for name, times in Counter(name for name, _ in sent).items():
        if times > 1:
            yield FieldProblem(name, "duplicate_field", "stands more than once; send it once")


def _unknown(given: Collection[str], known: Sequence[str]) -> Iterator[FieldProblem]:
    unknown = (name for name in given if name not in known)
    for place, name in enumerate(unknown):
        comparable = known if place < _SUGGESTIONS_MAX and len(name) <= _NAME_MAX else ()
        near = difflib.get_close_matches(name, comparable, n=1, cutoff=0.6)
        advice = f"is not a field; did you mean {near[0]}?" if near else "is not a field"
        yield FieldProblem(name, "unknown_field", advice)
