"""Scores, lenders and keys from before there was an audit, and how it begins."""

import msgspec
from sqlalchemy import delete, insert, update

from alama.core.chain import MAIN, Link
from alama.files.models import sample_application
from alama.service import keys
from alama.service.audit import acts
from alama.service.audit.findings import Trouble
from alama.service.lenders import Lender
from alama.service.policies import Pause, Signed
from alama.service.records import Sealed, pack
from alama.service.retention import Plan
from alama.storage import schema
from alama.storage.audit import SqlTrail
from alama.storage.beginning import begin_audit
from alama.storage.database import Database
from tests.audited import Process, said, verdict_on
from tests.clocks import HandClock
from tests.entries import DEMO, NOON_US, an_entry
from tests.stores import acts_in, registry_in

MINUTE_US = 60_000_000


def links_of(database: Database) -> list[Link]:
    return list(SqlTrail(database).links(MAIN, 0, 10_000))


def troubles(database: Database) -> list[Trouble]:
    return [finding.trouble for finding in verdict_on(database).findings]


def test_scores_from_before_there_was_an_audit_are_told_apart(database: Database) -> None:
    process = upgraded(database, an_old_score(NOON_US - 1))
    process.give(an_entry())
    forged = an_old_score(NOON_US + 1)
    with database.writing() as connection:
        connection.execute(insert(schema.scores), forged)
    verdict = verdict_on(database)
    assert (verdict.proved, verdict.earlier) == (1, 1)
    assert [finding.where for finding in verdict.findings] == [forged["request_id"]]


def upgraded(database: Database, *old: dict[str, object]) -> Process:
    """A process on a database in which somebody gave scores before there was an audit."""
    lender = Lender("demo", "Demo lender", "KES", NOON_US - MINUTE_US)
    with database.writing() as connection:
        connection.execute(insert(schema.lenders), msgspec.structs.asdict(lender))
        if old:
            connection.execute(insert(schema.scores), old)
    begin_audit(database, registry_in(database), acts_in(database))
    return Process(database)


def test_the_scores_from_before_cannot_become_more_or_others(database: Database) -> None:
    old = [an_old_score(NOON_US - number) for number in (3, 2)]
    upgraded(database, *old).give(an_entry())
    assert troubles(database) == []
    table = schema.scores
    with database.writing() as connection:
        connection.execute(insert(table), an_old_score(NOON_US - 1))
    (more,) = verdict_on(database).findings
    assert (more.trouble, more.what) == (Trouble.EARLIER, "they are 3, and there were 2")
    with database.writing() as connection:
        first = table.c.request_id == old[0]["request_id"]
        connection.execute(delete(table).where(first))
    (others,) = verdict_on(database).findings
    assert (others.trouble, others.what) == (
        Trouble.EARLIER,
        "they are 2 as there were, but not the same",
    )


def test_a_score_from_before_that_a_retention_run_deleted_is_accounted_for(
    database: Database,
) -> None:
    old = an_old_score(NOON_US - 3)
    process = upgraded(database, old, an_old_score(NOON_US - 2))
    plan = Plan(DEMO, days=4, before_us=NOON_US, scores=1)
    with database.writing() as connection:
        connection.execute(
            delete(schema.scores).where(schema.scores.c.request_id == old["request_id"])
        )
        gone = str(old["request_id"])
        process.log.append(connection, acts.retention_run(plan, [gone], None))
    verdict = verdict_on(database)
    assert (verdict.findings, verdict.earlier) == ([], 1)


def test_a_forged_time_does_not_make_a_score_one_from_before(database: Database) -> None:
    process = upgraded(database)
    process.give(an_entry())
    forged = an_old_score(NOON_US + 1) | {"created_us": 1}
    with database.writing() as connection:
        connection.execute(insert(schema.scores), forged)
    (finding,) = verdict_on(database).findings
    assert (finding.trouble, finding.where) == (Trouble.UNNAMED, forged["request_id"])


def test_an_audit_begins_once_and_an_emptied_one_not_again(database: Database) -> None:
    process = upgraded(database, an_old_score(NOON_US - 3))
    process.give(an_entry())
    before = links_of(database)
    begin_audit(database, registry_in(database), process.log)
    assert links_of(database) == before
    with database.writing() as connection:
        connection.execute(delete(schema.audit_entries))
    begin_audit(database, registry_in(database), process.log)
    assert links_of(database) == []
    assert troubles(database) == [Trouble.EMPTY]


def an_old_score(at_us: int) -> dict[str, object]:
    plain = pack(Sealed(sample_application(), said()))
    return an_entry(at_us=at_us).score._replace(sealed=plain)._asdict()


def test_what_stood_before_the_audit_is_held_against_its_first_acts(database: Database) -> None:
    registry = registry_in(database)
    registry.add_lender(Lender("demo", "Demo lender", "KES", NOON_US))
    _, lost = keys.issue(registry, HandClock(), b"pepper", DEMO, days=3)
    keys.revoke(registry, lambda: NOON_US, lost.id)
    registry.deploy_policy(DEMO, None, Signed(NOON_US, "W", "a note"))
    registry.pause(DEMO, Pause(NOON_US, "payments are down"))
    with database.writing() as connection:
        connection.execute(delete(schema.audit_entries))
    begin_audit(database, registry, acts_in(database))
    assert troubles(database) == []
    with database.writing() as connection:
        connection.execute(update(schema.keys).values(revoked_us=None))
    assert troubles(database) == [Trouble.STANDING]
