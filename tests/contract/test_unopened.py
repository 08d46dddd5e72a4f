"""What no key opens is damaged: nothing is ever read as it stands."""

from __future__ import annotations

import pytest

from alama.lenders import keys
from alama.platform.database.database import Database
from alama.platform.errors import StoreUnfit
from alama.scoring.records import Earlier
from alama.scoring.replay import open_reply, open_score
from alama.scoring.store import Scores
from alama.vault import schema
from alama.vault.vault import Vault
from tests.entries import DEMO, NOON_US
from tests.stores import registry_in, scores_in
from tests.vaults import an_entry_of, vault_of

pytestmark = pytest.mark.alike


@pytest.fixture
def vault(database: Database) -> Vault:
    keys.add_lender(registry_in(database), lambda: NOON_US, "demo", "Demo lender", "KES")
    return vault_of(database)


@pytest.fixture
def scores(database: Database) -> Scores:
    return scores_in(database)


def test_a_reply_that_no_key_seals_is_damaged(vault: Vault) -> None:
    with pytest.raises(StoreUnfit, match="the record of req_1 is damaged"):
        open_reply(vault, DEMO, Earlier(b"", "req_1", b"planted"))


def test_a_record_whose_applicant_has_no_key_is_damaged(
    scores: Scores, vault: Vault, database: Database
) -> None:
    entry = an_entry_of(vault.ring("demo"), "A-1", idempotency_key="order-1")
    scores.commit([entry])
    with database.writing() as connection:
        connection.execute(schema.applicant_keys.delete())
    with pytest.raises(StoreUnfit, match="is damaged, or gone"):
        open_score(vault, scores.find(DEMO, entry.score.request_id))
    (earlier,) = scores.commit([entry])
    assert isinstance(earlier, Earlier)
    with pytest.raises(StoreUnfit, match="is damaged, or gone"):
        open_reply(vault, DEMO, earlier)


def test_a_reply_names_the_key_that_is_gone(vault: Vault) -> None:
    lost = Earlier(b"", "req_1", b"x" * 100, "vk_gone")
    with pytest.raises(StoreUnfit, match="the key vk_gone of demo"):
        open_reply(vault, DEMO, lost)
