"""A stored document is hashed against its id: whatever was put in its place is found and named."""

import pytest
from sqlalchemy import delete, update

from alama.core import document
from alama.core.errors import InvalidPolicy
from alama.core.lending import draft, policy_text
from alama.lenders import schema
from alama.onboarding import schema as onboarding_schema
from alama.platform.database.database import Database
from alama.protection.audit.records import Finding, Trouble
from tests.audited import verdict_on
from tests.entries import NOON_US
from tests.onboarded import MODEL, OTHER_MODEL, House, a_history, a_pilot

pytestmark = pytest.mark.alike

TEXT = draft.default_text("KES")
POLICY = policy_text.read(TEXT)
DAMAGES = [b"\0", b"", b"{}", document.encode(MODEL)[:-9], document.encode(OTHER_MODEL)]


@pytest.fixture
def house(database: Database) -> House:
    house = House(database)
    house.begin()
    house.stores.pilots.set(a_pilot("umoja"))
    house.signed(house.trained("umoja", MODEL), "A. Njeri")
    house.stores.registry.keep_policy(POLICY.id, TEXT, NOON_US)
    return house


def found(database: Database) -> list[Finding]:
    return list(verdict_on(database).findings)


def test_documents_that_are_what_they_were_are_counted(house: House) -> None:
    verdict = verdict_on(house.database)
    assert verdict.findings == []
    assert verdict.documents == 3


def test_a_policy_may_be_written_in_other_words(house: House) -> None:
    house.stores.registry.keep_policy(POLICY.id, b"# the same\n" + TEXT, NOON_US)
    assert found(house.database) == []


@pytest.mark.parametrize("damage", DAMAGES, ids=range(len(DAMAGES)))
def test_a_model_that_is_not_what_its_id_says_is_found(house: House, damage: bytes) -> None:
    with house.database.writing() as connection:
        connection.execute(update(schema.models).values(document=damage))
    (one,) = found(house.database)
    assert (one.trouble, one.where) == (Trouble.DOCUMENT, f"model {MODEL.id}")


@pytest.mark.parametrize("damage", DAMAGES, ids=range(len(DAMAGES)))
def test_a_candidate_whose_model_was_changed_is_found(house: House, damage: bytes) -> None:
    (candidate,) = house.stores.candidates.of("umoja")
    with house.database.writing() as connection:
        connection.execute(update(onboarding_schema.candidates).values(document=damage))
    (one,) = found(house.database)
    assert (one.trouble, one.where) == (Trouble.DOCUMENT, f"candidate {candidate.id}")


@pytest.mark.parametrize(
    "damage", [b"\0", b"", b"\xff", TEXT.replace(b"0.35", b"0.36"), draft.default_text("UGX")]
)
def test_a_policy_that_was_changed_is_found_though_none_follows_it(
    house: House, damage: bytes
) -> None:
    assert damage != TEXT
    with house.database.writing() as connection:
        connection.execute(update(schema.policies).values(document=damage))
    (one,) = found(house.database)
    assert (one.trouble, one.where) == (Trouble.DOCUMENT, f"policy {POLICY.id}")
    assert verdict_on(house.database).can_be_told


def test_each_of_many_is_read_by_itself(house: House) -> None:
    for currency in ("UGX", "TZS", "RWF"):
        text = draft.default_text(currency)
        house.stores.registry.keep_policy(policy_text.read(text).id, text, NOON_US)
    with house.database.writing() as connection:
        connection.execute(update(schema.policies).values(document=b"\0"))
    assert len({one.where for one in found(house.database)}) == 4


def test_text_where_bytes_should_be_is_found(house: House) -> None:
    """SQLite takes any value in any column."""
    if not house.database.embedded:
        pytest.skip("PostgreSQL keeps a column to its type")
    with house.database.writing() as connection:
        for table in ("models", "policies", "candidates"):
            connection.exec_driver_sql(f"UPDATE {table} SET document = 'text'")  # noqa: S608  ours
    assert [one.trouble for one in found(house.database)] == [Trouble.DOCUMENT] * 3
    assert house.stores.registry.policy(POLICY.id) == house.stores.registry.model(MODEL.id)
    with pytest.raises(InvalidPolicy, match="was changed or is damaged"):
        policy_text.decode(house.stores.registry.policy(POLICY.id), POLICY.id)


def test_an_id_that_is_no_text_is_found_and_ends_nothing(house: House) -> None:
    if not house.database.embedded:
        pytest.skip("PostgreSQL keeps a column to its encoding")
    with house.database.writing() as connection:
        connection.exec_driver_sql("UPDATE policies SET id = CAST(x'7aff' AS TEXT)")
    (one,) = found(house.database)
    assert (one.trouble, one.where) == (Trouble.DOCUMENT, "policy z\ufffd")


# ------------------------------------------------------------------------------- loan histories


def of_history(house: House) -> str:
    (history,) = house.stores.histories.of("umoja")
    return history.id


@pytest.mark.parametrize(
    ("sealed", "what"),
    [(b"", "part 1 does not open"), (bytes(200), "part 1 does not open")],
)
def test_a_loan_history_that_does_not_open_is_found(house: House, sealed: bytes, what: str) -> None:
    with house.database.writing() as connection:
        connection.execute(update(onboarding_schema.history_parts).values(sealed=sealed))
    assert found(house.database) == [Finding(Trouble.HISTORY, of_history(house), what)]


def test_a_loan_history_that_lacks_a_part_is_found(house: House) -> None:
    with house.database.writing() as connection:
        connection.execute(delete(onboarding_schema.history_parts))
    assert found(house.database) == [Finding(Trouble.HISTORY, of_history(house), "part 1 is gone")]


def test_a_loan_history_that_opens_and_is_another_file_is_found(house: House) -> None:
    """Whoever has the keys can seal one."""
    record = a_history("umoja")
    house.stores.histories.keep(record, b"{}", [b"other ", b"rows"])
    assert found(house.database) == [Finding(Trouble.HISTORY, record.id, "it has another hash")]


def test_a_loan_history_that_was_given_the_hash_of_another_file_is_found(house: House) -> None:
    with house.database.writing() as connection:
        connection.execute(update(onboarding_schema.histories).values(digest="sha256:0"))
    assert [one.trouble for one in found(house.database)] == [Trouble.STANDING, Trouble.HISTORY]


def test_a_loan_history_that_was_forgotten_is_not_looked_for(house: House) -> None:
    house.stores.histories.forget("umoja", of_history(house), NOON_US, "W. Mutua")
    assert found(house.database) == []
