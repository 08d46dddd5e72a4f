"""Receipts of decisions that really follow from their applications, by a key that is no secret."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from alama.core import chain, receipts
from alama.core.assess import assess
from alama.core.chain import SALT_BYTES, Named, digest
from alama.core.intake import Intake
from alama.core.lending.draft import default_policy
from alama.core.lending.ready_policy import ReadyPolicy
from alama.core.model import ReadyModel
from alama.core.product import PRODUCT
from alama.core.receipts import KeptScore, Receipt
from alama.platform.files.packaged import builtin
from alama.scoring.records import Sealed, pack
from tests.entries import NOON_US, a_request_id

COMPACT = b"""\
{"mobile_money_months": 24, "monthly_inflow": 18500, "stability_score": 0.62, \
"airtime_regularity": 0.71, "region": "Nyeri \\u2013 \xc3\xa9t\xc3\xa9"}"""
SALT = bytes(range(SALT_BYTES))
APPLICANT = "apk_065bfeda25e0005d1f0a9c3b7e42"


class SigningKey(NamedTuple):
    """A signer whose key is made of one byte."""

    seed: int = 7

    @property
    def id(self) -> str:
        return f"vk_{self.seed}"

    @property
    def public(self) -> bytes:
        return self._key.public_key().public_bytes_raw()

    def sign(self, message: bytes) -> bytes:
        return self._key.sign(message)

    @property
    def _key(self) -> Ed25519PrivateKey:
        return Ed25519PrivateKey.from_private_bytes(bytes([self.seed] * 32))


@cache
def _policy() -> ReadyPolicy:
    return ReadyPolicy(default_policy("KES"), ReadyModel(builtin(), "KES"))


def a_receipt(
    body: bytes = COMPACT,
    *,
    place: int = 2,
    leaves: int = 5,
    signer: SigningKey = SigningKey(),  # noqa: B008  a tuple
    **columns: Any,
) -> Receipt:
    """A decision of the built-in model and the default policy in KES, among others of one commit.

    `columns` are those that the record has otherwise, signed as they are.
    """
    policy = _policy()
    model = policy.model
    said = assess(model, policy, Intake(PRODUCT).read(body))
    score = KeptScore(
        lender="demo",
        mode="test",
        request_id=a_request_id(),
        created_us=NOON_US,
        key_id="key_1",
        model_id=model.model.id,
        policy_id=policy.id,
        score=said.score,
        tier=said.tier,
        default_probability=said.default_probability,
        decision=said.decision.value,
        recommended_limit=float(said.offer.limit),
        recommended_term_days=said.offer.term_days,
        recommended_apr=said.offer.apr,
        processing_ms=1,
        expected_loss=said.offer.expected_loss if said.offer.limit else 0.0,
    )
    score = msgspec.structs.replace(score, **columns)
    record = pack(Sealed(body, said, SALT))
    ours = digest(SALT, msgspec.structs.astuple(score), record)
    named = [Named("demo", "test", a_request_id(), None, at.to_bytes(32)) for at in range(leaves)]
    named[place] = Named(score.lender, score.mode, score.request_id, APPLICANT, ours)
    link = chain.follow_with_scores(chain.start("writer"), NOON_US + 5, named, signer)
    return receipts.make(score, record, link, signer.public)
