"""What we sign, the official verifier of Standard Webhooks takes; and nothing else."""

from __future__ import annotations

import base64
import time
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook, WebhookVerificationError

import alama
from alama.webhooks import courier, secrets

BODY = (
    '{"type":"score.created","data":{"mode":"live","decision":"approve"},"who":"Wanjikũ"}'.encode()
)
CURRENT, PREVIOUS, REVOKED = b"c" * 32, b"p" * 32, b"r" * 32


def headers(
    secret: Sequence[bytes] = (CURRENT,), body: bytes = BODY, late_s: int = 0
) -> dict[str, str]:
    return courier.signature_headers("evt_1", body, secret, int(time.time()) - late_s)


def verifier(secret: bytes) -> Webhook:
    return Webhook(secrets.shown(secret))


def test_the_official_verifier_takes_what_we_sign() -> None:
    assert verifier(CURRENT).verify(BODY, headers()) == {
        "type": "score.created",
        "data": {"mode": "live", "decision": "approve"},
        "who": "Wanjikũ",
    }


def test_the_headers_are_those_of_the_standard() -> None:
    # The example of the specification, letter by letter.
    secret = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    body = b'{"test": 2432232314}'
    assert courier.signature_headers(
        "msg_p5jXN8AQM9LWM0D4loKWxJek", body, [secret], 1614265330
    ) == {
        "content-type": "application/json",
        "user-agent": f"Alama/{alama.__version__}",
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


@pytest.mark.parametrize("secret", [CURRENT, PREVIOUS])
def test_while_secrets_change_over_either_verifies(secret: bytes) -> None:
    both = headers([CURRENT, PREVIOUS])
    assert len(both["webhook-signature"].split(" ")) == 2
    verifier(secret).verify(BODY, both)


def refused(body: bytes, sent: dict[str, str], secret: bytes = CURRENT) -> str:
    with pytest.raises(WebhookVerificationError) as refusal:
        verifier(secret).verify(body, sent)
    return str(refusal.value)


def test_a_changed_body_is_refused() -> None:
    assert refused(BODY.replace(b"approve", b"decline"), headers()) == "No matching signature found"


@pytest.mark.parametrize("late_s", [301, -301])
def test_an_attempt_from_long_ago_or_from_the_future_is_refused(late_s: int) -> None:
    assert refused(BODY, headers(late_s=late_s)).startswith("Message timestamp too")


def test_neither_the_time_nor_the_id_can_be_moved_to_another_signature() -> None:
    old = headers(late_s=400)
    assert refused(BODY, {**old, "webhook-timestamp": str(int(time.time()))})
    assert refused(BODY, {**headers(), "webhook-id": "evt_2"})


def test_a_secret_that_was_revoked_verifies_nothing() -> None:
    assert refused(BODY, headers([CURRENT, PREVIOUS]), REVOKED) == "No matching signature found"
    assert refused(BODY, headers([CURRENT]), PREVIOUS) == "No matching signature found"


def test_an_attempt_without_a_secret_is_a_defect() -> None:
    with pytest.raises(AssertionError, match="not sent"):
        headers([])


@given(st.text(max_size=200), st.binary(min_size=1, max_size=64))
def test_every_body_and_every_secret_verify(text: str, secret: bytes) -> None:
    body = text.encode("utf-8", "ignore")
    verifier(secret).verify(body, headers([secret], body), json_parse=False)
