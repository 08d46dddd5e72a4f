"""The service's blocks of docs/generated/benchmarks.md."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any, Final

from bench.page import filled as fill
from bench.page import table, times
from bench.serve.figures import QUANTILES, aims, middle, others_share, ratio
from bench.serve.subjects import ALAMA, SUBJECTS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bench.page import Document
    from bench.serve.figures import Aim

NOTHING: Final = "*Not measured yet: `make bench-serve SIZE=full`.*"


def filled(page: str, document: Document) -> str:
    """Give the page with every block of the service written anew."""
    return fill(page, BLOCKS, document)


def throughput_rows(document: Document) -> list[list[str]]:
    """Give the lines of the table: title, rate and ratio for each load, processor, errors."""
    subjects = document.get("subjects", {})
    ours = subjects.get(ALAMA, {}).get("rates", {})
    rows = []
    for name, entry in _in_order(subjects):
        cells = [SUBJECTS[name].title]
        for connections, rates in entry["rates"].items():
            rate = middle(rates)
            cells.append("void" if rate is None else f"{rate:,.0f}")
            share = ratio(ours[connections], rates) if connections in ours else None
            cells.append("" if share is None else times(share))
        used = middle(entry["processor_us"])
        cells.append("" if used is None else f"{used:,.0f}")
        rows.append([*cells, f"{entry['errors']:,}"])
    return rows


def throughput_head(document: Document) -> list[str]:
    """Give the head over those lines."""
    counts = next((list(e["rates"]) for e in document.get("subjects", {}).values()), [])
    columns = [c for n in counts for c in (f"requests/s at {n}", "Alama to it")]
    return ["one process, one core", *columns, "processor µs", "errors"]


def latency_rows(document: Document) -> list[list[str]]:
    """Give the lines of the table: title, load, the quantiles in milliseconds, requests."""
    rows = []
    for name, entry in _in_order(document.get("subjects", {})):
        told = entry.get("latency")
        if told:
            quantiles = [_ms(told["ms"].get(quantile)) for quantile in QUANTILES]
            void = " (void)" if told["errors"] else ""
            load = f"{told['rate']:,.0f}{void}"
            rows.append([SUBJECTS[name].title, load, *quantiles, f"{told['requests']:,}"])
    return rows


LATENCY_HEAD: Final = (
    "at half of its maximum", "requests/s", *(f"{name} ms" for name in QUANTILES), "requests",
)  # fmt: skip


def aim_rows(document: Document) -> list[list[str]]:
    """Give the lines of the table: what, aimed at, measured, met or not."""
    return [
        [aim.said, _bound(aim), _figure(aim.measured, aim.unit), "yes" if aim.met else "**no**"]
        for aim in aims(document)
    ]


AIM_HEAD: Final = ("Alama, each score durable", "aimed at", "measured", "met")


def _machine(document: Document) -> str:
    about = document.get("machine")
    if not about:
        return NOTHING
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    pinned = "server and client on a core each" if about["pinned"] else "cores not bound"
    return (
        f"Measured on {about['cores']} cores ({about['architecture']}; {pinned}), "
        f"{about['memory_gb']} GB, Python {about['python']}. To write a page for good (`fsync`) "
        f"took {about['sync_ms']} ms here. {_rounds(document)} {_disturbed(document)}Versions: "
        f"{versions}."
    )


def _disturbed(document: Document) -> str:
    """Own up to what else the machine was doing."""
    share = others_share(document)
    if share is None:
        return ""
    return (
        f"Work that was not ours took {share:.0%} of the machine meanwhile (median of all runs). "
    )


def _rounds(document: Document) -> str:
    size = document["size"]
    return (
        f"{size['rounds']} rounds of {size['seconds']} s for each line and number of connections; "
        f"latency over {size['latency_rounds']} times {size['latency_seconds']} s."
        f"{_earlier(document.get('earlier'))}"
    )


def _earlier(revision: str | None) -> str:
    return f" Alama as it was is revision `{revision}`." if revision else ""


def _throughput(document: Document) -> str:
    rows = throughput_rows(document)
    return table(throughput_head(document), rows) if rows else NOTHING


def _latency(document: Document) -> str:
    rows = latency_rows(document)
    return f"{table(LATENCY_HEAD, rows)}\n\n{_lateness(document)}" if rows else NOTHING


def _lateness(document: Document) -> str:
    """Own up to what the client itself adds."""
    late = [
        entry["latency"]["client_late_ms"]["p99"]
        for entry in document["subjects"].values()
        if "p99" in entry.get("latency", {}).get("client_late_ms", {})
    ]
    if not late:
        return ""
    return (
        f"The client sent 99 % of its requests within {median(late):.2f} ms of their time (the "
        f"median over the lines; {max(late):.2f} ms at worst, there with requests that waited for "
        "one of the 64 connections), and that is part of these figures."
    )


def _alone(document: Document) -> str:
    about: Mapping[str, Any] = document.get("alone", {})
    if "start_s" not in about:
        return NOTHING
    head = ["requests answered", *(f"{count:,}" for count in about["requests"])]
    memory = ["worker's memory, MB", *(_memory(size) for size in about["memory_mb"])]
    return (
        f"{table(head, [memory])}\n\n"
        f"Start to first answer: {median(about['start_s']):.2f} s (median of "
        f"{len(about['start_s'])}), {about['first_start_s']:.2f} s on a new database. A stored "
        f"score takes {about['sqlite_bytes_per_score']:,} bytes in SQLite"
        f"{_postgres(about.get('postgres'))}"
    )


def _postgres(about: Mapping[str, Any] | None) -> str:
    if not about:
        return "."
    return (
        f" and {about['bytes_per_score']:,} in PostgreSQL {about['server_version']} (fsync "
        f"{about['fsync']}, synchronous_commit {about['synchronous_commit']}), with all indexes."
    )


def _aims(document: Document) -> str:
    rows = aim_rows(document)
    return table(AIM_HEAD, rows) if rows else NOTHING


def _in_order(subjects: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return [(name, subjects[name]) for name in SUBJECTS if name in subjects]


def _bound(aim: Aim) -> str:
    return f"{'at least' if aim.at_least else 'under'} {_figure(aim.bound, aim.unit)}"


def _figure(value: float, unit: str) -> str:
    return f"{value:,.3g} {unit}"


def _ms(value: float | None) -> str:
    return "too few" if value is None else f"{value:,.2f}"


def _memory(size_mb: float | None) -> str:
    return "unknown" if size_mb is None else f"{size_mb:,.0f}"


BLOCKS: Final[dict[str, Callable[[Document], str]]] = {
    "serve, machine": _machine,
    "serve, throughput": _throughput,
    "serve, latency": _latency,
    "serve, alone": _alone,
    "serve, aims": _aims,
}
