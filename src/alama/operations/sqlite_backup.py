"""Copies of a SQLite database: made while others write, proved before they are relied on.

SQLite copies page by page, and begins anew whenever another process has written in between: under
load it never ends. So all pages are read within one transaction, which sees one state. In WAL mode
that keeps nobody from writing; the journal grows by what they write until the copy is done.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final

from alama.core.errors import FileProblem
from alama.operations.backup_file import Contents, appearing, contents
from alama.platform.database.sqlite import FAILED
from alama.platform.database.sqlite_driver import pysqlite3
from alama.platform.files import promise
from alama.platform.files.promise import told_as_file_problem

if TYPE_CHECKING:
    from pathlib import Path

    from alama.platform.database.database import Database


Watch = Callable[[int, int | None], None]
"""Told how many bytes are done of how many; None: nobody knows."""

MAGIC: Final = b"SQLite format 3\x00"

_PAGES_AT_ONCE: Final = 512
_CHUNK_BYTES: Final = 4 << 20
_JOURNALS: Final = ("-wal", "-journal")
COMPANIONS: Final = (*_JOURNALS, "-shm", FAILED)
"""What is kept beside a file, and would be taken for the file's own if it were left behind."""


def back_up(database: Database, path: Path, watch: Watch) -> Contents:
    """Write a copy of the database as it is when this begins; give what is in the copy.

    Not of a file whose disk has failed, `StoreUnavailable`: pages of it may be older than others.
    """
    if database.checkpoints is not None:
        database.checkpoints.require_sound()
    with appearing(path) as part:
        with database.reading() as connection:
            held = contents(connection)  # its first word begins to see one state
            source: Any = connection.connection.driver_connection
            _copy_pages(source, part, path, watch)
        require_whole(part, path)
    return held


def _copy_pages(source: Any, part: Path, path: Path, watch: Watch) -> None:  # noqa: ANN401  a driver's own
    (page_bytes,) = source.execute("PRAGMA page_size").fetchone()

    def tell(_status: int, left: int, total: int) -> None:
        watch((total - left) * page_bytes, total * page_bytes)

    with closing(pysqlite3.connect(part, isolation_level=None)) as target:
        # Nobody reads it before it is whole, and then it is synced as one.
        for pragma in ("journal_mode=OFF", "synchronous=OFF"):
            target.execute(f"PRAGMA {pragma}")
        try:
            source.backup(target, pages=_PAGES_AT_ONCE, progress=tell, sleep=0)
        except pysqlite3.Error as error:
            raise FileProblem(f"cannot write {path}: {error}", hint=_ROOM) from error


def require_copy(path: Path) -> None:
    """Raise `FileProblem` where a part of a database is in a journal beside its file."""
    for ending in _JOURNALS:
        journal = path.with_name(path.name + ending)
        with told_as_file_problem(journal):
            if journal.exists() and journal.stat().st_size > 0:
                raise FileProblem(
                    f"{path} is not all of a database: {journal.name} beside it has the rest",
                    hint="have ALAMA_DATABASE name it and make a backup (`alama db backup FILE`), "
                    "then restore that; or serve from it where it is",
                )


def put_back(backup: Path, target: Path, watch: Watch) -> None:
    """Copy a backup to where a database is to be; nothing may stand there."""
    for left in (target.with_name(target.name + ending) for ending in COMPANIONS):
        if left.exists():
            raise FileProblem(
                f"{left} is left of another database, and would be taken for a part of this one",
                hint="move it away, together with the file that it belongs to",
            )
    with told_as_file_problem(target):
        promise.make_folder(target.parent)
    with appearing(target) as part:
        with told_as_file_problem(target):
            _copy_bytes(backup, part, watch)
        require_whole(part, backup)


def _copy_bytes(source: Path, part: Path, watch: Watch) -> None:
    done, total = 0, source.stat().st_size
    with source.open("rb") as reader, part.open("wb") as writer:
        while chunk := reader.read(_CHUNK_BYTES):
            writer.write(chunk)
            done += len(chunk)
            watch(done, total)


def require_whole(file: Path, path: Path) -> None:
    """Read all of a copy, or raise `FileProblem` that calls it by another path."""
    try:
        with closing(untouched(file)) as connection:
            said = [row[0] for row in connection.execute("PRAGMA quick_check(1)")]
    except pysqlite3.Error as error:
        said = [str(error)]
    if said != ["ok"]:
        raise FileProblem(
            f"{path} is damaged: {said[0]}",
            hint="use another backup; and look at the disk that this one was written to",
        )


def version_in(file: Path) -> str | None:
    """Give the schema that a copy stands at; None where it is no database of Alama's."""
    with closing(untouched(file)) as connection:
        try:
            found = connection.execute("SELECT version_num FROM alembic_version").fetchone()
            connection.execute("SELECT request_id FROM scores LIMIT 1")
        except pysqlite3.Error:
            return None
    return None if found is None else str(found[0])


def untouched(file: Path) -> Any:  # noqa: ANN401  a driver's own
    """Open a file that nobody writes, and leave nothing beside it: it may be on a read-only disk.

    As it is, too: pages that a journal beside it has are not looked at, for a copy has none.
    """
    return pysqlite3.connect(f"{file.absolute().as_uri()}?mode=ro&immutable=1", uri=True)


_ROOM: Final = "is there room on that disk, for as much as the database takes?"
