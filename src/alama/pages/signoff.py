"""The end of a page that people sign: what they sign for, and room to do it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from alama.pages import numbers, page
from alama.pages.markup import Markup, join, tag

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_SIGNERS: Final = 2


def room(what: str, facts: Sequence[tuple[str, str]]) -> Markup:
    """Say what whoever signs approves, by the ids in the facts, and leave room for a pen."""
    blank = join(numbers.NO_BREAK * 18, tag("br"), tag("br"))
    return join(
        page.paragraph(
            f"Whoever signs has read this page, and approves {what}. Approval is given with a "
            "reason, by name, and kept in the audit log; where the lender asks for four eyes, by "
            "two people."
        ),
        page.facts(facts),
        page.table(
            ["Name", "Role", "Reason, and conditions if any", "Date and signature"],
            [[blank] * 4] * _SIGNERS,
            words=4,
        ),
    )


def blocked(gates: Iterable[str]) -> Markup:
    """Say that nobody can sign, and for which gates."""
    listed = ", ".join(gate.lower() for gate in gates)
    return page.paragraph(
        tag("strong", "This candidate cannot be signed. "), f"Not passed: {listed}."
    )
