"""The database: reachable, of the right schema, writable, durable, and with room for us."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Final

from alama.core.errors import AlamaError
from alama.operations import diagnosis
from alama.operations.doctor.findings import number, size
from alama.operations.doctor.patient import Patient, hint, said
from alama.operations.findings import Finding, broken, look, ok, unchecked
from alama.platform import addresses
from alama.platform.database import database as databases
from alama.platform.database import migrate, tables
from alama.platform.database.sqlite import DISK_FAILED, DISK_FAILED_HINT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import URL

    from alama.operations.diagnosis import Server, Stuck
    from alama.platform.database.checkpoints import Checkpoints
    from alama.platform.database.database import Database


TRIPS: Final = 9
SLOW_MS: Final = 5.0
"""A score waits for two or three round trips: this is where they begin to be most of it."""

_EMBEDDED = "of a SQLite file there is nothing to ask"
_SWITCHED = (
    "find out which other program has opened it, and let none write into it; the next start of "
    "`alama serve` switches it back, and `alama db check` looks for damage"
)


def examine(patient: Patient) -> Iterator[Finding]:
    """Look at a database; whatever cannot be asked is left out."""
    yield patient.reachable
    database = patient.database
    if patient.has_other_journal:
        yield look("database.durable", "its journal is not WAL, as Alama leaves it", _SWITCHED)
    if database is None:
        return
    yield judged_latency(diagnosis.round_trips_us(database, TRIPS))
    yield _schema(database)
    if database.checkpoints is not None and database.checkpoints.has_failed:
        yield unchecked("database.writable", "see journal")
    else:
        yield _writable(patient.fit)
    if database.embedded:
        yield from _check_file(patient)
    else:
        yield from _check_server(patient, database)


def judged_latency(trips_us: Sequence[int]) -> Finding:
    """Judge how long questions to a database take."""
    check = "database.latency"
    median_ms = statistics.median(trips_us) / 1_000
    seen = f"{median_ms:.2f} ms, the median of {len(trips_us)} round trips"
    if median_ms > SLOW_MS:
        return look(
            check, seen, "bring the service nearer to its database: each score waits for it"
        )
    return ok(check, seen)


def _schema(database: Database) -> Finding:
    check = "database.schema"
    found = migrate.current(database)
    try:
        migrate.require_fit(database)
    except AlamaError as error:
        if database.embedded and found is not None and tables.OLDEST <= found < tables.HEAD:
            return look(check, str(error), "the next start of `alama serve` brings it up to date")
        return broken(check, str(error), hint(error, "`alama db upgrade`"))
    if found == tables.HEAD:
        return ok(check, f"{found}, the one of this version")
    return look(
        check,
        f"{found}, of a newer version, which this one serves",
        "finish the upgrade: run the newer version everywhere",
    )


def _writable(database: Database | None) -> Finding:
    check = "database.writable"
    if database is None:
        return unchecked(check, "its schema is not one that this version can write")
    try:
        diagnosis.try_to_write(database)
    except AlamaError as error:
        return broken(
            check,
            said(error),
            "is its disk full, is it a standby, may this user write? No score can be kept until it "
            "is",
        )
    return ok(check, "a row was written, and taken back")


def _check_file(patient: Patient) -> Iterator[Finding]:
    file = patient.file
    assert file is not None
    kind = diagnosis.file_system(file)
    if kind in diagnosis.NETWORKED:
        yield broken(
            "database.place",
            f"on {kind}, a disk of another machine, where SQLite's locks do not hold",
            "move it to a disk of this machine, or use PostgreSQL",
        )
    else:
        yield ok("database.place", f"on a disk of this machine ({kind or 'of an unknown kind'})")
    yield ok("database.durable", "a commit waits for the disk, journal WAL")
    assert patient.database is not None
    assert patient.database.checkpoints is not None
    yield judged_journal(patient.database.checkpoints)
    for check in ("database.tls", "database.connections", "database.transactions"):
        yield unchecked(check, _EMBEDDED)


def judged_journal(checkpoints: Checkpoints) -> Finding:
    """Judge the journal of a SQLite file, and whether it could be copied into the file."""
    check = "database.journal"
    size_bytes = checkpoints.size_bytes
    if checkpoints.has_failed:
        return broken(check, DISK_FAILED, DISK_FAILED_HINT)
    if size_bytes >= checkpoints.held_bytes:
        return look(
            check,
            f"{size(size_bytes)} wait to be copied into the file",
            "end what has been reading for long, a backup or another program; the log says "
            "`checkpoint_put_off` if it is the disk",
        )
    return ok(check, f"{size(size_bytes)} in it")


def _check_server(patient: Patient, database: Database) -> Iterator[Finding]:
    assert patient.url is not None
    yield from judged_server(diagnosis.server(database), patient.url, patient.settings.workers)
    yield unchecked("database.journal", "PostgreSQL looks after its journal itself")
    yield judged_transactions(diagnosis.stuck(database))


def judged_server(server: Server, url: URL, workers: int) -> Iterator[Finding]:
    """Judge what a PostgreSQL server says of itself, for so many workers of this machine."""
    yield _durable(server)
    if server.is_standby:
        yield broken(
            "database.place", "a standby, which can only be read", "name the primary in its place"
        )
    else:
        yield ok("database.place", "the primary of its cluster")
    yield _tls(url, server)
    yield _connections(workers, server)


def judged_transactions(stuck: Stuck) -> Finding:
    """Judge transactions that somebody began and left."""
    check = "database.transactions"
    if not stuck.transactions:
        return ok(check, "nobody has left one open")
    return look(
        check,
        f"{number(stuck.transactions, 'transaction')} left open, the longest for "
        f"{stuck.longest_s} s",
        "find who began them in pg_stat_activity, and end them: nothing they might still see can "
        "be cleaned up",
    )


def _durable(server: Server) -> Finding:
    check = "database.durable"
    off = [
        name
        for name, is_on in (
            ("fsync", server.fsync),
            ("full_page_writes", server.full_page_writes),
        )
        if not is_on
    ]
    if off:
        return broken(
            check,
            f"{' and '.join(off)} off: a power cut takes scores along that were answered",
            f"set {' and '.join(off)} to on, and restart PostgreSQL",
        )
    return ok(check, "a commit waits for the disk: fsync and full_page_writes are on")


def _tls(url: URL, server: Server) -> Finding:
    check = "database.tls"
    host = url.host or str(url.normalized_query.get("host", ("",))[0])
    address = addresses.parsed(host)
    is_loopback = address is not None and any(address in one for one in addresses.LOOPBACK)
    if not host or host.startswith("/") or host == "localhost" or is_loopback:
        return ok(check, f"{server.tls or 'none'}, and none is needed: it is on this machine")
    if server.tls is not None:
        return _verified(check, server.tls, str(url.query.get("sslmode", "")))
    return broken(
        check,
        f"none: passwords and scores cross the network to {host} for anybody to read",
        "switch TLS on there, and end the address with ?sslmode=verify-full&sslrootcert=FILE",
    )


def _verified(check: str, version: str, mode: str) -> Finding:
    if mode == "verify-full":
        return ok(check, f"{version}, and its certificate is verified")
    return look(
        check,
        f"{version}, but nobody looks whose certificate it is",
        "end the address with ?sslmode=verify-full&sslrootcert=FILE",
    )


def _connections(workers: int, server: Server) -> Finding:
    check = "database.connections"
    each = databases.CONNECTIONS + databases.CONNECTIONS_MORE + 1  # and the one of the hot path
    processes = workers + 1  # and whoever sends webhooks
    wanted = each * processes
    seen = (
        f"this machine may open {wanted} ({each} for each of {processes} processes); "
        f"{server.connections_now} of {server.connections_max} are in use"
    )
    if wanted > server.connections_max:
        return look(
            check,
            seen,
            f"raise max_connections, by {wanted - server.connections_max} at least for this "
            "machine alone, or run fewer workers",
        )
    return ok(check, seen)
