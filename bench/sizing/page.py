"""The tables of docs/generated/sizing.md."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from bench import page
from bench.serve.figures import middle, ratio
from bench.sizing import speed, storage
from bench.sizing.stage import DATABASES, SQLITE

if TYPE_CHECKING:
    from bench.page import Document

NOTHING: Final = "*Not measured yet: `make bench-sizing SIZE=full`.*"
QUICK: Final = (
    "*From a quick run on a machine with other work: orders of magnitude, not figures to buy by. "
    "`make bench-sizing SIZE=full` writes those.*\n\n"
)
_BUSY_MAX: Final = 0.1
"""From this share of a machine on, the work of others is no trifle."""
_EVEN_MAX: Final = 0.05
"""Two halves that differ by more than this are not called alike."""


def machine(document: Document) -> str:
    """Say what kind of machine it was, and how busy with other work."""
    if not document.get("machine"):
        return NOTHING
    about = document["machine"]
    known = [share for share in document["speed"]["busy_shares"] if share is not None]
    others = " and ".join(f"{share:.0%}" for share in known) or "unknown"
    crowded = max(known, default=0.0) > _BUSY_MAX
    return (
        f"{'' if document['name'] == 'full' else QUICK}"
        f"{about['cores']} cores ({about['architecture']}), {about['memory_gb']} GB, Python "
        f"{about['python']}; a page is on the disk for good after {about['sync_ms']} ms; other "
        f"work before and after the rounds: {others} of the machine"
        f"{', which makes every figure of speed worse than it is' if crowded else ''}. PostgreSQL "
        "ran on the same machine."
    )


def carried(document: Document) -> str:
    """Give what a core carries."""
    if not document.get("speed"):
        return NOTHING
    found = document["speed"]
    rates: dict[str, list[float | None]] = found["rates"]
    ceiling = rates[speed.CEILING]
    bare = _waits(found["latency"].get(speed.CEILING, []))
    rows = [["the ceiling: same bytes, nothing done", "1", "", _rate(ceiling), "", *bare]]
    rows += [
        [
            database,
            str(processes),
            who,
            _rate(rates[name]),
            _times(ratio(rates[name], ceiling)),
            *_waits(found["latency"].get(name, [])),
        ]
        for database in DATABASES
        for processes in (1, 2)
        for who in speed.BODIES
        for name in [speed.row(database, processes, who)]
    ]
    head = (
        *("database", "processes", "applicant", "scores/s", "of the ceiling"),
        *("p50 at half of it", "p99 at half of it", "quick up to"),
    )
    size = document["size"]
    return (
        f"{page.table(head, rows)}\n\n{size['rounds']} rounds of {size['seconds']} s, median; all "
        "rows in each round, ratios within a round. p50 and p99 at half that load, from when each "
        f"request was due, over {size['latency_seconds']} s at least. {_of_quickness(found)}"
    )


def quick(waits: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Give the most of the loads that were tried at which answers stay quick; None without one."""
    return next((waited for waited in waits if speed.is_quick(waited)), None)


def _of_quickness(found: dict[str, Any]) -> str:
    tried = {name: waits for name, waits in found["latency"].items() if name != speed.CEILING}
    slow = sum(waits[0]["share"] != (quick(waits) or {}).get("share") for waits in tried.values())
    bound = f"99 answers of 100 within {speed.QUICK_MS:.0f} ms"
    said = (
        "were quick in every row"
        if not slow
        else f"were not quick in {slow} of {len(tried)} rows, and a quarter and a tenth were tried"
    )
    return f"*Quick* is {bound}, none refused: at half load answers {said}."


def _rate(rates: list[float | None]) -> str:
    value = middle(rates)
    return "void" if value is None else f"{value:,.0f}"


def _times(value: float | None) -> str:
    return "" if value is None else f"{value:.2f} x"


def _waits(waits: list[dict[str, Any]]) -> list[str]:
    if not waits:
        return ["void", "void", "void"]
    told, most = waits[0]["ms"], quick(waits)
    return [
        *(f"{told[name]:.1f} ms" if name in told else "unknown" for name in ("p50", "p99")),
        "none of these" if most is None else f"{most['rate']:,.0f} scores/s",
    ]


def around(document: Document) -> str:
    """Give memory and sessions."""
    if not document.get("speed"):
        return NOTHING
    found = document["speed"]["around"]
    rows = [
        [
            database,
            _memory(found[database]["memory_mb"]),
            _memory(found[database]["memory_2_mb"]),
            *_sessions(found[database]),
        ]
        for database in DATABASES
    ]
    head = (
        *("database", "1 process: memory", "2 processes and their worker: memory, each"),
        *("sessions of the 1", "of the 2 with their worker"),
    )
    return page.table(head, rows)


def _memory(sizes: list[float]) -> str:
    return " + ".join(f"{size:,.0f}" for size in sizes) + " MB" if sizes else "unknown"


def _sessions(found: dict[str, Any]) -> list[str]:
    if "sessions" not in found:
        return ["", ""]
    return [str(found["sessions"]), str(found["sessions_2"] - found["sessions"])]


def stored(document: Document) -> str:
    """Give what a score takes, and what a million take."""
    if not document.get("storage"):
        return NOTHING
    rows = [
        [database, name, *_bytes(database, document["storage"][database]["kinds"][name])]
        for database in DATABASES
        for name in storage.KINDS
        if name in document["storage"][database]["kinds"]
    ]
    head = (
        *("database", "a score with", "bytes", "of them indexes", "journal written"),
        *("a million scores", "second half to first"),
    )
    return f"{page.table(head, rows)}\n\n{_of_backups(document['storage'])}"


def per_score(kind: dict[str, Any], what: str = "total") -> float:
    """Give the bytes of a score, over all that were stored."""
    halves = kind["halves"]
    parts = ("rows", "indexes", "aside") if what == "total" else (what,)
    grown = sum(half[part] for half in halves for part in parts)
    return float(grown / sum(half["scores"] for half in halves))


def evenness(kind: dict[str, Any]) -> float | None:
    """Give the bytes of a score in the second half to those in the first; None without halves."""
    if len(kind["halves"]) < 2:
        return None
    first, second = ({"halves": [half]} for half in kind["halves"])
    return per_score(second) / per_score(first)


def uneven(document: Document) -> list[str]:
    """Name what did not grow by the score, so that a million is not so many times one."""
    return [
        f"{name} on {database}: the second half took {even:.2f} x of the first"
        for database in DATABASES
        for name, kind in document["storage"][database]["kinds"].items()
        if (even := evenness(kind)) is not None and abs(even - 1) > _EVEN_MAX
    ]


def _bytes(database: str, kind: dict[str, Any]) -> list[str]:
    total, even = per_score(kind), evenness(kind)
    indexes, journal = per_score(kind, "indexes"), per_score(kind, "journal")
    return [
        f"{total:,.0f}",
        "" if database == SQLITE else f"{indexes:,.0f}",
        "" if database == SQLITE else f"{journal:,.0f}",
        f"{total * 1e6 / 1e9:.2f} GB",
        "" if even is None else f"{even:.2f} x",
    ]


def _of_backups(found: dict[str, Any]) -> str:
    said = []
    for database in DATABASES:
        backup, whole = found[database]["backup_bytes"], found[database]["database_bytes"]
        if backup is not None:
            share = f"{backup / whole:.2f} of the size of the database"
            said.append(f"A backup by `alama db backup` on {database} took {share}.")
    return " ".join(said) or "Backups were not measured."


A_MONTH: Final = 2_000_000
MONTHS: Final = 84
"""Seven years, as long as many laws ask for."""
_WORKING_S: Final = 22 * 8 * 3600
_BUSIEST: Final = 10
"""How many times the mean of working hours the busiest minute may bring."""
_KEPT_DAYS: Final = {storage.KEYED: 3, storage.TOLD: 30}
_DAYS: Final = 30


def example(document: Document) -> str:
    """Work out what a lender with so many applications a month needs."""
    if not document.get("storage"):
        return NOTHING
    mean = A_MONTH / _WORKING_S
    rows = [[database, *_needs(document, database, mean * _BUSIEST)] for database in DATABASES]
    head = (
        *("database", "one process, with quick answers", "processes for the busiest minute"),
        *("disk after a year", "after seven years", "keys and events on top"),
    )
    return (
        f"{A_MONTH:,} applications in 22 days of 8 hours are {mean:.1f} a second; the busiest "
        f"minute may bring {_BUSIEST} times that, {mean * _BUSIEST:.0f} a second.\n\n"
        f"{page.table(head, rows)}\n\n{_decided_by([row[2] for row in rows])}"
    )


def _decided_by(processes: list[str]) -> str:
    if set(processes) == {"1"}:
        return (
            "So for this lender speed does not decide: one process would do, and two on two "
            "machines are for the day when one is away. The disk does."
        )
    return (
        "Take as many processes again on a second machine, for the day when one is away. The disk "
        "decides as well."
    )


def _needs(document: Document, database: str, peak: float) -> list[str]:
    most = quick(document["speed"]["latency"].get(speed.row(database, 1, speed.NAMED), []))
    kinds = document["storage"][database]["kinds"]
    a_score = per_score(kinds[storage.NAMED])
    on_top = sum(
        max(0.0, per_score(kinds[name]) - a_score) * A_MONTH * days / _DAYS
        for name, days in _KEPT_DAYS.items()
    )
    return [
        "unknown" if most is None else f"{most['rate']:,.0f} scores/s",
        "unknown" if most is None else f"{math.ceil(peak / most['rate'])}",
        _gigabytes(12 * A_MONTH * a_score),
        _gigabytes(MONTHS * A_MONTH * a_score),
        _gigabytes(on_top),
    ]


def _gigabytes(size: float) -> str:
    return f"{size / 1e9:,.0f} GB" if size >= 1e10 else f"{size / 1e9:.1f} GB"


BLOCKS: Final = {
    "machine": machine,
    "carried": carried,
    "around": around,
    "stored": stored,
    "example": example,
}
