"""The text of a policy, read.

Whoever reads a policy gets told the line of everything that is wrong with it.
"""

from __future__ import annotations

import re
import tomllib
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from alama.core import document, lines
from alama.core.errors import FAULTS_MAX, InvalidPolicy, PolicyFault
from alama.core.lending import policy_check
from alama.core.lending.policy import SCHEMA
from alama.core.lending.policy_shape import shaped
from alama.core.lending.toml_advice import advice_on
from alama.core.product import PRODUCT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from alama.core.catalogue import Catalogue
    from alama.core.lending.policy import Policy
    from alama.core.lending.policy_check import Fault

SIZE_MAX: Final = 2**18
"""Bytes beyond which a text is refused unread."""

DOTS_MAX: Final = 300
"""Dots in one line. tomllib takes the square of a dotted key's length; no figure needs as many."""

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
"""What some editors of Windows put in front of a text."""

_MORE: Final = (
    "mend these first; behind a key that is missing or of the wrong kind `alama policy check` may "
    "find more"
)


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
        raise _refusal(text, tree, faults, hint=_MORE if found.guessed else None)
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


# ------------------------------------------------------------------------ reading


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
    return InvalidPolicy.of([fault], hint="`alama policy init` writes a policy to start from")


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


# ------------------------------------------------------------------------ telling


def located(written: bytes, told: Iterable[Fault]) -> tuple[PolicyFault, ...]:
    """Give what is told of a policy that can be read with its lines, in the order of the text."""
    text = _decoded(written)
    return tuple(sorted(_located(text, _parsed(text), told), key=lambda fault: fault.line or 0))


def _located(text: str, tree: Mapping[str, Any], told: Iterable[Fault]) -> Iterator[PolicyFault]:
    shown = list(islice(told, FAULTS_MAX))
    found = lines.lines_of(text, [path for path, _ in shown])
    for line, (path, fault) in zip(found, shown, strict=True):
        yield PolicyFault(line, policy_check.spell(path, tree), fault)


def _refusal(
    text: str, tree: Mapping[str, Any], faults: Iterable[Fault], hint: str | None
) -> InvalidPolicy:
    return InvalidPolicy.of(_located(text, tree, faults), hint=hint)
