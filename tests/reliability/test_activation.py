"""A model is approved and rolled back while scores are asked for: no request fails, none is mixed.

Every stored score names one model, was told what that model says, and is replayed identically. It
begins in shadow: what the built-in model says is left to a person to the last, whichever key asks.
`make reliability` does the same many more times.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from alama.core import document
from alama.core.lending.policy import Decision
from alama.core.model import Model
from alama.lenders import installation, keys
from alama.lenders.installation import Installation
from alama.onboarding.approval import Approval, LiveKeys, Signing
from alama.onboarding.store import Stores
from alama.platform import clock, settings
from alama.platform.book import Book, Mode
from alama.platform.files.packaged import builtin
from alama.scoring import replay
from alama.scoring.replay import Record, open_score
from alama.scoring.store import stored_score, whole_scores
from tests.factories import a_model
from tests.onboarded import a_candidate, a_history, a_pilot
from tests.reliability.client import Client
from tests.reliability.load import OK, Load
from tests.reliability.verdict import assert_kept
from tests.server import Server

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("activation")]

ROUNDS = int(os.environ.get("RELIABILITY_ROUNDS", "1"))
CONNECTIONS = 6
BOOK = Book("umoja", Mode.LIVE)
ANSWERS = 40
WITHIN_S = 120.0
TAKEN_UP_S = 1.5
"""Each process looks once a second for what answers."""

NOT_FOUND = 404
FIRST = a_model(name="the first of its own")

log = logging.getLogger(__name__)


def test_approvals_and_rollbacks_under_load_fail_nothing_and_mix_nothing(
    database_url: str, tmp_path: Path
) -> None:
    kind = database_url.partition(":")[0]
    with (
        Server(database_url, tmp_path, 2, ALAMA_RATE_LIMIT="1000000") as server,
        closing(installation.open_installation(settings.read(server.environment))) as installed,
    ):
        key, other = two_keys_of_a_lender_in_shadow(installed)
        load = Load(server.url, key, CONNECTIONS)
        changes = 1
        with load.running():
            load.wait_for_answers(ANSWERS, WITHIN_S)
            approve(installed, FIRST)
            ask_by(other, server.url)
            wait(load)
            for number in range(ROUNDS):
                approve(installed, another_model(number))
                wait(load)
                Approval.at(installed).roll_back(BOOK.lender, "W. Mutua", "it approves too many")
                wait(load)
                changes += 2
        assert load.lost == 0
        assert load.statuses.keys() == {OK}, load.refused[:3]
        used = assert_each_by_one_model(installed, load)
        assert len(used) == ROUNDS + 2, "a model that was approved has answered nothing"
        assert_kept(load, database_url)
        log.info(
            "%s: %d changes of the model under %d scores, none failed; the slowest took %.0f ms",
            *(kind, changes, load.answered, 1_000 * load.slowest_s),
        )


def wait(load: Load) -> None:
    time.sleep(TAKEN_UP_S)
    load.wait_for_answers(ANSWERS, WITHIN_S)


def two_keys_of_a_lender_in_shadow(installed: Installation) -> tuple[str, str]:
    """A lender whose live applications the built-in model answers; two keys for it."""
    keys.add_lender(installed.registry, clock.wall_us, BOOK.lender, "Umoja SACCO", "KES")
    Stores.at(installed).pilots.set(a_pilot(BOOK.lender))
    one, other = (LiveKeys.at(installed).issue_shadow(BOOK.lender, "W. Mutua")[0] for _ in range(2))
    return one, other


def ask_by(key: str, url: str) -> None:
    """Have every process look up what answers, while it remembers for the other key what did."""
    deadline = time.monotonic() + TAKEN_UP_S
    while time.monotonic() < deadline:
        with Client(url, key) as client:  # anew each time: any of the processes may take it
            assert client.get("/v1/scores/req_none").status == NOT_FOUND


def another_model(number: int) -> Model:
    return a_model(seed=number, name=f"candidate {number}")


def approve(installed: Installation, model: Model) -> None:
    """Train, as it were, and sign: as `alama onboard approve` does."""
    history = a_history(BOOK.lender)
    Stores.at(installed).histories.keep(history, b"{}", [b"rows"])
    candidate = a_candidate(history, model_id=model.id)
    Stores.at(installed).candidates.add(candidate, document.encode(model), b"{}")
    signing = Signing("W. Mutua", "it holds what it promises")
    assert Approval.at(installed).sign(BOOK.lender, candidate.id, signing).live


def assert_each_by_one_model(installed: Installation, load: Load) -> Counter[str]:
    """Every stored score is, to the last point of every field, what the model says that it names.

    Gives how many each model has given.
    """
    with installed.database.reading() as connection:
        found = [stored_score(row) for row in connection.execute(whole_scores())]
    told = {
        json.loads(reply)["request_id"] for sent in load.sent.values() for reply in sent.replies
    }
    assert {one.row.request_id for one in found} == told
    ready: dict[str, Record] = {}
    used: Counter[str] = Counter()
    built_in_id = builtin().id
    for one in found:
        row = one.row
        known = ready.get(row.model_id)
        if known is None:
            known = ready[row.model_id] = replay.recall(installed.registry, installed.vault, one)
        record = known._replace(row=row, sealed=open_score(installed.vault, one))
        assert replay.replay(record) == (), row.request_id
        used[row.model_id] += 1
        assert row.model_id != built_in_id or row.decision != Decision.APPROVED
    return used
