"""Scores that are kept on a disk that fails: started by tests in a process that is recorded.

    python -m tests.reliability.disk_load DATABASE_URL COMMITS SEED

Keeps scores as the service does, has the journal copied into the file every few commits, and reads
beside it, so that some copies are left half done. Once nothing can be kept any more it ends.
"""

from __future__ import annotations

import os
import random
import sys
from contextlib import ExitStack, suppress

from sqlalchemy import text

from alama.core.errors import AlamaError
from alama.platform import ids
from alama.platform.database import database as databases
from alama.platform.errors import StoreUnavailable
from alama.scoring.store import Scores
from tests.entries import NOON_US, an_entry
from tests.reliability.disks import acknowledge
from tests.stores import scores_in

GROUP_MAX = 12
JOURNAL_BYTES = 200_000
REFUSALS_MAX = 20


def main(url: str, commits: int, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311  no secret
    scores, database = None, None
    for _ in range(REFUSALS_MAX):
        with suppress(AlamaError):
            database = databases.connect(url)
            database.restore()
            scores = scores_in(database)
            break
    if database is None or scores is None or database.checkpoints is None:
        os._exit(3)
    database.checkpoints.large_bytes = JOURNAL_BYTES
    refusals = 0
    with ExitStack() as reader:
        for _ in range(commits):
            if chance.random() < 0.2:
                reader.close()
            if chance.random() < 0.2:
                connection = reader.enter_context(database.reading())
                connection.execute(text("SELECT count(*) FROM scores")).all()
            refusals += not keep(scores, chance)
            if refusals > REFUSALS_MAX:
                break
            if chance.random() < 0.3:
                database.checkpoints.look()
            if chance.random() < 0.05:
                with suppress(StoreUnavailable):
                    reader.close()
                    database.empty_journal()
    if chance.random() < 0.5:
        database.close()
    os._exit(0)  # as a process that is killed


def keep(scores: Scores, chance: random.Random) -> bool:
    names = [
        ids.request_id(NOON_US, os.urandom(ids.RANDOM_BYTES))
        for _ in range(chance.randint(1, GROUP_MAX))
    ]
    keyed = [name if chance.random() < 0.5 else None for name in names]
    entries = [
        an_entry(request_id=name, idempotency_key=key)
        for name, key in zip(names, keyed, strict=True)
    ]
    try:
        scores.commit(entries)
    except StoreUnavailable:
        return False
    acknowledge(names)
    return True


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
