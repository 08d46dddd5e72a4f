"""Receipts of scores that were really given, on either database."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from sqlalchemy import delete, update

from alama.core import model as models
from alama.core import receipts
from alama.core.errors import InvalidReceipt
from alama.core.lending import draft, policy_text
from alama.core.receipts import Receipt
from alama.lenders import installation as wiring
from alama.lenders import keys
from alama.lenders.installation import Installation
from alama.platform import ids, settings
from alama.platform.book import Book, Mode
from alama.platform.clock import stopwatch_us
from alama.platform.database import database as databases
from alama.platform.database import migrate, tables
from alama.platform.errors import Erased, StoreUnfit
from alama.platform.files.packaged import builtin
from alama.platform.http.exchange import Arrival
from alama.protection import receipts as receipting
from alama.protection.receipts import NoReceipt, Receipts
from alama.protection.rotation import Rotation
from alama.scoring import replay, schema
from alama.scoring.directory import Directory
from alama.scoring.records import Earlier, Entry, UnknownScore
from alama.scoring.scoring import Scoring
from alama.scoring.store import Scores
from alama.vault import schema as vault_schema
from tests.factories import a_model
from tests.stored import give_score

pytestmark = pytest.mark.alike

BOOK = Book("demo", Mode.TEST)
APPLICATION = {
    "mobile_money_months": 14,
    "monthly_inflow": 18_000,
    "stability_score": 0.6,
    "airtime_regularity": 0.8,
    "applicant_ref": "customer-7f3a",
}


@pytest.fixture
def opened(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Installation]:
    monkeypatch.setenv("ALAMA_HOME", str(tmp_path))
    monkeypatch.setenv("ALAMA_DATABASE", database_url)
    with closing(databases.connect(database_url)) as database:
        migrate.upgrade(database)
    installation = wiring.open_installation(settings.read(os.environ))
    if not installation.registry.lenders():
        keys.add_lender(installation.registry, installation.clock, "demo", "Demo lender", "KES")
    yield installation
    installation.close()


def change(opened: Installation, **columns: object) -> None:
    """Change every score behind the back of the audit."""
    with opened.database.writing() as connection:
        connection.execute(update(schema.scores).values(**columns))


class OneCommit:
    """A ledger that keeps everything at once, when it is told to."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    async def append(self, entry: object) -> Earlier | None:
        if isinstance(entry, Entry):  # a question about a borrower finds nobody
            self.entries.append(entry)
        return None


async def give_together(opened: Installation, count: int) -> list[str]:
    """Scores of one commit, as many as are asked for; each other one names its applicant."""
    text, _ = keys.issue(opened.registry, opened.clock, opened.pepper, BOOK)
    directory = Directory(
        opened.registry,
        Scores.at(opened),
        opened.clock,
        stopwatch_us,
        opened.pepper,
        builtin,
        opened.vault,
    )
    caller = await directory.caller(text)
    ledger = OneCommit()
    scoring = Scoring(ledger, opened.vault, Scores.at(opened).find)
    for number in range(count):
        at_us = opened.clock()
        request_id = ids.request_id(at_us, os.urandom(ids.RANDOM_BYTES))
        body = {**APPLICATION, "mobile_money_months": number, "applicant_ref": f"A-{number}"}
        if number % 2:
            del body["applicant_ref"]
        arrival = Arrival(request_id, at_us, time.perf_counter())
        await scoring.score(caller, arrival, json.dumps(body).encode(), lambda _: b"", None)
    Scores.at(opened).commit(ledger.entries)
    return [entry.score.request_id for entry in ledger.entries]


def replayed(opened: Installation, receipt: Receipt) -> tuple[replay.Difference, ...]:
    """What differs when the receipt is replayed as whoever has it would."""
    score = receipt.score
    model = models.decode(opened.registry.model(score.model_id))
    policy = policy_text.unjudged(opened.registry.policy(score.policy_id))
    return replay.replay(receipting.recall(receipt, model, policy))


def test_every_score_of_a_commit_has_a_receipt_that_holds_and_replays(
    opened: Installation,
) -> None:
    given = asyncio.run(give_together(opened, 7))
    for request_id in given:
        document = receipts.encode(Receipts.at(opened).find(BOOK, request_id))
        receipt = receipts.decode(document)
        assert receipt.score.request_id == request_id
        assert receipts.failures(receipt) == ()
        assert replayed(opened, receipt) == ()


def test_a_receipt_holds_after_the_signing_key_was_rotated(opened: Installation) -> None:
    request_id = give_score()
    before = Receipts.at(opened).find(BOOK, request_id)
    Rotation.at(opened).signing("W. Mutua")
    assert Receipts.at(opened).find(BOOK, request_id) == before
    after = Receipts.at(opened).find(BOOK, give_score())
    assert receipts.failures(after) == ()
    signed = [(key.public or b"").hex() for key in Receipts.at(opened).signing_keys()]
    assert [before.proof.public_key, after.proof.public_key] == signed


def test_a_score_of_another_book_has_no_receipt_here(opened: Installation) -> None:
    request_id = give_score()
    with pytest.raises(UnknownScore):
        Receipts.at(opened).find(Book("demo", Mode.LIVE), request_id)


def test_a_score_whose_entry_is_gone_has_no_receipt(opened: Installation) -> None:
    request_id = give_score()
    with opened.database.writing() as connection:
        connection.execute(delete(tables.audit_entries))
    with pytest.raises(NoReceipt):
        Receipts.at(opened).find(BOOK, request_id)


def test_an_erased_applicant_has_no_receipt(opened: Installation) -> None:
    request_id = give_score(json.dumps(APPLICATION).encode())
    assert receipts.failures(Receipts.at(opened).find(BOOK, request_id)) == ()
    with opened.database.writing() as connection:
        erased = {"wrapped": None, "subject": None, "erased_us": opened.clock()}
        connection.execute(update(vault_schema.applicant_keys).values(**erased))
    with pytest.raises(Erased):
        Receipts.at(opened).find(BOOK, request_id)


@pytest.mark.parametrize("column", ["decision", "tier", "model_id", "key_id"])
def test_no_receipt_is_given_of_what_was_changed(opened: Installation, column: str) -> None:
    request_id = give_score()
    change(opened, **{column: "Z"})
    with pytest.raises(StoreUnfit, match="was changed since it was given"):
        Receipts.at(opened).find(BOOK, request_id)


def test_a_receipt_names_the_model_and_the_policy_that_it_needs(opened: Installation) -> None:
    receipt = Receipts.at(opened).find(BOOK, give_score())
    model, policy = builtin(), draft.default_policy("KES")
    assert replay.replay(receipting.recall(receipt, model, policy)) == ()
    with pytest.raises(InvalidReceipt, match="another model") as refused:
        receipting.recall(receipt, a_model(), policy)
    assert f"alama models export {model.id} --out FILE" in str(refused.value.hint)
    with pytest.raises(InvalidReceipt, match="another policy") as refused:
        receipting.recall(receipt, model, draft.default_policy("UGX"))
    assert f"alama policy export {policy.id} --out FILE" in str(refused.value.hint)


def test_an_assessment_of_no_known_form_is_told(opened: Installation) -> None:
    receipt = Receipts.at(opened).find(BOOK, give_score())
    strange = msgspec.structs.replace(receipt, assessment={"score": 660})
    with pytest.raises(InvalidReceipt, match="cannot be read"):
        receipting.assessment_of(strange)
