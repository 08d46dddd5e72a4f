"""Receipts: made of what is kept when somebody asks for one, and replayed by whoever has one.

Nothing is signed for each score and nothing more is stored: the audit has signed the commit that
the score was part of, and the path from the score to that signature is short.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Final

import msgspec

from alama.core import receipts
from alama.core.assess import Assessment
from alama.core.chain import Link, UnreadableBody, names
from alama.core.errors import AlamaError, InvalidReceipt
from alama.core.model import Model, ReadyModel
from alama.core.own_fields import NOTHING, OwnFields, reading
from alama.core.receipts import KeptScore, Receipt
from alama.platform.errors import Kind, StoreUnfit
from alama.protection.audit.signers import trusted_keys
from alama.protection.audit.store import Trail
from alama.scoring.records import ScoreRow, Sealed, StoredScore
from alama.scoring.replay import Record, open_packed, record_of
from alama.scoring.store import Scores
from alama.vault.store import SqlVaultKeys

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from alama.core.lending.policy import Policy
    from alama.lenders.installation import Installation
    from alama.platform.book import Book
    from alama.vault.keys import VaultKey, VaultKeys
    from alama.vault.vault import Vault


class NoReceipt(AlamaError):
    """The audit has no entry of a score."""

    kind = Kind(HTTPStatus.NOT_FOUND, "no_receipt", "No receipt")

    def __init__(self) -> None:
        super().__init__(
            "the audit has no entry of this score, so there is no receipt of it",
            hint="it was given before there was an audit; it can still be read and replayed",
        )


_SECOND_US: Final = 1_000_000
_SPANS_US: Final = ((0, _SECOND_US), (_SECOND_US, 60 * _SECOND_US))
"""How long after a score its entry may be: most commits are done at once, and few wait for long."""


class Receipts:
    """Gives receipts. Every method may raise `StoreUnavailable`."""

    def __init__(self, scores: Scores, vault: Vault, trail: Trail, keys: VaultKeys) -> None:
        self._scores = scores
        self._vault = vault
        self._trail = trail
        self._keys = keys

    @classmethod
    def at(cls, installed: Installation) -> Receipts:
        """What proves the scores of an installation to others."""
        trail, keys = Trail(installed.database), SqlVaultKeys(installed.database)
        return cls(Scores.at(installed), installed.vault, trail, keys)

    def find(self, book: Book, request_id: str) -> Receipt:
        """Give the receipt of a score, or raise `UnknownScore`, or as `of` does."""
        return self.of(self._scores.find(book, request_id))

    def of(self, stored: StoredScore) -> Receipt:
        """Give the receipt of a stored score.

        Raises `Erased`, `NoReceipt`, or `StoreUnfit` where what is stored is not what was signed:
        nobody shall get a receipt that does not hold.
        """
        request_id = stored.row.request_id
        record = open_packed(self._vault, stored)
        score = _in_clear(stored.row)
        link = self._entry(score)
        receipt = receipts.make(score, record, link, self._public_key(link.signer))
        if receipts.failures(receipt):
            raise StoreUnfit(
                f"{request_id} or its entry in the audit was changed since it was given",
                hint="`alama audit verify` says what else was",
            )
        return receipt

    def signing_keys(self) -> Sequence[VaultKey]:
        """Give all keys that ever signed for this installation, oldest first, the present one too.

        The first call ever makes that. One that somebody else has put into the database is none of
        them: whoever was told to trust it would trust what they sign.
        """
        self._vault.signer()
        trusted = trusted_keys(self._trail, self._vault)
        return [key for key in self._keys.signing() if key.id in trusted]

    def _entry(self, score: KeptScore) -> Link:
        for link in self._entries_near(score.created_us):
            try:
                if any(receipts.is_named(score, named) for named in names(link.body)):
                    return link
            except UnreadableBody:  # and so it is not the entry of this score
                continue
        raise NoReceipt

    def _entries_near(self, created_us: int) -> Iterator[Link]:
        for start_us, end_us in _SPANS_US:
            with self._trail.moment() as moment:
                found = moment.commits(created_us + start_us, created_us + end_us)
            yield from found

    def _public_key(self, signer: str) -> bytes:
        for key in self._keys.signing():
            if key.id == signer and key.public is not None:
                return key.public
        raise StoreUnfit(
            f"the public key of {signer} is not in this database",
            hint="restore the table vault_keys from a backup",
        )


def _in_clear(row: ScoreRow) -> KeptScore:
    return KeptScore(**{name: getattr(row, name) for name in KeptScore.__struct_fields__})


# --------------------------------------------------------------------------------- replaying


def recall(receipt: Receipt, model: Model, policy: Policy, own: OwnFields = NOTHING) -> Record:
    """Bring together what a receipt says with the model, the policy and the fields that it names.

    Raises `InvalidReceipt` where it names others.
    """
    _require_named("model", "models", receipt.score.model_id, model.id)
    _require_named("policy", "policy", receipt.score.policy_id, policy.id)
    if (receipt.fields_id or "") != own.id:
        fields_id = receipt.fields_id or "none"
        raise InvalidReceipt(
            f"the receipt names other own fields of the lender than those at hand: {fields_id}",
            hint=f"the lender has them: alama fields show --id {fields_id} > fields.toml; then add "
            "--fields fields.toml"
            if receipt.fields_id
            else "leave --fields out",
        )
    columns = msgspec.structs.asdict(receipt.score)
    said = assessment_of(receipt)
    row = ScoreRow(
        **columns,
        seal_key_id=None,
        sealed=b"",
        applicant_key_id=None,
        propensity=said.propensity,
        product=said.product,
    )
    sealed = Sealed(receipt.application.encode(), said)
    ready = ReadyModel(reading(model, own) if own.fields else model, policy.currency)
    return record_of(row, sealed, ready, policy)


def assessment_of(receipt: Receipt) -> Assessment:
    """Read what a receipt concludes, or raise `InvalidReceipt` where it has no such form."""
    try:
        return msgspec.convert(receipt.assessment, Assessment)
    except msgspec.ValidationError as error:
        raise InvalidReceipt(f"the assessment of the receipt cannot be read: {error}") from error


def _require_named(noun: str, command: str, named: str, found: str) -> None:
    if named != found:
        raise InvalidReceipt(
            f"the receipt names another {noun} than the one at hand\n"
            f"  names {named}\n  found {found}",
            hint=f"the lender has it: alama {command} export {named} --out FILE",
        )
