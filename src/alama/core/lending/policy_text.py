"""The text of a policy: TOML in, TOML out.

Whoever reads a policy gets told the line of everything that is wrong with it.
"""

from __future__ import annotations

import re
import tomllib
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import msgspec

from alama.core import document, lines
from alama.core.errors import FAULTS_MAX, InvalidPolicy, PolicyFault
from alama.core.lending import policy_check
from alama.core.lending.policy import SCHEMA, Decision, Policy
from alama.core.product import PRODUCT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from alama.core.catalogue import Catalogue
    from alama.core.lending.policy_check import Path

SIZE_MAX: Final = 2**18
"""Bytes beyond which a text is refused unread."""

DOTS_MAX: Final = 300
"""Dots in one line. tomllib takes the square of a dotted key's length; no figure needs as many."""


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
    if "id" in tree:
        raise _refusal(text, [(("id",), "is worked out from the rest; leave it out")])
    try:
        policy = msgspec.convert({**tree, "id": ""}, Policy)
    except msgspec.ValidationError as error:
        raise _refusal(text, [_understood(error)]) from None
    if faults := list(policy_check.faults(policy, catalogue)):
        raise _refusal(text, faults)
    return document.seal(policy)


def decode(written: bytes, policy_id: str) -> Policy:
    """Read a stored policy, or raise `InvalidPolicy` if it is not the one of that id."""
    policy = read(written)
    if policy.id != policy_id:
        raise InvalidPolicy(
            "the content of the policy does not match its id: it was changed or damaged",
            hint="restore it from a backup",
        )
    return policy


# ------------------------------------------------------------------------ reading


def _decoded(written: bytes) -> str:
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
        raise _unreadable(_syntax_fault(str(error))) from None
    except RecursionError:
        raise _unreadable(PolicyFault(None, "", "the text is nested too deeply")) from None
    except ValueError:
        # Python reads no whole number of more than 4,300 digits.
        fault = "a number has thousands of digits"
        raise _unreadable(PolicyFault(None, "", fault)) from None


def _unreadable(fault: PolicyFault) -> InvalidPolicy:
    return InvalidPolicy.of([fault], hint="`alama policy init` writes a policy to start from")


def _syntax_fault(message: str) -> PolicyFault:
    """Take the line out of what tomllib says: "Invalid value (at line 3, column 9)"."""
    place = r"line (\d+), column \d+|end of document"
    found = re.fullmatch(rf"(.*) \(at (?:{place})\)", message, re.DOTALL)
    if found is None:
        return PolicyFault(None, "", message)
    line = None if found[2] is None else int(found[2])
    where = "" if line is not None else " at the end of the text"
    return PolicyFault(line, "", f"this is not TOML: {found[1][0].lower()}{found[1][1:]}{where}")


_COMPLAINT: Final = re.compile(r"(.*?)(?: - at `\$((?:\.\w+|\[\d+\])*)`)?", re.DOTALL)


def _understood(error: msgspec.ValidationError) -> tuple[Path, str]:
    """Turn "Expected `int`, got `str` - at `$.tiers[0].score_min`" into a path and a sentence."""
    found = _COMPLAINT.fullmatch(str(error))
    assert found is not None
    said, place = found[1], found[2] or ""
    path: Path = tuple(
        int(step[1:-1]) if step.startswith("[") else step[1:]
        for step in re.findall(r"\[\d+\]|\.\w+", place)
    )
    if unknown := re.search(r"unknown field `(.*)`", said, re.DOTALL):
        return (*path, unknown[1]), "is not a key of the policy; a typing error?"
    if missing := re.search(r"missing required field `(.*)`", said):
        return (*path, missing[1]), "is missing"
    if said.startswith("Invalid enum value"):
        return path, f"must be one of {', '.join(Decision)}"
    if expected := re.fullmatch(r"Expected `(.*)`, got `.*`", said):
        return path, f"must be {_KINDS.get(expected[1], expected[1])}"
    if said == "Number out of range":
        return path, "is too large a number"
    return path, said[0].lower() + said[1:]


_KINDS: Final = {
    "int": "a whole number",
    "float": "a number",
    "int | null": "a whole number",
    "float | null": "a number",
    "str": "a text in quotes",
    "array": "a list",
    "object": "a table",
}


def _refusal(text: str, faults: Iterable[tuple[Path, str]]) -> InvalidPolicy:
    shown = list(islice(faults, FAULTS_MAX))
    found = lines.lines_of(text, [path for path, _ in shown])
    return InvalidPolicy.of(
        PolicyFault(line, policy_check.spell(path), fault)
        for line, (path, fault) in zip(found, shown, strict=True)
    )
