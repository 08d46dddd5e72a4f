"""What must stand by the acts, from lenders to signatures, to be held against the tables.

Whatever an act says of a thing must be so; what it is silent on, such as when a key was last used,
is not looked at.
"""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING, Final

import msgspec

from alama.platform import acts, ids
from alama.platform.acts import (
    ADDRESS,
    GATES_FAILED,
    GATES_HASH,
    HOLD,
    PACK_HASH,
    PAGE_HASH,
    REASON,
    REPLACED_EXPIRES_US,
    REPLACES,
    REPORT_HASH,
    Act,
    ActKind,
)
from alama.protection import retention
from alama.protection.audit.records import Finding, ReviewColumns, ReviewRow, ReviewSaid, Trouble

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from alama.core.chain import Link


Thing = tuple[str, str]
"""A kind of thing, and what one of them is known by."""

Columns = dict[str, object]

LENDER: Final = "lender"
KEY: Final = "key"
DEPLOYMENT: Final = "deployment"
FIELDS: Final = "own fields"
PAUSE: Final = "pause"
HELD: Final = "hold"
LISTED: Final = "list entry"
ENDPOINT: Final = "webhook endpoint"
PILOT: Final = "terms"
HISTORY: Final = "loan history"
CANDIDATE: Final = "candidate"
SIGNATURE: Final = "signature"

_KEYS: Final = frozenset({ActKind.KEY_ISSUED, ActKind.KEY_ROTATED, ActKind.KEY_REVOKED})
_DEPLOYED: Final = frozenset({ActKind.DEPLOYED, ActKind.POLICY_DEPLOYED, ActKind.FIELDS_ACTIVATED})
_ENDPOINT_SET: Final = frozenset({ActKind.ENDPOINT_ADDED, ActKind.ENDPOINT_CHANGED})
_ENDPOINTS: Final = _ENDPOINT_SET | {ActKind.ENDPOINT_DISABLED, ActKind.ENDPOINT_REMOVED}
_HOLDS: Final = frozenset({ActKind.HOLD_PLACED, ActKind.HOLD_RELEASED})
_PAUSES: Final = frozenset({ActKind.PAUSED, ActKind.RESUMED})
_LISTS: Final = frozenset({ActKind.APPLICANT_LISTED, ActKind.APPLICANT_UNLISTED})
_ONBOARDING: Final = frozenset(
    {
        ActKind.PILOT_SET,
        ActKind.SHADOW_BEGUN,
        ActKind.HISTORY_KEPT,
        ActKind.CANDIDATE_MADE,
        ActKind.CANDIDATE_SIGNED,
    }
)

STAND_IN_ROWS: Final = frozenset(
    {
        ActKind.LENDER_ADDED,
        *_KEYS,
        *_PAUSES,
        *_DEPLOYED,
        *_HOLDS,
        *_LISTS,
        *_ONBOARDING,
        *_ENDPOINTS,
    }
)
"""What `ExpectedRows` does again. An act that changes a row and is not done again would be told as
tampering, so a test asks of each kind that it stands here or below."""

STAND_IN_NO_ROW: Final = frozenset(
    {
        ActKind.APPLICANT_ERASED,
        ActKind.APPLICANT_EXPORTED,
        ActKind.APPLICANT_KEY_ROTATED,
        ActKind.CHAIN_CLOSED,
        ActKind.CHAIN_OPENED,
        ActKind.CHALLENGER_ENDED,
        ActKind.CHALLENGER_SET,
        ActKind.CLOCK_ACCEPTED,
        ActKind.DRIFT_DETECTED,
        ActKind.ENDPOINT_SECRET_ROTATED,
        ActKind.HEADS_NOTED,
        ActKind.HISTORY_FORGOTTEN,
        ActKind.HISTORY_RECEIVED,
        ActKind.LENDER_KEY_ROTATED,
        ActKind.LOANS_RECORDED,
        ActKind.MAPPING_KEPT,
        ActKind.MAPPING_REMOVED,
        ActKind.MASTER_KEY_ROTATED,
        ActKind.OUTCOMES_RECORDED,
        ActKind.RETENTION_RUN,
        ActKind.ROLLED_BACK,
        ActKind.SCORE_REVIEWED,
        ActKind.SIGNING_KEY_ROTATED,
        ActKind.TRAINING_ASKED,
    }
)
"""What leaves no row that is held against acts here, or is held against them by another check."""
_UNSHOWN: Final = frozenset(
    {ADDRESS, GATES_HASH, PACK_HASH, PAGE_HASH, REPORT_HASH, "digest", "key_id"}
)
"""Columns whose values say nothing to a person."""


def deployment_of(lender: object, mode: object, place: int) -> Thing:
    return (DEPLOYMENT, f"{place} of {lender} {mode}")


def fields_of(lender: object, place: int) -> Thing:
    return (FIELDS, f"{place} of {lender}")


def pause_of(lender: object, mode: object) -> Thing:
    """Name the pause of a book, of which there is one at most."""
    return (PAUSE, f"of {lender} {mode}")


def terms_of(lender: object) -> Thing:
    return (PILOT, f"of {lender}")


def signature_of(candidate_id: object, number: object) -> Thing:
    return (SIGNATURE, f"{number} of {candidate_id}")


class ExpectedRows:
    """Follows the acts, one after another."""

    def __init__(self) -> None:
        self.things: dict[Thing, Columns] = {}
        self._deployments: Counter[tuple[str | None, str | None]] = Counter()

    def take(self, act: Act) -> None:
        """Do again what an act says, if it is about such a thing."""
        book: Columns = {"lender": act.lender, "mode": act.mode}
        if act.kind is ActKind.LENDER_ADDED:
            self.things[LENDER, str(act.lender)] = dict(act.details)
        elif act.kind in _KEYS:
            self._key(act, book)
        elif act.kind in _DEPLOYED:
            self._deploy(act)
        elif act.kind in _PAUSES:
            self.things.pop(pause_of(act.lender, act.mode), None)
            if act.kind is ActKind.PAUSED:
                self.things[pause_of(act.lender, act.mode)] = dict(act.details)
        elif act.kind in _HOLDS:
            self._hold(act, book)
        elif act.kind in _LISTS:
            self._list(act, book)
        elif act.kind in _ONBOARDING:
            self._onboarding(act)
        elif act.kind in _ENDPOINTS:
            self._endpoint(act, book)

    def _deploy(self, act: Act) -> None:
        self._deployments[act.lender, act.mode] += 1  # fields are of no mode
        place = self._deployments[act.lender, act.mode]
        is_fields = act.kind is ActKind.FIELDS_ACTIVATED
        thing = (
            fields_of(act.lender, place)
            if is_fields
            else deployment_of(act.lender, act.mode, place)
        )
        self.things[thing] = dict(act.details)

    def _list(self, act: Act, book: Columns) -> None:
        if act.kind is ActKind.APPLICANT_LISTED:
            said: Columns = {**book, "person": act.by, **act.details}
            self.things[LISTED, str(act.subject)] = said
        else:
            self.forget_applicant(str(act.subject))

    def forget_applicant(self, key_id: str) -> None:
        """Expect no entry of an applicant in a list any more: removed, or gone with the erasure."""
        self.things.pop((LISTED, key_id), None)

    def _key(self, act: Act, book: Columns) -> None:
        if act.kind is ActKind.KEY_REVOKED:
            self.things.get((KEY, str(act.subject)), {}).update(act.details)
            return
        said = dict(act.details)
        replaced, expires_us = said.pop(REPLACES, None), said.pop(REPLACED_EXPIRES_US, None)
        if replaced is not None:
            self.things.get((KEY, str(replaced)), {})["expires_us"] = expires_us
        self.things[KEY, str(act.subject)] = book | said | {"revoked_us": None}

    def _hold(self, act: Act, book: Columns) -> None:
        said = dict(act.details)
        thing = (HELD, str(said.pop(HOLD, None)))
        if act.kind is ActKind.HOLD_PLACED:
            # A number is given again once the row that had it was deleted.
            self.things[thing] = book | {"key_id": act.subject, "released_us": None}
        self.things.setdefault(thing, {}).update(said)

    def _endpoint(self, act: Act, book: Columns) -> None:
        thing = (ENDPOINT, str(act.subject))
        if act.kind in _ENDPOINT_SET:
            self.things[thing] = book | act.details
        elif act.kind is ActKind.ENDPOINT_DISABLED:
            disabled_us = act.details.get("disabled_us")
            self.things.setdefault(thing, {})["disabled_us"] = disabled_us
        elif act.kind is ActKind.ENDPOINT_REMOVED:
            self.things.pop(thing, None)

    def _onboarding(self, act: Act) -> None:
        said = dict(act.details)
        if act.kind is ActKind.HISTORY_KEPT:
            read: Columns = {"digest": said.pop("file", None), "row_count": said.pop("rows", None)}
            kept: Columns = {"lender": act.lender, "kept_by": act.by, **read, **said}
            self.things[HISTORY, str(act.subject)] = kept
        elif act.kind is ActKind.CANDIDATE_MADE:
            said.pop(GATES_FAILED, None)  # for people: the hash of the gates says which
            made: Columns = {"lender": act.lender, "made_by": act.by, **said}
            self.things[CANDIDATE, str(act.subject)] = made
        elif act.kind is ActKind.CANDIDATE_SIGNED:
            thing = signature_of(act.subject, said.pop("number", None))
            said.pop("model_id", None)  # that of the candidate, not of the signature
            self.things[thing] = {"lender": act.lender, "person": act.by, **said}
        else:
            said.pop(REASON, None)  # why fewer approve is said here alone
            self.things.setdefault(terms_of(act.lender), {"shadow_us": None}).update(said)

    def against(self, there: Mapping[Thing, Columns]) -> Iterator[Finding]:
        """Hold what there is against what was done, both ways."""
        for thing, said in self.things.items():
            found = there.get(thing)
            if found is not None:
                yield from _differences(thing, said, found)
            elif said.get("released_us") is None:
                yield Finding(Trouble.STANDING, " ".join(thing), "it was taken away")
            # A hold that was released goes with the data of its applicant.
        for thing in there.keys() - self.things.keys():
            yield Finding(Trouble.STANDING, " ".join(thing), "no act says that it was made")


def _differences(thing: Thing, said: Columns, found: Columns) -> Iterator[Finding]:
    if said.get("released_us") is not None:
        said = said | {"key_id": found.get("key_id")}  # whose key may be gone by now
    for column, value in said.items():
        if found.get(column) != value:
            what = f"{column} is not what was set"
            if column not in _UNSHOWN:
                what = f"{column} is {found.get(column)!r}, and was set to {value!r}"
            yield Finding(Trouble.STANDING, " ".join(thing), what)


class ExpectedReviews:
    """Follows the acts of reviews, one after another.

    There may be as many as a tenth of all scores: of each no more is remembered than that takes.
    """

    def __init__(self) -> None:
        self._said: dict[tuple[str, str], dict[str, ReviewSaid]] = {}

    def take(self, act: Act) -> None:
        """Note a review."""
        said = [act.details.get(name) for name in ReviewColumns._fields[:-1]]
        columns = ReviewColumns._make(map(_shared, (*said, act.by)))
        self._book(act)[str(act.subject)] = ReviewSaid(columns, act.details.get(acts.DIGEST))

    def forget(self, run: Act) -> None:
        """Leave out the reviews of scores that a retention run has deleted."""
        book = self._book(run)
        for raw in retention.deleted_in(run) if book else ():
            book.pop(ids.PREFIX + raw.hex(), None)

    def pop(self, row: ReviewRow) -> ReviewSaid | None:
        """Give what was said of a review, and forget it; None: no act speaks of it."""
        return self._said.get((row.lender, row.mode), {}).pop(row.request_id, None)

    def left(self) -> Iterator[str]:
        """Give the ids of scores whose reviews were asked for by nobody."""
        for book in self._said.values():
            yield from book

    def _book(self, act: Act) -> dict[str, ReviewSaid]:
        return self._said.setdefault((str(act.lender), str(act.mode)), {})


def _shared(value: object) -> object:
    """Give the same text each time: there are few decisions, people and keys."""
    return sys.intern(value) if isinstance(value, str) else value


class ExpectedState:
    """What the acts of `main` say that other findings depend on."""

    def __init__(self) -> None:
        self.heads: dict[str, dict[int, bytes]] = {}
        self.erased: dict[str, Act] = {}
        """Who was erased, by the ids of their keys."""
        self.deleted: dict[tuple[str, str], set[bytes]] = {}
        """The scores that retention runs have deleted, by lender and mode: the bytes of ids."""
        self.rows = ExpectedRows()
        self.reviews = ExpectedReviews()
        self.rotations: list[Act] = []
        """By which keys of lenders, and the one that signs, were replaced; in their order."""

    def take(self, link: Link) -> None:
        """Read an act, which nobody has changed."""
        try:
            act = acts.decode(link.body)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return  # of a later version: whatever it is, it is signed
        for head in acts.heads_in(act):
            self.heads.setdefault(head.writer, {})[head.number] = head.hash
        if act.kind is ActKind.APPLICANT_ERASED:
            self.erased[str(act.subject)] = act
            self.rows.forget_applicant(str(act.subject))
        elif act.kind is ActKind.RETENTION_RUN:
            book = (str(act.lender), str(act.mode))
            self.deleted.setdefault(book, set()).update(retention.deleted_in(act))
            self.reviews.forget(act)
        elif act.kind is ActKind.SCORE_REVIEWED:
            self.reviews.take(act)
        elif act.kind in {ActKind.LENDER_KEY_ROTATED, ActKind.SIGNING_KEY_ROTATED}:
            self.rotations.append(act)
        else:
            self.rows.take(act)

    def was_deleted(self, lender: str, mode: str, request_id: str) -> bool:
        """Say whether a retention run accounts for a score that is not there."""
        return ids.raw(request_id) in self.deleted.get((lender, mode), ())
