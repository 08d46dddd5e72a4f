"""From the tree of a text to a policy: every key that is unknown, missing or of the wrong kind.

`msgspec` stops at the first. So what it complains of is mended with a guess, and it is asked again:
a person gets the whole list at once. What follows from a guess is not told.
"""

from __future__ import annotations

import copy
import difflib
import re
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from alama.core.errors import FAULTS_MAX
from alama.core.lending.draft import default_policy
from alama.core.lending.policy import Decision, Policy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from alama.core.lending.policy_check import Fault, Path

_LEANS_ON: Final[Mapping[Path, tuple[Path, ...]]] = {
    ("tiers", "limit_max"): (("limit_step",),),
    ("standard_loan", "term_days"): (("terms_days",),),
    ("caps", "apr_max"): (("pricing", "funding"), ("pricing", "margin")),
    ("caps", "charges_max"): (("terms_days",),),
    ("pricing", "margin"): (("pricing", "funding"),),
}
"""The keys whose range depends on others. Within a list a key depends on its like."""

_COMPLAINT: Final = re.compile(r"(.*?)(?: - at `\$((?:\.\w+|\[\d+\])*)`)?", re.DOTALL)
_KINDS: Final = {
    "int": "a whole number",
    "float": "a number",
    "int | null": "a whole number",
    "float | null": "a number",
    "str": "a text in quotes",
    "array": "a list",
    "object": "a table",
}
_QUOTED_NUMBER: Final = re.compile(r"\s*(-?\d[\d, _]*(?:\.\d+)?)\s*%?\s*")


class Shaped(NamedTuple):
    """A policy of the right shape, what was wrong with it, and the keys that are guessed.

    None where no guess made a policy of it.
    """

    policy: Policy | None
    faults: list[Fault]
    guessed: frozenset[Path]

    def is_certain(self, path: Path) -> bool:
        """Say whether what is told of this key can follow from nothing that was guessed."""
        key = _without_places(path)
        concerned = (key, *_LEANS_ON.get(key, ()))
        return not any(
            one[: len(guess)] == guess or guess[: len(one)] == one
            for guess in self.guessed
            for one in concerned
        )


def shaped(tree: Mapping[str, Any]) -> Shaped:
    """Make a policy of a tree; what stands in the way is listed and taken out of it."""
    mending = _Mending(tree)
    if "id" in tree:
        mending.faults.append((("id",), "is worked out from the rest; leave it out"))
    return mending.result()


class _Mending:
    """A tree that becomes a policy, one complaint after the other."""

    def __init__(self, tree: Mapping[str, Any]) -> None:
        self.faults: list[Fault] = []
        self._tree = {**{name: _loose(value) for name, value in tree.items()}, "id": ""}
        self._guessed: set[Path] = set()

    def result(self) -> Shaped:
        policy = None
        while policy is None and len(self.faults) < FAULTS_MAX:
            try:
                policy = msgspec.convert(self._tree, Policy)
            except msgspec.ValidationError as error:
                if not self._mend(str(error)):
                    break
        return Shaped(policy, self.faults, frozenset(self._guessed))

    def _mend(self, message: str) -> bool:
        """Note what is complained of and put a guess in its place; say whether there was one."""
        found = _COMPLAINT.fullmatch(message)
        assert found is not None
        said, place = found[1], found[2] or ""
        path: Path = tuple(
            int(step[1:-1]) if step.startswith("[") else step[1:]
            for step in re.findall(r"\[\d+\]|\.\w+", place)
        )
        if unknown := re.search(r"unknown field `(.*)`", said, re.DOTALL):
            return self._rename((*path, unknown[1]))
        if missing := re.search(r"missing required field `(.*)`", said):
            path = (*path, missing[1])
            self.faults.append((path, "is missing"))
        else:
            self.faults.append((path, _fault(said, _at(self._tree, path))))
        return self._guess(path)

    def _rename(self, path: Path) -> bool:
        """Take an unknown key for the one that it resembles, or leave it out."""
        *above, name = path
        table = _at(self._tree, tuple(above))
        known = _sample(tuple(above))
        near = difflib.get_close_matches(str(name), known, n=1) if isinstance(known, dict) else []
        advice = f"did you mean {near[0]}?" if near else "a typing error?"
        self.faults.append((path, f"is not a key of the policy; {advice}"))
        value = table.pop(name, _NOTHING)
        if near and near[0] not in table:
            table[near[0]] = value
        return value is not _NOTHING

    def _guess(self, path: Path) -> bool:
        """Put a value of the right kind where none is."""
        key = _without_places(path)
        sample = _sample(path)
        if not path or sample is _NOTHING:
            return False
        self._guessed.add(key)
        _at(self._tree, path[:-1])[path[-1]] = copy.deepcopy(sample)
        return True


def _fault(said: str, value: object) -> str:
    """Say in our words what msgspec says of a value."""
    if said.startswith("Invalid enum value"):
        return f"must be one of {', '.join(Decision)}{_near_decision(value)}"
    if expected := re.fullmatch(r"Expected `(.*)`, got `.*`", said):
        return f"must be {_KINDS.get(expected[1], expected[1])}{_unquoted(expected[1], value)}"
    if said == "Number out of range":
        return "is too large a number"
    return said[0].lower() + said[1:]


def _near_decision(value: object) -> str:
    near = difflib.get_close_matches(str(value).strip().upper(), Decision, n=1)
    return f": did you mean {near[0]}?" if near else ""


def _unquoted(expected: str, value: object) -> str:
    """Say how to write a number that stands in quotes."""
    if not isinstance(value, str) or not expected.startswith(("int", "float")):
        return ""
    number = _QUOTED_NUMBER.fullmatch(value)
    return (
        "" if number is None else f": {re.sub('[, _]', '', number[1])}, without quotes and commas"
    )


# ------------------------------------------------------------------------ a policy to guess from

_NOTHING: Final = object()


@cache
def _whole_sample() -> Mapping[str, Any]:
    sample: dict[str, Any] = msgspec.to_builtins(default_policy("KES"))
    rule = {"name": "own", "when": "", "decision": "REVIEW", "says": ""}
    return {**sample, "rules": [rule], "law": {**sample["law"], "forbidden_fields": ["contacts"]}}


def _sample(path: Path) -> Any:  # noqa: ANN401 - a tree of TOML holds anything
    """Give what could stand at a path, every element of a list being like its first."""
    value: Any = _whole_sample()
    for step in path:
        if isinstance(step, int) and isinstance(value, list | tuple):
            value = value[0]
        elif isinstance(value, dict) and step in value:
            value = value[step]
        else:
            return _NOTHING
    return value


def _loose(value: Any) -> Any:  # noqa: ANN401 - as above
    """Copy a table, a list or the tables of a list: as deep as a policy goes, and no deeper."""
    if isinstance(value, list):
        return [dict(one) if isinstance(one, dict) else one for one in value]
    if isinstance(value, dict):
        return {name: list(one) if isinstance(one, list) else one for name, one in value.items()}
    return value


def _at(tree: Any, path: Path) -> Any:  # noqa: ANN401 - as above
    """Give what stands at a path that msgspec has named."""
    for step in path:
        tree = tree[step]
    return tree


def _without_places(path: Path) -> Path:
    return tuple(step for step in path if isinstance(step, str))
