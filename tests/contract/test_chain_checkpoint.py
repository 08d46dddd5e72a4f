"""How far each chain has come is noted in `main`, by whichever process comes first."""

from collections.abc import Iterator

import pytest

from alama.core.chain import MAIN, Head
from alama.lenders.records import Lender
from alama.platform import acts
from alama.platform.acts import ActKind, ActLog
from alama.platform.database import database as databases
from alama.platform.database import tables
from alama.platform.database.database import Database
from alama.protection.audit.chain_checkpoint import EVERY_US, ChainCheckpoint
from alama.protection.audit.chains import heads_to_keep, newest_first
from alama.protection.audit.findings import Trouble
from alama.protection.audit.store import Trail
from alama.scoring.store import ScoreChain, Scores
from tests.audited import audited, verdict_on
from tests.entries import NOON_US, an_entry
from tests.stores import registry_in
from tests.vaults import vault_of


class Process:
    """One process of the service, with a clock that goes when it is told to."""

    def __init__(self, database: Database) -> None:
        self.now_us = NOON_US
        self._vault = vault_of(database)
        self._vault.signer()
        log = ActLog(database, self._vault.signer, lambda: self.now_us, "a test")
        self.chain = ScoreChain(database, log, self._vault.signer)
        self.witness = ChainCheckpoint(database, log, self.chain, lambda: self.now_us)
        self._scores = Scores(database, self._vault, self.chain)

    def give(self) -> Head:
        self._scores.commit([audited(an_entry(at_us=self.now_us), self._vault)])
        return self.chain.head

    def note(self, after_us: int = 0) -> None:
        self.now_us += after_us
        self.witness.note_heads()


@pytest.fixture
def process(database: Database) -> Process:
    registry_in(database).add_lender(Lender("demo", "Demo lender", "KES", NOON_US))
    return Process(database)


@pytest.fixture
def another(address: str) -> Iterator[Process]:
    other = databases.connect(address)
    yield Process(other)
    other.close()


def notes(database: Database) -> list[list[Head]]:
    links = Trail(database).links(MAIN, 0, 100)
    decoded = [acts.decode(link.body) for link in links]
    return [acts.heads_in(act) for act in decoded if act.kind is ActKind.HEADS_NOTED]


def test_one_process_notes_the_chains_of_all(
    process: Process, another: Process, database: Database
) -> None:
    heads = [process.give(), another.give()]
    process.note()
    another.note()
    assert notes(database) == [sorted(heads)]


def test_only_chains_that_have_grown_are_noted_again(
    process: Process, another: Process, database: Database
) -> None:
    process.give()
    another.give()
    process.note()
    process.note(after_us=EVERY_US)
    assert len(notes(database)) == 1
    grown = process.give()
    process.note(after_us=1)
    assert notes(database)[1:] == [[grown]]


def test_a_note_is_made_at_most_every_few_minutes(process: Process, database: Database) -> None:
    process.give()
    process.note()
    process.give()
    process.note(after_us=EVERY_US // 2 - 1)
    assert len(notes(database)) == 1
    process.note(after_us=1)
    assert len(notes(database)) == 2


def test_where_nothing_was_scored_there_is_nothing_to_note(
    process: Process, database: Database
) -> None:
    process.note()
    assert notes(database) == []


def test_a_chain_that_was_cut_after_it_was_noted_is_found(
    process: Process, database: Database
) -> None:
    process.give()
    head = process.give()
    process.note()
    assert verdict_on(database).findings == []
    table = tables.audit_entries
    with database.writing() as connection:
        connection.execute(table.delete().where(table.c.writer == head.writer, table.c.number == 2))
    assert Trouble.CUT in {finding.trouble for finding in verdict_on(database).findings}


def test_the_process_itself_knows_how_far_it_came_though_the_database_says_less(
    process: Process, database: Database
) -> None:
    process.give()
    head = process.give()
    table = tables.audit_entries
    with database.writing() as connection:
        connection.execute(table.delete().where(table.c.writer == head.writer, table.c.number == 2))
    process.note()
    assert notes(database) == [[head]]


def test_the_heads_worth_keeping_are_main_and_what_it_does_not_know_yet(
    process: Process, another: Process, database: Database
) -> None:
    process.give()
    other = another.give()
    trail = Trail(database)
    assert [head.writer for head in heads_to_keep(trail)] == [MAIN]
    other = another.give()
    main, grown = heads_to_keep(trail)
    assert (main.writer, grown) == (MAIN, other)
    process.note()
    assert [head.writer for head in heads_to_keep(trail)] == [MAIN]


def test_acts_are_read_newest_first_from_a_number_on(process: Process, database: Database) -> None:
    process.give()
    trail = Trail(database)
    assert [(one.number, one.kind) for one in newest_first(trail, None)] == [
        (2, "chain_opened"),
        (1, "lender_added"),
    ]
    (first,) = newest_first(trail, 2)
    assert first.act is not None
    assert (first.act.lender, first.at_us) == ("demo", NOON_US)
