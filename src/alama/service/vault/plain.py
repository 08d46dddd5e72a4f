"""What was kept before anything was sealed, sealed now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from alama.service.audit.acts import Act, Kind
from alama.service.records import unpack

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from alama.service.vault.rotation import Advance

REFERENCE: Final = "applicant_ref"


class PlainStore(Protocol):
    """Where plain records are sealed. Every method may raise `StoreUnavailable`."""

    def count_plain(self) -> int:
        """How many records are not sealed."""
        ...

    def seal_plain(self, reference_of: Callable[[bytes, str], str | None]) -> Iterator[int]:
        """Seal them in batches, and give how many each was; the function reads a record."""
        ...

    def note(self, act: Act) -> None:
        """Write an act down."""


def seal_plain(store: PlainStore, advance: Advance, by: str | None) -> int:
    """Seal every plain record, under the key of its applicant if it names one."""
    sealed = 0
    for count in store.seal_plain(reference_of):
        sealed += count
        advance(count)
    if sealed:
        store.note(Act(Kind.RECORDS_SEALED, details={"texts": sealed}, by=by))
    return sealed


def reference_of(record: bytes, request_id: str) -> str | None:
    """Read whom a plain record is about, or raise `StoreUnfit`."""
    sent = unpack(record, request_id).application
    reference = msgspec.json.decode(sent, type=dict[str, object]).get(REFERENCE)
    return reference.strip() if isinstance(reference, str) else None
