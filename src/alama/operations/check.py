"""A database looked at from all sides, while the service runs. Nothing is written.

What cannot be told because of something else is said to be so, and the rest is looked at: a check
that ends at the first trouble would have to be run once for each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from alama.core.errors import AlamaError
from alama.lenders import keys
from alama.lenders.secrets import PEPPER_FACT, another_pepper, master_keys, pepper
from alama.lenders.store import Registry
from alama.operations import diagnosis, soundness
from alama.operations.findings import Finding, Mark, broken, look, ok, unchecked
from alama.platform.clock import wall_us
from alama.platform.database import database as databases
from alama.platform.database import migrate
from alama.platform.database import tables as schema
from alama.platform.database.database import Database, without_timeout
from alama.platform.database.sqlite import DISK_FAILED, DISK_FAILED_HINT
from alama.platform.errors import MasterKeyMissing, StoreUnavailable, StoreUnfit
from alama.policies.commands import hint_of
from alama.protection.audit import verify
from alama.protection.audit.checks import check_documents
from alama.protection.audit.store import Trail
from alama.vault.keys import Masters, unwrap
from alama.vault.store import DESTROYED, MASTER_FACT, SqlVaultKeys
from alama.vault.vault import Vault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from alama.platform.settings import Settings
    from alama.protection.audit.records import Watch
    from alama.protection.audit.verify import Verdict


PEPPER: Final = "pepper"
MASTER_KEY: Final = "master key"
VAULT_KEYS: Final = "vault keys"

_NEVER_OPENED: Final = "the database was never opened, and takes the one that it is opened with"


def secrets(settings: Settings, database: Database) -> Iterator[Finding]:
    """Hold the pepper and the master key at hand against what a database knows of them."""
    facts = Registry(database)
    yield _pepper(settings, facts.fact(PEPPER_FACT))
    try:
        masters = _masters(settings, facts)
    except AlamaError as error:
        yield broken(MASTER_KEY, str(error), error.hint)
        yield unchecked(VAULT_KEYS, "see master key")
        return
    if masters is None:
        yield ok(MASTER_KEY, _NEVER_OPENED)
        return
    yield ok(MASTER_KEY, "the one of this database")
    yield _vault_keys(database, masters)


def vault_of(settings: Settings, database: Database) -> Vault:
    """Give a vault that reads; what needs a key raises where no master key is at hand."""
    store = SqlVaultKeys(database)
    try:
        masters = _masters(settings, Registry(database))
    except MasterKeyMissing as missing:
        return Vault(store, missing, wall_us)
    if masters is None:
        return Vault(store, MasterKeyMissing("of its first start", None), wall_us)
    return Vault(store, masters, wall_us)


def _pepper(settings: Settings, wanted: str | None) -> Finding:
    if wanted is None:
        return ok(PEPPER, _NEVER_OPENED)
    try:
        if keys.fingerprint(pepper(settings, wanted)) == wanted:
            return ok(PEPPER, "the one of this database")
    except AlamaError as error:
        return broken(PEPPER, str(error), error.hint)
    other = another_pepper()
    return broken(PEPPER, str(other), other.hint)


def _masters(settings: Settings, facts: Registry) -> Masters | None:
    """Give the master keys at hand; None where the database was never settled on one."""
    if facts.fact(MASTER_FACT) is None:
        return None
    return master_keys(settings, facts)


def _vault_keys(database: Database, masters: Masters) -> Finding:
    with Trail(database).moment() as moment:
        rows = [key for key in moment.vault_keys() if key.wrapped != DESTROYED]
    shut: list[str] = []
    for key in rows:
        try:
            unwrap(masters, key)
        except StoreUnfit:
            shut.append(key.id)
    if shut:
        count = "1 does" if len(shut) == 1 else f"{len(shut)} do"
        return broken(
            VAULT_KEYS,
            f"{count} not open, {shut[0]} the first",
            "restore the table vault_keys from a backup",
        )
    return ok(VAULT_KEYS, f"the master key opens all {len(rows)} of them")


DATABASE: Final = "database"
SCHEMA: Final = "schema"
TABLES: Final = "tables"
FILES: Final = "files"
ROWS: Final = "rows"
DOCUMENTS: Final = "documents"
AUDIT: Final = "audit"

_INSIDE: Final = (
    TABLES,
    ROWS,
    DOCUMENTS,
    PEPPER,
    MASTER_KEY,
    VAULT_KEYS,
    AUDIT,
)
"""What only a database of this version's schema can be asked."""

_KEEP: Final = "keep a copy of the database as it is, and restore from a backup"
_RESTORE: Final = f"{_KEEP}, or that row of it: docs/audit.md says how"
_AGAIN: Final = "see that the database runs and that {} is right, and check again"
_NEWER: Final = "check with that version"
_QUICK: Final = "by --quick"


def require_unchanged_by_looking(settings: Settings) -> None:
    """Raise `StoreUnfit` where to open a SQLite file would already write into it."""
    url = databases.parse_address(settings.database_address)
    file = databases.file_of(url) if url.drivername == "sqlite" else None
    if file is None or not file.exists():
        return
    if file.stat().st_size == 0:
        raise StoreUnfit(f"{file} is empty", hint="`alama serve` fills it; or restore a backup")
    if diagnosis.has_other_journal(file):
        raise StoreUnfit(
            f"the journal of {file} is not WAL, as Alama leaves it: another program has opened it",
            hint="the next start of `alama serve` switches it back; check then",
        )


def check(
    settings: Settings, database: Database, watch: Watch, *, quickly: bool
) -> Iterator[Finding]:
    """Look at everything, or with `quickly` at what does not grow with scores."""
    variable = settings.database_variable
    away = list(_away(database, variable))
    if away:
        yield from away
        yield from (unchecked(what, f"see {DATABASE}") for what in (SCHEMA, FILES, *_INSIDE))
        return
    newest = None
    for line in _told(SCHEMA, variable, lambda: _schema(database)):
        newest = line.mark
        yield line
    yield from _told(FILES, variable, lambda: _files(database, quickly=quickly))
    if newest is not Mark.OK:
        yield from (unchecked(what, f"see {SCHEMA}") for what in _INSIDE)
        return
    yield from _told(TABLES, variable, lambda: _tables(database))
    yield from _told(ROWS, variable, lambda: _rows(database, watch, quickly=quickly))
    yield from _told(DOCUMENTS, variable, lambda: _documents(database, watch))
    is_shut = False
    for finding in _told("secrets", variable, lambda: secrets(settings, database)):
        is_shut |= finding.check == MASTER_KEY and finding.mark is Mark.BROKEN
        yield finding
    if is_shut and not quickly:
        yield unchecked(AUDIT, f"see {MASTER_KEY}")
        return
    yield from _told(AUDIT, variable, lambda: _audit(settings, database, watch, quickly=quickly))


def _away(database: Database, variable: str) -> Iterator[Finding]:
    """Tell once that a database does not answer; of one that is damaged the rest tells where."""
    try:
        with database.reading():
            pass
    except StoreUnavailable as error:
        said = _own_words(error)
        if not _is_damage(said):
            yield look(DATABASE, f"it does not answer: {said}", _AGAIN.format(variable))


def _told(what: str, variable: str, looks: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    """Turn what stands in the way of looking into a line of its own."""
    try:
        yield from looks()
    except StoreUnavailable as error:
        said = _own_words(error)
        if _is_damage(said):
            yield broken(what, said, _KEEP)
        else:
            yield look(what, said, _AGAIN.format(variable))
    except AlamaError as error:
        yield look(what, str(error), hint_of(error))


def _own_words(error: StoreUnavailable) -> str:
    """Give the driver's own first line: it holds no applicant's data."""
    cause = error.__cause__
    return str(getattr(cause, "orig", None) or cause or error).splitlines()[0]


def _is_damage(said: str) -> bool:
    return any(words in said for words in soundness.DAMAGED)


def _schema(database: Database) -> Iterator[Finding]:
    try:
        migrate.require_fit(database)
    except StoreUnfit as error:
        yield broken(SCHEMA, str(error), error.hint)
        return
    found = migrate.current(database)
    newer = "" if found == schema.HEAD else ", newer than this version of Alama, and serves it"
    yield ok(SCHEMA, f"{found}{newer}")


def _tables(database: Database) -> Iterator[Finding]:
    if migrate.current(database) != schema.HEAD:
        yield look(TABLES, "only the version of Alama that upgraded it knows them", _NEWER)
        return
    wrong = soundness.other_tables(database)
    for one in wrong[: soundness.SHOWN_MAX]:
        yield broken(TABLES, one, _KEEP)
    if not wrong:
        count = len(soundness.TABLES)
        yield ok(TABLES, f"{count}, each with the columns, keys and indexes it should have")


def _files(database: Database, *, quickly: bool) -> Iterator[Finding]:
    if database.checkpoints is not None and database.checkpoints.has_failed:
        yield broken(FILES, DISK_FAILED, DISK_FAILED_HINT)
    if quickly and database.embedded:
        yield unchecked(FILES, f"all pages of the file, {_QUICK}")
        return
    wrong = soundness.damages(database)
    for one in wrong:
        yield broken(FILES, one, _KEEP)
    if not wrong:
        told = "every page is whole, every foreign key names a row"
        known = "PostgreSQL knows of no damage: constraints and indexes are valid"
        yield ok(FILES, told if database.embedded else known)


def _rows(database: Database, watch: Watch, *, quickly: bool) -> Iterator[Finding]:
    tables = soundness.tables(with_large=not quickly)
    with watch("tables", len(tables)) as done:
        wanting = []
        for table in tables:
            wanting += _broken(database, table)
            done(1)
    for rule, count, first in wanting:
        words = f"{rule.table.name}: {count:,} {rule.wrong}; the first is {first}"
        yield broken(ROWS, words, _KEEP)
    rules = sum(rule.table.name in tables for rule in soundness.RULES)
    if not wanting:
        said = f"what each names is there: {rules} rules hold in {len(tables)} tables"
        yield ok(ROWS, said)
    if quickly:
        yield unchecked(ROWS, f"scores, and all that grows with them, {_QUICK}")


def _broken(database: Database, table: str) -> list[soundness.Broken]:
    """Look at one table in a transaction of its own: a long one would keep SQLite's journal."""
    with database.reading() as connection:
        without_timeout(connection)
        return list(soundness.broken_in(connection, table))


def _documents(database: Database, watch: Watch) -> Iterator[Finding]:
    trail = Trail(database)
    count = trail.document_count()
    wrong = list(check_documents(trail, watch))
    for one in wrong[: soundness.SHOWN_MAX]:
        yield broken(DOCUMENTS, f"{one.where}: {one.what}", _RESTORE)
    if not wrong:
        yield ok(DOCUMENTS, f"{count:,}, each model and policy has the hash that is its id")


def _audit(
    settings: Settings, database: Database, watch: Watch, *, quickly: bool
) -> Iterator[Finding]:
    if quickly:
        yield unchecked(AUDIT, f"every entry and every score, {_QUICK}")
        return
    vault = vault_of(settings, database)
    lenders = Registry(database).lenders()
    trail = Trail(database)
    if not lenders and not trail.entries():
        yield ok(AUDIT, "nothing was done yet")
        return
    yield _verdict(verify.verify(trail, vault, lenders, frozenset(), watch))


def _verdict(verdict: Verdict) -> Finding:
    if not verdict.findings:
        entries = "1 entry holds" if verdict.entries == 1 else f"{verdict.entries:,} entries hold"
        scores = "1 score is" if verdict.proved == 1 else f"{verdict.proved:,} scores are"
        said = f"{entries}, {scores} what was given"
        return ok(AUDIT, said)
    first = verdict.findings[0]
    count = "1 finding" if len(verdict.findings) == 1 else f"{len(verdict.findings):,} findings"
    said = f"{count}; the first: {first.where}, {first.what}"
    if verdict.can_be_told:
        return broken(AUDIT, said, "`alama audit verify` lists them; docs/audit.md helps")
    return look(AUDIT, said, "restore vault_keys, or the master key, and check again")
