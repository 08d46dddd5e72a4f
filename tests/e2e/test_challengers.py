"""A challenger beside the running service: whatever it does, no reply is another for it."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from alama.core import document
from alama.core.model import Model
from alama.core.product import PRODUCT
from alama.monitoring.challengers import Challenger, Challengers
from alama.monitoring.shadowing import SETTLED_US, Shadowing
from alama.platform import clock, ids
from alama.platform.book import Book, Mode
from tests.e2e.service import COMPACT, FULL, Service
from tests.factories import a_model

SENT = (COMPACT, FULL, {**FULL, "mm_months": 2}, {**FULL, "requested_amount": 900_000.0})
ITS_OWN = ("request_id", "processing_time_ms", "processing_ms", "created_at", "timestamp")
"""What no two replies have in common."""


def model_that_answers() -> Model:
    return a_model(name="answers")


def model_that_asks_for_what_nobody_sends() -> Model:
    last = PRODUCT.fields[-1]
    asked = (*PRODUCT.fields[:-1], msgspec.structs.replace(last, required=True))
    return a_model(name="asks", catalogue=msgspec.structs.replace(PRODUCT, fields=asked))


def model_that_is_none() -> Model:
    return msgspec.structs.replace(a_model(name="none"), cards=())


def replies(service: Service, key: str) -> list[dict[str, Any]]:
    given = []
    for body in SENT:
        reply = service.score(body, key=key)
        assert reply.status_code == 200
        told = json.loads(reply.content)
        given.append({name: value for name, value in told.items() if name not in ITS_OWN})
    return given


@pytest.mark.parametrize(
    "made", [model_that_answers, model_that_asks_for_what_nobody_sends, model_that_is_none]
)
def test_a_challenger_that_breaks_changes_no_reply(service: Service, made: Any) -> None:
    name = made.__name__.replace("_", "-")
    alone, beside = Book(f"a-{name}", Mode.TEST), Book(f"b-{name}", Mode.TEST)
    for book in (alone, beside):
        service.lender(book.lender)
    installed, model = service.installed, made()
    challengers = Challengers(installed.database, installed.log)
    now_us = clock.wall_us()
    begun = Challenger(beside, model.id, now_us, "W. Mutua", "a trial", ids.first_of(now_us))
    challengers.begin(begun, document.encode(model))
    keys = {book: service.key(book) for book in (alone, beside)}

    def later_us() -> int:
        return clock.wall_us() + 2 * SETTLED_US

    asking = Shadowing(challengers, installed.registry, installed.vault, later_us)
    before = replies(service, keys[beside])
    try:
        asking.round(begun)
        broke = False
    except Exception:  # noqa: BLE001  whatever it does
        broke = True
    assert replies(service, keys[beside]) == before == replies(service, keys[alone])
    after = challengers.end(beside, clock.wall_us(), "W. Mutua", "enough")
    answered = {"answers": (4, 0, False), "asks": (0, 4, False), "none": (0, 0, True)}
    assert (after.scored, after.failed, broke) == answered[model.name]
