"""The fifth part of a verification: the keys of the vault against the acts that replaced them.

The first key for a purpose is made when it is needed, and no act says so. Every other one takes the
place of the one before it, and the act of that rotation names it.
"""

from __future__ import annotations

from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from alama.service import ids
from alama.service.audit.acts import RETIRES, Kind
from alama.service.audit.findings import Finding, Trouble
from alama.service.vault.keys import PREFIX, Purpose

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from alama.service.audit.acts import Act
    from alama.service.audit.chains import Chains
    from alama.service.vault.keys import VaultKey


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
                yield _finding(key, "no act says that it was made")


def _whose(key: VaultKey) -> tuple[str, str]:
    return (key.lender or "", key.purpose)


def _order(lender: str, purpose: str, keys: Sequence[VaultKey], chains: Chains) -> list[str]:
    """Give the keys that there were by the acts, one after another."""
    if purpose == Purpose.SIGN:
        rotations = _rotations(chains, Kind.SIGNING_KEY_ROTATED, None)
        first = str(rotations[0].details.get(RETIRES)) if rotations else chains.first_signer
    else:
        rotations = _rotations(chains, Kind.LENDER_KEY_ROTATED, lender)
        rotations = rotations if purpose == Purpose.SEAL else []
        made = {act.subject for act in rotations}
        first = next((key.id for key in keys if key.id not in made), None)
    replaced_by = [str(act.subject) for act in rotations]
    return replaced_by if first is None else [first, *replaced_by]


def _rotations(chains: Chains, kind: Kind, lender: str | None) -> list[Act]:
    return [act for act in chains.told.rotations if act.kind is kind and act.lender == lender]


def _by_itself(key: VaultKey) -> Iterator[Finding]:
    signs = key.purpose == Purpose.SIGN
    if key.purpose not in set(Purpose) or signs is not (key.lender is None):
        yield _finding(key, "whose it is, or what it is for, was changed")
    if not key.id.startswith(ids.beginning(PREFIX, key.created_us)):
        yield _finding(key, "the time when it was made is another")


def _in_its_place(key: VaultKey, next_id: str | None) -> Iterator[Finding]:
    """Check that a key was retired when the next one was made, and not otherwise."""
    if next_id is None:
        if key.retired_us is not None:
            yield _finding(key, "it was retired, and no act says so")
        return
    if key.retired_us is None:
        yield _finding(key, f"it stands, though {next_id} has replaced it")
    elif not next_id.startswith(ids.beginning(PREFIX, key.retired_us)):
        yield _finding(key, "the time when it was retired is another")
    if key.purpose == Purpose.SIGN and key.wrapped:
        yield _finding(key, "its private half is there again, and was destroyed")


def _finding(key: VaultKey, what: str) -> Finding:
    return Finding(Trouble.STANDING, f"key {key.id}", what)
