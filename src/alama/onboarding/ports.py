"""What onboarding needs from outside. `alama.storage` implements all of it.

Every method names the lender, and finds nothing of another; but for those of workers, who serve
all lenders. Each may raise `StoreUnavailable`. What is done is written to the audit in the same
transaction; `by` is who said so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alama.lenders.records import Deployment
    from alama.onboarding.records import Candidate, Pilot, Signature


JudgeTerms = Callable[["Pilot | None"], None]
"""Raises where terms must not take the place of those before."""


def whatever_was_before(before: Pilot | None) -> None:
    """Let terms take the place of any."""


class Forgotten(NamedTuple):
    """What became of the file of a history; `is_news` is False where it was erased before.

    `journal_emptied` is False where SQLite's journal may still hold some of it, because somebody is
    reading from it.
    """

    is_news: bool
    journal_emptied: bool


class Dossier(NamedTuple):
    """All that decides whether a signature counts, as it stands in the transaction of it.

    `document` is the artefact of the candidate, `signatures` are all that it ever got, and
    `deployments` all that ever answered live, oldest first.
    """

    pilot: Pilot | None
    candidate: Candidate
    signatures: Sequence[Signature]
    document: bytes
    deployments: Sequence[Deployment]

    @property
    def live(self) -> tuple[str | None, str | None]:
        """The model and the policy that answer live; None stands for what the package brings."""
        return self.deployments[-1][:2] if self.deployments else (None, None)


class Counted(NamedTuple):
    """The signatures that count for a candidate, a new one last, and how many are needed."""

    signatures: Sequence[Signature]
    needed: int

    @property
    def enough(self) -> bool:
        """Whether they put its model in force."""
        return len(self.signatures) >= self.needed


Judge = Callable[[Dossier], Counted]
"""Raises where a new signature does not count; else gives it with those that count beside it."""

Choose = Callable[["Sequence[Deployment]"], str]
"""Gives the model to go back to, of all that ever answered, oldest first; or raises."""
