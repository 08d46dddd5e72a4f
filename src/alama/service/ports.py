"""What the use cases need from outside, as they see it. `alama.storage` implements all of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from alama.core.tally import Tally
    from alama.service.applicants import Erasure, Held, Hold, TakenOut
    from alama.service.book import Book
    from alama.service.holds import Approved
    from alama.service.keys import Key
    from alama.service.lenders import Lender
    from alama.service.policies import Deployment, Pause, Signed
    from alama.service.records import Earlier, Entry, Fate, ScoreSummary, StoredScore
    from alama.service.retention import Plan
    from alama.service.vault.keys import VaultKey
    from alama.service.webhooks.events import EventKind

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

    def in_shadow(self, book: Book) -> bool:
        """Whether a live book is answered though the lender has no model of its own yet."""
        ...

    def pause(self, book: Book, pause: Pause) -> None:
        """Leave every decision of a book to a person; the first pause stands."""

    def resume(self, book: Book) -> Pause | None:
        """End the pause of a book, and give the one that was; None if there was none."""
        ...

    def pause_of(self, book: Book) -> Pause | None:
        """The pause of a book, if it is paused."""
        ...

    def wants(self, book: Book, kind: EventKind) -> bool:
        """Whether a webhook endpoint of a book is to hear of such events.

        One that is disabled counts: it may ask for them when it is enabled again.
        """
        ...


class ScoreWriter(Protocol):
    """Where scores are kept. Every method may raise `StoreUnavailable`."""

    def commit(self, entries: Sequence[Entry]) -> Sequence[Fate]:
        """Keep entries durably, all or none; where a key was answered before, say with what.

        One that needs a damaged key, of its applicant or its lender, is left out alone, and its
        error given. No two entries of one call may carry the same idempotency key.
        """
        ...

    def commit_now(self, entries: Sequence[Entry]) -> Sequence[Fate] | None:
        """Do as `commit` does if nobody has to be waited for but the disk; else give None."""
        ...


class Scores(ScoreWriter, Protocol):
    """The scores that were given. Every method may raise `StoreUnavailable`."""

    def find(self, book: Book, request_id: str) -> StoredScore:
        """One score of a book, or `UnknownScore`."""
        ...

    def page(self, book: Book, before: str | None, limit: int) -> Sequence[ScoreSummary]:
        """Scores of a book, newest first, from just before a request id on."""
        ...

    def waiting(self, book: Book, before: str | None, limit: int) -> Sequence[ScoreSummary]:
        """Those that `page` would go through which wait for a person: left open, not reviewed.

        Without those of applicants that were erased: nobody can decide on them any more.
        """
        ...

    def applications(self, book: Book, before: str | None, limit: int) -> Sequence[StoredScore]:
        """What was sent for the scores that `page` would give."""
        ...

    def approved(self, book: Book, since_hour: int) -> Approved:
        """What was approved in a book from an hour since 1970 on."""
        ...

    def tally(self, book: Book, first_day: int, last_day: int) -> Mapping[str, Tally]:
        """What each model, by its id, met and gave in a book in these days since 1970, UTC.

        Both days are included. Scores that were deleted and applicants that were erased are still
        counted.
        """
        ...


class VaultKeys(Protocol):
    """The keys of lenders and of the installation. Every method may raise `StoreUnavailable`."""

    def of(self, lender: str | None) -> Sequence[VaultKey]:
        """Those of the installation and of a lender, if one is named; not what was destroyed."""
        ...

    def master_id(self) -> str | None:
        """The master key that is the database's own, if that was ever settled."""
        ...

    def settle(self, lender: str | None, keys: Sequence[VaultKey]) -> Sequence[VaultKey] | None:
        """Keep first keys unless another process was quicker; give those that stand.

        None, and nothing is kept, where the database's own master key is not theirs by now.
        """
        ...

    def signing(self) -> Sequence[VaultKey]:
        """All keys that ever signed for the installation, oldest first; their `public` is kept."""
        ...


RequireTheirs = Callable[[Sequence["StoredScore"]], None]
"""Raises where scores are not of the applicant that was asked for, and then nothing is done."""


class ApplicantStore(Protocol):
    """What is held on applicants, whom a `subject` names. Methods may raise `StoreUnavailable`.

    Each act is written to the audit in its own transaction; `by` is who said so, if they did. Those
    that name a subject raise `UnknownApplicant`, and `StoreUnfit` while there are scores that were
    never sealed: nobody knows whose they are.
    """

    def look_up(self, book: Book, subject: bytes) -> Held:
        """Give what an applicant sent and was told; nothing is noted, for nobody has read it."""
        ...

    def take_out(
        self, book: Book, subject: bytes, require_theirs: RequireTheirs, by: str | None
    ) -> TakenOut:
        """Give all that is stored on an applicant, with what became of it."""
        ...

    def erase(
        self,
        book: Book,
        subject: bytes,
        require_theirs: RequireTheirs,
        now_us: int,
        by: str | None,
    ) -> Erasure:
        """Destroy the key of an applicant, and empty the replies under it; or `UnderHold`."""
        ...

    def place_hold(
        self, book: Book, subject: bytes, reason: str, now_us: int, by: str | None
    ) -> Hold:
        """Keep what is held on an applicant from being erased or deleted."""
        ...

    def release_hold(self, number: int, now_us: int, by: str | None) -> Hold:
        """End a hold; `UnknownHold` if none of this number stands."""
        ...

    def holds(self) -> Sequence[Hold]:
        """The holds that stand, oldest first."""
        ...


class RetentionStore(Protocol):
    """Scores that may go. Every method may raise `StoreUnavailable`.

    A score may go if it was given before a time, its loan would have been due before it too, and no
    hold stands on its applicant.
    """

    def outlived(self, book: Book, before_us: int) -> int:
        """How many scores of a book may go."""
        ...

    def kept(self, book: Book) -> int:
        """How many scores of a book there are."""
        ...

    def delete_outlived(self, plan: Plan, by: str | None) -> int:
        """Delete some of those, with what is theirs alone, and note which; how many are gone."""
        ...

    def policies(self, book: Book, before_us: int) -> Sequence[str]:
        """The policies that scores of a book name, of those given before a time."""
        ...

    def finish(self) -> bool:
        """Leave no trace of what was deleted; False where somebody is in the way right now."""
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
