"""What the use cases need from outside, as they see it. `alama.storage` implements all of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from alama.service.book import Book
    from alama.service.holds import Approved
    from alama.service.keys import Key
    from alama.service.lenders import Lender
    from alama.service.policies import Deployment, Pause, Signed
    from alama.service.records import Earlier, Entry, ScoreRow, ScoreSummary, StoredApplication

Clock = Callable[[], int]
"""Gives the time in microseconds since 1970, UTC. It may be set, and then step back."""

Stopwatch = Callable[[], int]
"""Gives microseconds that only ever go forward, since nobody knows when: for how long it took."""


class Registry(Protocol):
    """Who may ask, and what answers them. Every method may raise `StoreUnavailable`."""

    def add_lender(self, lender: Lender) -> None:
        """Add one; `InvalidName` if the id is taken."""

    def lenders(self) -> Sequence[Lender]:
        """All of them, oldest first."""
        ...

    def lender(self, lender_id: str) -> Lender:
        """One of them, or `UnknownLender`."""
        ...

    def add_key(self, key: Key) -> None:
        """Keep a new key; `UnknownLender` if it is nobody's, `InvalidName` if it is taken."""

    def keys(self, lender_id: str | None = None) -> Sequence[Key]:
        """Keys of one lender or of all, oldest first."""
        ...

    def key(self, key_id: str) -> Key:
        """One of them, or `UnknownKey`."""
        ...

    def key_of(self, digest: bytes) -> Key | None:
        """The key with this keyed hash, whatever has become of it since."""
        ...

    def replace_key(self, old_id: str, expires_us: int, new: Key) -> None:
        """Keep a new key and let an old one expire at a time, both or neither.

        `UnknownKey` if the old one is not there or was revoked.
        """

    def revoke_key(self, key_id: str, revoked_us: int) -> None:
        """Revoke a key; the first time stands."""

    def note_key_use(self, last_used_us: Mapping[str, int]) -> None:
        """Note when keys were last used; a later use that was noted before stands."""

    def keep_model(self, model_id: str, document: bytes, created_us: int) -> None:
        """Keep an artefact for as long as a score may name it; the newest writing of it stands."""

    def model(self, model_id: str) -> bytes:
        """The artefact with this id, or `StoreUnfit`."""
        ...

    def keep_policy(self, policy_id: str, document: bytes, created_us: int) -> None:
        """Keep a policy, as `keep_model` does."""

    def policy(self, policy_id: str) -> bytes:
        """The policy with this id, or `StoreUnfit`."""
        ...

    def deploy(self, book: Book, model_id: str | None, policy_id: str | None, at_us: int) -> None:
        """Set what answers in a book; None stands for what comes with the package.

        `UnknownLender` or `StoreUnfit` if the lender, the model or the policy is not there.
        """

    def deploy_policy(self, book: Book, policy_id: str | None, signed: Signed) -> None:
        """Set the policy of a book and leave its model as it is; errors as in `deploy`."""

    def deployed(self, book: Book) -> tuple[str | None, str | None] | None:
        """What answers in a book: model and policy id; None if nothing was ever deployed."""
        ...

    def deployments(self, book: Book) -> Sequence[Deployment]:
        """All that ever answered in a book, oldest first."""
        ...

    def pause(self, book: Book, pause: Pause) -> None:
        """Leave every decision of a book to a person; the first pause stands."""

    def resume(self, book: Book) -> Pause | None:
        """End the pause of a book, and give the one that was; None if there was none."""
        ...

    def pause_of(self, book: Book) -> Pause | None:
        """The pause of a book, if it is paused."""
        ...


class ScoreWriter(Protocol):
    """Where scores are kept. Every method may raise `StoreUnavailable`."""

    def commit(self, entries: Sequence[Entry]) -> Sequence[Earlier | None]:
        """Keep entries durably, all or none; where a key was answered before, say with what.

        No two entries of one call may carry the same idempotency key.
        """
        ...

    def commit_now(self, entries: Sequence[Entry]) -> Sequence[Earlier | None] | None:
        """Do as `commit` does if nobody has to be waited for but the disk; else give None."""
        ...


class Scores(ScoreWriter, Protocol):
    """The scores that were given. Every method may raise `StoreUnavailable`."""

    def find(self, book: Book, request_id: str) -> ScoreRow:
        """One score of a book, or `UnknownScore`."""
        ...

    def page(self, book: Book, before: str | None, limit: int) -> Sequence[ScoreSummary]:
        """Scores of a book, newest first, from just before a request id on."""
        ...

    def applications(
        self, book: Book, before: str | None, limit: int
    ) -> Sequence[StoredApplication]:
        """What was sent for the scores that `page` would give."""
        ...

    def approved(self, book: Book, since_hour: int) -> Approved:
        """What was approved in a book from an hour since 1970 on."""
        ...


class Ledger(Protocol):
    """Where the scoring use case puts what has to be kept before it may answer."""

    def append(self, entry: Entry) -> Awaitable[Earlier | None]:
        """Return once the entry is durable, or give the earlier answer that stands instead."""
        ...


class LivingLedger(Ledger, Protocol):
    """A ledger with a beginning and an end, and a state of health."""

    @property
    def failing(self) -> bool:
        """Whether the last entries could not be kept."""
        ...

    def start(self) -> None:
        """Begin, in the event loop that runs now."""

    async def close(self) -> None:
        """Keep everything that was appended, then end."""
