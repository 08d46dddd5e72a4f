"""Verify the audit: that nothing was changed, added or taken away since it was written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from alama.core.chain import MAIN
from alama.platform.book import Book, Mode
from alama.protection.audit.chains import Chains
from alama.protection.audit.checks import (
    KnownKeys,
    check_applicants,
    check_documents,
    check_histories,
    check_reviews,
    check_vault_keys,
)
from alama.protection.audit.records import CANNOT_BE_TOLD, Finding, Trouble, Watch
from alama.protection.audit.scores import ScoreCheck
from alama.protection.audit.signers import Signers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from alama.lenders.records import Lender
    from alama.protection.audit.store import Moment, Trail
    from alama.vault.keys import VaultKey
    from alama.vault.vault import Vault


_FOREIGN: Final = "its private half is not in our vault, and no later key vouches for it"

_BY_MAIN: Final = frozenset({Trouble.UNOPENED})
"""What can only be said of a chain where there is a `main`."""


class Verdict(NamedTuple):
    """What was looked at, and everything that is wrong."""

    findings: Sequence[Finding]
    chains: int
    entries: int
    proved: int
    """Scores that are what they were when they were given."""
    erased: int
    """Scores whose applicants were erased: what is left of them is not proved any more."""
    deleted: int
    """Scores that are gone, as a retention run says."""
    documents: int
    """Models and policies, those of candidates among them."""

    @property
    def can_be_told(self) -> bool:
        """Whether something is wrong for certain, or nothing is; else a key is missing."""
        return not self.findings or any(
            finding.trouble not in CANNOT_BE_TOLD for finding in self.findings
        )


def verify(
    trail: Trail,
    vault: Vault,
    lenders: Sequence[Lender],
    wanted: frozenset[bytes],
    watch: Watch,
) -> Verdict:
    """Check every entry, score and document, and what stands; `wanted` are heads kept elsewhere.

    It writes nothing, and makes no key in the place of one that is missing.
    """
    signers, lender_keys = Signers(trail, vault), KnownKeys(vault)
    chains = Chains(trail, signers, wanted)
    with watch("entries", trail.entries()) as done:
        findings = list(chains.check(done))
    findings += _check_signers(signers)
    books = [Book(lender.id, mode) for lender in lenders for mode in Mode]
    scores = ScoreCheck(trail, chains, vault, lender_keys, books)
    if chains.is_empty and lenders:
        findings = [_emptied(lenders), *(one for one in findings if one.trouble not in _BY_MAIN)]
    else:
        with watch("scores", chains.named) as done:
            findings += scores.check(done)
        with trail.moment() as moment:
            findings += chains.catch_up(moment)
            # Where acts do not hold, what they account for would be held against others.
            if chains.acts_hold:
                findings += chains.expected.rows.against(moment.rows())
                findings += check_reviews(moment, chains.expected.reviews, vault, lender_keys)
                findings += check_applicants(moment, chains.expected, vault, lender_keys)
                findings += check_vault_keys(_ours(moment, signers), chains)
            lender_keys.look_at(moment.vault_keys())
        findings += check_histories(trail, vault, lender_keys, watch)
        findings += [*_unsigned(signers, chains), *lender_keys.findings()]
    findings += chains.times.findings()
    documents = trail.document_count()
    findings += check_documents(trail, watch)
    return Verdict(
        findings,
        chains.chains,
        chains.entries,
        scores.proved,
        scores.erased,
        scores.deleted,
        documents,
    )


def _check_signers(signers: Signers) -> Iterator[Finding]:
    for key_id, public in signers.changed.items():
        yield Finding(Trouble.PUBLIC, key_id, f"its own is {public.hex()}")
    for key_id in signers.foreign:
        yield Finding(Trouble.SIGNER, key_id, _FOREIGN)


def _ours(moment: Moment, signers: Signers) -> list[VaultKey]:
    """Give the keys of the vault but for those of which it was told that they are none of ours."""
    foreign = signers.foreign
    return [key for key in moment.vault_keys() if key.id not in foreign]


def _emptied(lenders: Sequence[Lender]) -> Finding:
    there = "1 lender is" if len(lenders) == 1 else f"{len(lenders)} lenders are"
    return Finding(Trouble.EMPTY, MAIN, f"{there} there")


def _unsigned(signers: Signers, chains: Chains) -> Iterator[Finding]:
    for signer in sorted({*signers.damaged, *chains.unsigned}):
        count = chains.unsigned[signer]
        entries = "1 entry is" if count == 1 else f"{count:,} entries are"
        yield Finding(Trouble.KEY, signer, f"{entries} signed with it")
