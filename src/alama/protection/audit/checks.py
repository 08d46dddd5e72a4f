"""What stands in the tables, held against the acts: keys, documents, files, people and reviews.

The first key for a purpose is made when it is needed, and no act says so. Every other one takes the
place of the one before it, and the act of that rotation names it.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from contextlib import suppress
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Final

from alama.core import model, own_fields
from alama.core.errors import AlamaError
from alama.core.lending import draft, policy_text
from alama.monitoring.reviews import open_noted
from alama.platform import ids
from alama.platform.acts import ERASED_US, RETIRES, Act, ActKind
from alama.platform.book import Book, Mode
from alama.platform.errors import StoreUnfit
from alama.protection.audit.records import (
    DocumentKind,
    Finding,
    HistoryFile,
    ReviewColumns,
    ReviewRow,
    Trouble,
    Watch,
)
from alama.vault import envelope, ring
from alama.vault.keys import PREFIX, Purpose, VaultKey
from alama.vault.ring import APPLICANT_KEY_PREFIX, ApplicantKey, ApplicantKeyRow

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from alama.core.model import Model
    from alama.lenders.store import Registry
    from alama.protection.audit.chains import Chains
    from alama.protection.audit.expected import ExpectedReviews, ExpectedState
    from alama.protection.audit.store import Moment, Trail
    from alama.vault.vault import Seen, Vault


_FIND = "find key"


class KnownKeys:
    """Knows which keys there are, and counts what would need those that are not."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault
        self._seen: dict[str, Seen] = {}
        self._missing: Counter[tuple[str, str]] = Counter()

    def has(self, lender: str, key_id: str) -> bool:
        """Say whether a key is there and whole; one that is not is counted."""
        found = self._opens(lender, key_id)
        if not found:
            self._missing[lender, key_id] += 1
        return found

    def look_at(self, rows: Iterable[VaultKey]) -> None:
        """Note those that are there and do not open, though nothing may need them yet."""
        for row in rows:
            if row.lender is None or not row.wrapped or self._opens(row.lender, row.id):
                continue
            name = _FIND if row.purpose == Purpose.FIND else row.id
            self._missing[row.lender, name] += 0

    def subject(self, lender: str, mode: str, applicant_ref: str) -> bytes | None:
        """Give what an applicant is found by; None where the key for that is missing."""
        find_key = self._at(lender).find_key
        if find_key is None:
            self._missing[lender, _FIND] += 1
            return None
        return ring.subject(find_key, mode, applicant_ref)

    def findings(self) -> Iterator[Finding]:
        """Name each key that was missed."""
        for (lender, key_id), count in sorted(self._missing.items()):
            what = f"{count:,} scores or applicants of {lender} need it"
            if count <= 1:
                what = f"{'one' if count else 'no'} score or applicant of {lender} needs it"
            yield Finding(Trouble.KEY, key_id, what)

    def _opens(self, lender: str, key_id: str) -> bool:
        if key_id in self._at(lender).key_ids:
            return True
        # It may be newer than our last look.
        self._seen.pop(lender)
        return key_id in self._at(lender).key_ids

    def _at(self, lender: str) -> Seen:
        if lender not in self._seen:
            self._seen[lender] = self._vault.seen(lender)
        return self._seen[lender]


_READ: Final = {
    DocumentKind.MODEL: model.stored,
    DocumentKind.POLICY: policy_text.decode,
    DocumentKind.FIELDS: own_fields.decode,
    DocumentKind.CANDIDATE: model.stored,
}


def check_documents(trail: Trail, watch: Watch) -> Iterator[Finding]:
    """Hash every document against its id, which takes no key and no act."""
    with watch("documents", trail.document_count()) as done:
        for kind, name, document_id, content in trail.documents():
            try:
                _READ[kind](content, document_id)
            except AlamaError as error:
                yield Finding(Trouble.DOCUMENT, f"{kind} {name}", str(error))
            done(1)


def damaged_copy(registry: Registry, builtin: Model) -> AlamaError | None:
    """Say what is wrong with a kept copy of what the package brings; before a score is none."""
    policy_ids = {draft.default_policy(one.currency).id for one in registry.lenders()}
    try:
        with suppress(StoreUnfit):
            model.stored(registry.model(builtin.id), builtin.id)
        for policy_id in policy_ids:
            with suppress(StoreUnfit):
                policy_text.decode(registry.policy(policy_id), policy_id)
    except AlamaError as damaged:
        return damaged
    return None


def check_histories(
    trail: Trail, vault: Vault, lender_keys: KnownKeys, watch: Watch
) -> Iterator[Finding]:
    """Hash every file against its digest, with one part in memory at a time."""
    files = trail.history_files()
    with watch("loan histories", len(files)) as done:
        for file in files:
            fault = _fault(file, trail, vault, lender_keys)
            # One that was forgotten meanwhile has no parts any more.
            if fault is not None and file in trail.history_files():
                yield Finding(Trouble.HISTORY, file.id, fault)
            done(1)


def _fault(file: HistoryFile, trail: Trail, vault: Vault, lender_keys: KnownKeys) -> str | None:
    seen = hashlib.sha256()
    for number in range(1, file.part_count + 1):
        part = trail.history_part(file.id, number)
        if part is None:
            return f"part {number} is gone"
        key_id, sealed = part
        if not lender_keys.has(file.lender, key_id):
            return None  # which is told of the key
        where = envelope.place_in_history(file.lender, file.id, number)
        try:
            seen.update(envelope.open_alone(vault.lender_key(file.lender, key_id), sealed, where))
        except envelope.NotOpened:
            return f"part {number} does not open"
    return None if f"sha256:{seen.hexdigest()}" == file.digest else "it has another hash"


def check_applicants(
    moment: Moment, expected: ExpectedState, vault: Vault, lender_keys: KnownKeys
) -> Iterator[Finding]:
    """Check every key: it stands and opens, or it was erased, and neither in between."""
    for row in moment.applicant_keys():
        if row.erased_us is not None:
            yield from _erased(row, expected)
        elif row.id in expected.erased:
            yield Finding(Trouble.RESTORED, row.id, f"of {row.lender}, {row.mode} mode")
        else:
            yield from _standing(row, vault, lender_keys)


def _erased(row: ApplicantKeyRow, expected: ExpectedState) -> Iterator[Finding]:
    act = expected.erased.get(row.id)
    if act is None:
        yield Finding(Trouble.ERASED, row.id, f"of {row.lender}, {row.mode} mode")
        return
    said = (act.lender, act.mode, act.details.get(ERASED_US))
    if (row.lender, row.mode, row.erased_us) != said:
        yield Finding(
            Trouble.APPLICANT, row.id, "it was erased in another book, or at another time"
        )
    if row.subject is not None or row.wrapped is not None:
        yield Finding(Trouble.RESTORED, row.id, "something of it is there again")
    yield from _its_time(row)


def _standing(row: ApplicantKeyRow, vault: Vault, lender_keys: KnownKeys) -> Iterator[Finding]:
    if row.subject is None:
        yield Finding(Trouble.APPLICANT, row.id, "nobody can be found by it any more")
    yield from _its_time(row)
    if not lender_keys.has(row.lender, row.lender_key_id):
        return
    try:
        key = ApplicantKey(row.id, row.lender_key_id, row.wrapped, row.erased_us)
        vault.data_key(row.lender, row.mode, key)
    except StoreUnfit:
        yield Finding(Trouble.APPLICANT, row.id, "it does not open")


def _its_time(row: ApplicantKeyRow) -> Iterator[Finding]:
    began = ids.beginning(APPLICANT_KEY_PREFIX, row.created_us)
    if not row.id.startswith(began):
        yield Finding(Trouble.APPLICANT, row.id, "the time when it was made is another")


def check_vault_keys(rows: Sequence[VaultKey], chains: Chains) -> Iterator[Finding]:
    """Check of every key, destroyed ones included, whose it is, and since when and until when."""
    for row in rows:
        yield from _by_itself(row)
    for (lender, purpose), group in groupby(sorted(rows, key=_whose), key=_whose):
        keys = list(group)
        order = _order(lender, purpose, keys, chains)
        missing = set(order) - {key.id for key in keys}
        followed = dict(pairwise(order))
        for key in keys:
            if key.id in order:
                yield from _in_its_place(key, followed.get(key.id))
            elif missing:
                yield Finding(Trouble.KEY, key.id, "it was made in the place of one that is gone")
            else:
                yield _key_finding(key, "no act says that it was made")


def _whose(key: VaultKey) -> tuple[str, str]:
    return (key.lender or "", key.purpose)


def _order(lender: str, purpose: str, keys: Sequence[VaultKey], chains: Chains) -> list[str]:
    """Give the keys that there were by the acts, one after another."""
    if purpose == Purpose.SIGN:
        rotations = _rotations(chains, ActKind.SIGNING_KEY_ROTATED, None)
        first = str(rotations[0].details.get(RETIRES)) if rotations else chains.first_signer
    else:
        rotations = _rotations(chains, ActKind.LENDER_KEY_ROTATED, lender)
        rotations = rotations if purpose == Purpose.SEAL else []
        made = {act.subject for act in rotations}
        first = next((key.id for key in keys if key.id not in made), None)
    replaced_by = [str(act.subject) for act in rotations]
    return replaced_by if first is None else [first, *replaced_by]


def _rotations(chains: Chains, kind: ActKind, lender: str | None) -> list[Act]:
    return [act for act in chains.expected.rotations if act.kind is kind and act.lender == lender]


def _by_itself(key: VaultKey) -> Iterator[Finding]:
    signs = key.purpose == Purpose.SIGN
    if key.purpose not in set(Purpose) or signs is not (key.lender is None):
        yield _key_finding(key, "whose it is, or what it is for, was changed")
    if not key.id.startswith(ids.beginning(PREFIX, key.created_us)):
        yield _key_finding(key, "the time when it was made is another")


def _in_its_place(key: VaultKey, next_id: str | None) -> Iterator[Finding]:
    """Check that a key was retired when the next one was made, and not otherwise."""
    if next_id is None:
        if key.retired_us is not None:
            yield _key_finding(key, "it was retired, and no act says so")
        return
    if key.retired_us is None:
        yield _key_finding(key, f"it stands, though {next_id} has replaced it")
    elif not next_id.startswith(ids.beginning(PREFIX, key.retired_us)):
        yield _key_finding(key, "the time when it was retired is another")
    if key.purpose == Purpose.SIGN and key.wrapped:
        yield _key_finding(key, "its private half is there again, and was destroyed")


def _key_finding(key: VaultKey, what: str) -> Finding:
    return Finding(Trouble.STANDING, f"key {key.id}", what)


def check_reviews(
    moment: Moment, expected: ExpectedReviews, vault: Vault, lender_keys: KnownKeys
) -> Iterator[Finding]:
    """Check every review: it says what the act and the score do.

    Of the reason and the note that is told by their digest, as long as the note can be opened.
    """
    for row in moment.reviews():
        said = expected.pop(row)
        if said is None:
            yield _review_finding(row.request_id, "no act says that it was made")
            continue
        yield from _differences(row.request_id, said.columns, row.columns)
        for name in row.strange:
            yield _review_finding(row.request_id, f"{name} is not that of its score")
        if not row.strange and _can_be_opened(row, lender_keys):
            yield from _opened(row, vault, said.digest)
    for request_id in expected.left():
        yield _review_finding(request_id, "it was taken away")


def _can_be_opened(row: ReviewRow, lender_keys: KnownKeys) -> bool:
    key = row.applicant
    if key is not None:
        # Of a key that was erased, or is not as it was, it is told elsewhere, once.
        is_whole = key.erased_us is None and bool(key.wrapped)
        return is_whole and lender_keys.has(row.lender, key.lender_key_id)
    return row.seal_key_id is None or lender_keys.has(row.lender, row.seal_key_id)


def _opened(row: ReviewRow, vault: Vault, known: object) -> Iterator[Finding]:
    book = Book(row.lender, Mode(row.mode))  # which an act has named
    try:
        noted = open_noted(vault, book, row.request_id, row.note, row.seal_key_id, row.applicant)
    except StoreUnfit:
        yield _review_finding(row.request_id, "its note does not open")
    else:
        if noted.digest(row.reason) != known:
            yield _review_finding(row.request_id, "its reason or its note is not what was said")


def _differences(request_id: str, said: ReviewColumns, found: ReviewColumns) -> Iterator[Finding]:
    for name, was, now in zip(ReviewColumns._fields, said, found, strict=True):
        if was != now:
            yield _review_finding(request_id, f"{name} is {now!r}, and was set to {was!r}")


def _review_finding(request_id: str, what: str) -> Finding:
    return Finding(Trouble.STANDING, f"review of {request_id}", what)
