"""What the audit needs from a database: its entries, and scores beside those that name them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager

    from alama.core.chain import Head, Link
    from alama.service.audit.documents import StoredDocument
    from alama.service.audit.histories import HistoryFile
    from alama.service.audit.reviews import ReviewRow
    from alama.service.audit.standing import Columns, Thing
    from alama.service.book import Book
    from alama.service.records import StoredScore
    from alama.service.vault.applicant import ApplicantKeyRow
    from alama.service.vault.keys import VaultKey


class Trail(Protocol):
    """The audit as it is stored. Every method may raise `StoreUnavailable`."""

    def writers(self) -> Sequence[str]:
        """The chains there are, `main` among them if it has an entry."""
        ...

    def entries(self) -> int:
        """How many entries there are in all chains."""
        ...

    def links(self, writer: str, after: int, limit: int) -> Sequence[Link]:
        """Entries of a chain, from just after a number on."""
        ...

    def newest(self, writer: str, before: int | None, limit: int) -> Sequence[Link]:
        """Entries of a chain, newest first, from just before a number on."""
        ...

    def heads(self) -> Sequence[Head]:
        """The last entry of each chain, `main` first, then the one that was written last."""
        ...

    def boundary(self, after_us: int) -> int | None:
        """A time some commits later than this one; None: there are fewer than that to come."""
        ...

    def document_count(self) -> int:
        """How many documents there are that are named by their content."""
        ...

    def documents(self) -> Iterator[StoredDocument]:
        """Give them one after the other: models, policies and candidates."""
        ...

    def history_files(self) -> Sequence[HistoryFile]:
        """The loan histories whose files are kept."""
        ...

    def history_part(self, history_id: str, number: int) -> tuple[str, bytes] | None:
        """Which key of its lender a part is sealed under, and the part; None: it is not there."""
        ...

    def moment(self) -> AbstractContextManager[Moment]:
        """Give the audit and the scores as they are at one moment."""
        ...


class Moment(Protocol):
    """One state of the database, in which nobody else writes. Times are half-open spans."""

    def acts_after(self, number: int) -> Sequence[Link]:
        """Entries of `main` after a number."""
        ...

    def commits(self, from_us: int, until_us: int | None) -> Sequence[Link]:
        """Entries of scores whose time is in a span; None stands for the end of all."""
        ...

    def standing(self) -> dict[Thing, Columns]:
        """All that acts speak of, from lenders to signatures, with the columns that they set."""
        ...

    def reviews(self) -> Iterator[ReviewRow]:
        """All reviews, each beside its score and the key of its applicant."""
        ...

    def vault_keys(self) -> Sequence[VaultKey]:
        """All keys of lenders and of the installation, destroyed ones included, oldest first."""
        ...

    def applicant_keys(self) -> Iterator[ApplicantKeyRow]:
        """All keys of applicants, erased ones included."""
        ...

    def scores(self, book: Book, from_us: int, until_us: int | None) -> Iterator[StoredScore]:
        """Scores of a book whose ids are of a span; the first has all that are no ids, too."""
        ...
