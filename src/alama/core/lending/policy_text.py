"""The text of a policy, read: every key in its place, or the line of everything that is wrong.

Where a text is no TOML, `tomllib` says where it stopped, and speaks to programmers. People who
write a policy make a dozen mistakes again and again: each is told by how the line looks.

Of keys that are unknown, missing or of the wrong kind `msgspec` names the first and stops. So what
it complains of is mended with a guess, and it is asked again: a person gets the whole list at once.
What follows from a guess is not told.
"""

from __future__ import annotations

import copy
import difflib
import re
import tomllib
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from alama.core import document
from alama.core.errors import FAULTS_MAX, InvalidPolicy, PolicyFault
from alama.core.lending import policy_check
from alama.core.lending.cash_flow import AprKind
from alama.core.lending.draft import default_policy
from alama.core.lending.policy import SCHEMA, CounterOffers, Decision, Fees, Kind, Per, Policy
from alama.core.lending.toml_lines import lines_of
from alama.core.product import PRODUCT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from enum import StrEnum

    from alama.core.catalogue import Catalogue
    from alama.core.lending.policy_check import Fault, Path


SIZE_MAX: Final = 2**18
"""Bytes beyond which a text is refused unread."""

DOTS_MAX: Final = 300
"""Dots in one line. tomllib takes the square of a dotted key's length; no figure needs as many."""

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
"""What some editors of Windows put in front of a text."""

MORE: Final = (
    "mend these first; behind a key that is missing or of the wrong kind there may be more"
)
UNREADABLE: Final = "start from a policy that was drafted"


def read(written: bytes, catalogue: Catalogue = PRODUCT) -> Policy:
    """Read a policy strictly, or raise `InvalidPolicy` with every fault and the line it stands on.

    Its own rules may name the fields of the catalogue.
    """
    if len(written) > SIZE_MAX:
        raise InvalidPolicy(f"the policy is larger than {SIZE_MAX // 1024} KiB")
    text = _decoded(written)
    tree = _parsed(text)
    if tree.get("schema") != SCHEMA:
        said = "no schema" if "schema" not in tree else "another schema"
        raise InvalidPolicy(
            f"the policy says {said}; this version reads {SCHEMA!r}",
            hint=f'its first line should be: schema = "{SCHEMA}"',
        )
    found = shaped(tree)
    faults = list(found.faults)
    if found.policy is not None:
        known = policy_check.faults(found.policy, catalogue)
        faults += [fault for fault in known if found.is_certain(fault[0])]
    if faults or found.policy is None:
        raise _refusal(text, tree, faults, hint=MORE if found.guessed else None)
    return document.seal(found.policy)


def decode(written: bytes, policy_id: str) -> Policy:
    """Read a stored policy, or raise `InvalidPolicy` if it is not the one of that id."""
    try:
        policy = unjudged(written)
    except InvalidPolicy:
        policy = None
    if policy is None or policy.id != policy_id:
        raise InvalidPolicy(
            f"the stored policy {policy_id} was changed or is damaged",
            hint="activate it again from its file, or another one, or restore it from a backup",
        )
    return policy


def unjudged(written: bytes) -> Policy:
    """Read a policy that has decided before, or raise `InvalidPolicy` where it has no such form.

    It was sound in its day, and its id says whether it is the same. To judge it again would close a
    lender's book, and every replay of its decisions, as soon as a later version of Alama asks for
    more.
    """
    text = _decoded(written)
    tree = _parsed(text)
    found = shaped(tree)
    if found.faults or found.policy is None:
        raise _refusal(text, tree, found.faults, hint=None)
    return document.seal(found.policy)


def tree_of(written: bytes) -> tuple[str, dict[str, Any]]:
    """Give a text of TOML and what it holds, or raise `InvalidPolicy` with the line that is none.

    It does not matter what the text is of.
    """
    text = _decoded(written)
    return text, _parsed(text)


def located(written: bytes, told: Iterable[Fault]) -> tuple[PolicyFault, ...]:
    """Give what is told of a policy that can be read with its lines, in the order of the text."""
    text = _decoded(written)
    return tuple(sorted(_located(text, _parsed(text), told), key=lambda fault: fault.line or 0))


def _located(text: str, tree: Mapping[str, Any], told: Iterable[Fault]) -> Iterator[PolicyFault]:
    shown = list(islice(told, FAULTS_MAX))
    found = lines_of(text, [path for path, _ in shown])
    for line, (path, fault) in zip(found, shown, strict=True):
        yield PolicyFault(line, policy_check.spell(path, tree), fault)


def _refusal(
    text: str, tree: Mapping[str, Any], faults: Iterable[Fault], hint: str | None
) -> InvalidPolicy:
    return InvalidPolicy.of(_located(text, tree, faults), hint=hint)


# ------------------------------------------------------------------------------------------ no TOML


SHOWN_MAX: Final = 70
"""Characters of a line that is shown; a longer one says nothing at a glance."""

_LISTS: Final = ("tiers", "rules", "portfolio", "products", "products.tiers")
_TWICE: Final = re.compile(r"overwrite|twice|mutate|immutable")
_UNCLOSED: Final = "Unclosed array"
_HEADER: Final = re.compile(r"\s*\[{1,2}\s*([\w.-]+)\s*\]{1,2}")
_KEY: Final = re.compile(r"\s*([\w.-]+)\s*=")
_GUESSES: Final = (
    # how the line looks, and what to say of it
    (r".*[“”‘’„].*", "write straight quotes, \" or '"),  # noqa: RUF001 - what is looked for
    (r"[^=]+=\s*(-?\d{1,3}(?:,\d{3})+)(?!\d).*", "write {plain} or {grouped}, without commas"),
    (r"[^=]+=\s*(-?\d{1,3}(?: \d{3})+)(?!\d).*", "write {plain} or {grouped}, without spaces"),
    (r"[^=]+=\s*(-?\d+,\d+)(?!\d).*", "write {point}, with a point"),
    (r"[^=]+=\s*(-?[\d.]+)\s*%.*", "write {0}, without %"),
    (r"[^=]+=\s*(-?)(\.\d+).*", "write {0}0{1}"),
    (r"[^=]+=\s*(-?\d+)\.(?!\d).*", "write {0} or {0}.0"),
    (r"[^=]+=\s*(-?\d[\d_.]*)\s*[^\W\d_]+\s*(?:#.*)?", "write the number alone: {0}"),
    (r'[^=]+=\s*"[^"#]*', 'a quote is not closed: it ends with "'),
    (r"[^=]+=\s*'[^'#]*", "a quote is not closed: it ends with '"),
    (r'[^=]+=\s*"[^"]*"\s*[^\s#,\]"].*', "inside \"...\" write '...'"),
    (r"[^=]+=\s*([^\W\d][\w -]*?)\s*(?:#.*)?", 'put a text in quotes: "{0}"'),
    (r"[^=]+=\s*(?:#.*)?", "write a value behind the ="),
    (r"\s*([\w-]+)\s*:\s*[^=]+", "write = between a key and its value, not :"),
    (r"\s*\[{1,2}[\w.]+\]?\s*(?:#.*)?", "close the brackets as they were opened"),
    (r"[^=#\[\]]+(?:#.*)?", "a key, = and a value are expected here; # begins a remark"),
)


def _decoded(written: bytes) -> str:
    written = written.removeprefix(_BYTE_ORDER_MARK)
    try:
        text = written.decode()
    except UnicodeDecodeError as error:
        line = written[: error.start].count(b"\n") + 1
        raise _unreadable(PolicyFault(line, "", "the text is not UTF-8")) from None
    for line, content in enumerate(text.split("\n"), start=1):
        if content.count(".") > DOTS_MAX:
            fault = f"a line has more than {DOTS_MAX} dots"
            raise _unreadable(PolicyFault(line, "", fault))
    return text


def _parsed(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _unreadable(_syntax_fault(str(error), text)) from None
    except RecursionError:
        raise _unreadable(PolicyFault(None, "", "the text is nested too deeply")) from None
    except ValueError:
        # Python reads no whole number of more than 4,300 digits.
        fault = "a number has thousands of digits"
        raise _unreadable(PolicyFault(None, "", fault)) from None


def _unreadable(fault: PolicyFault) -> InvalidPolicy:
    return InvalidPolicy.of([fault], hint=UNREADABLE)


def _syntax_fault(message: str, text: str) -> PolicyFault:
    """Take the line out of what tomllib says: "Invalid value (at line 3, column 9)"."""
    place = r"line (\d+), column \d+|end of document"
    found = re.fullmatch(rf"(.*) \(at (?:{place})\)", message, re.DOTALL)
    if found is None:
        return PolicyFault(None, "", message)
    said, number = found[1], found[2]
    if number is None:
        fault = f"this is not TOML: {said[0].lower()}{said[1:]} at the end of the text"
        return PolicyFault(None, "", fault)
    line = int(number)
    return PolicyFault(line, "", advice_on(text.split("\n")[line - 1], said))


def advice_on(line: str, complaint: str) -> str:
    """Say what is wrong with a line of which a reader of TOML complains, and show it."""
    guess = _repetition(line) if _TWICE.search(complaint.lower()) else _guess(line)
    if complaint == _UNCLOSED:
        guess = "a [ is not closed, here or above, or a comma is missing in the list"
    said = guess or f"this is not TOML: {complaint[0].lower()}{complaint[1:]}"
    shown = line.strip()
    is_fit = shown and shown.isprintable() and len(shown) <= SHOWN_MAX
    return f"{said} (the line is: {shown})" if is_fit else said


def _guess(line: str) -> str | None:
    for pattern, said in _GUESSES:
        if found := re.fullmatch(pattern, line.rstrip("\r")):
            figure = found[1] if found.re.groups else ""
            return said.format(
                *found.groups(),
                plain=re.sub("[ ,]", "", figure),
                grouped=re.sub("[ ,]", "_", figure),
                point=figure.replace(",", "."),
            )
    return None


def _repetition(line: str) -> str | None:
    """Speak of a table or a key that stands twice."""
    if header := _HEADER.match(line):
        name = header[1]
        if name in _LISTS:
            return f"write [[{name}]], with two brackets, above each of the {name}"
        return f"[{name}] stands twice: make one of them"
    if key := _KEY.match(line):
        missing = " or ".join(f"[[{name}]]" for name in _LISTS)
        return f"{key[1]} stands twice in its table: is a line {missing} missing above it?"
    return None


# --------------------------------------------------------------------------------------------- keys


_LEANS_ON: Final[Mapping[Path, tuple[Path, ...]]] = {
    ("tiers", "limit_max"): (("limit_step",),),
    ("standard_loan", "term_days"): (("terms_days",),),
    ("rules", "limit_max"): (("limit_step",),),
    ("caps", "apr_max"): (("pricing", "funding"), ("pricing", "margin")),
    ("caps", "charges_max"): (("terms_days",),),
    ("pricing", "margin"): (("pricing", "funding"),),
    ("portfolio", "tiers"): (("tiers",),),
    ("portfolio", "products"): (("products",),),
    ("exploration",): (("tiers",),),
    ("exploration", "score_min"): (("tiers",),),
    ("exploration", "limit_max"): (("limit_step",),),
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
    "bool": "true or false",
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
        if key[0] == "products":  # which is judged with all of the policy
            return not self.guessed
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
            kinds = _ENUMS.get(str(path[-1]) if path else "", Decision)
            self.faults.append((path, _fault(said, _at(self._tree, path), kinds)))
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


_ENUMS: Final[Mapping[str, type[StrEnum]]] = {
    "counter_offers": CounterOffers,
    "kind": Kind,
    "fees": Fees,
    "capped_apr": AprKind,
    "shown_apr": AprKind,
    "per": Per,
}
"""What the words of a key are; of all others, decisions."""


def _fault(said: str, value: object, words: type[StrEnum]) -> str:
    """Say in our words what msgspec says of a value."""
    if said.startswith("Invalid enum value"):
        return f"must be one of {', '.join(words)}{_near_word(value, words)}"
    if expected := re.fullmatch(r"Expected `(.*)`, got `.*`", said):
        return f"must be {_KINDS.get(expected[1], expected[1])}{_unquoted(expected[1], value)}"
    if said == "Number out of range":
        return "is too large a number"
    return said[0].lower() + said[1:]


def _near_word(value: object, words: type[StrEnum]) -> str:
    asked = str(value).strip()
    asked = asked.upper() if words is Decision else asked.lower()
    near = difflib.get_close_matches(asked, words, n=1)
    return f": did you mean {near[0]}?" if near else ""


def _unquoted(expected: str, value: object) -> str:
    """Say how to write a number that stands in quotes."""
    if not isinstance(value, str) or not expected.startswith(("int", "float")):
        return ""
    number = _QUOTED_NUMBER.fullmatch(value)
    return (
        "" if number is None else f": {re.sub('[, _]', '', number[1])}, without quotes and commas"
    )


_NOTHING: Final = object()


@cache
def _whole_sample() -> Mapping[str, Any]:
    sample: dict[str, Any] = msgspec.to_builtins(default_policy("KES"))
    rule = {"name": "own", "when": "", "decision": "REVIEW", "says": "", "limit_max": 1}
    cap: dict[str, Any] = {"name": "own", "per": "day", "decision": "REVIEW", "says": ""}
    cap |= {"number_max": 1, "volume_max": 1.0, "expected_loss_max": 1.0}
    cap |= {"regions": ["own"], "tiers": ["A"], "products": ["own"]}
    lot = {"share": 0.05, "score_min": 550, "limit_max": 1, "daily_max": 1}
    own = ("terms_days", "limit_step", "standard_loan", "tiers", "pricing", "caps", "repayment")
    product = {"name": "own", "default": True} | {key: sample[key] for key in own}
    sample |= {"portfolio": [cap], "exploration": lot, "products": [product]}
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


_DEPTH: Final = 5
"""Of `products[0].tiers[0]`: no part of a policy lies deeper."""


def _loose(value: Any, depth: int = _DEPTH) -> Any:  # noqa: ANN401 - as above
    """Copy tables and lists: as deep as a policy goes, and no deeper."""
    if not depth:
        return value
    if isinstance(value, list):
        return [_loose(one, depth - 1) for one in value]
    if isinstance(value, dict):
        return {name: _loose(one, depth - 1) for name, one in value.items()}
    return value


def _at(tree: Any, path: Path) -> Any:  # noqa: ANN401 - as above
    """Give what stands at a path that msgspec has named."""
    for step in path:
        tree = tree[step]
    return tree


def _without_places(path: Path) -> Path:
    return tuple(step for step in path if isinstance(step, str))
