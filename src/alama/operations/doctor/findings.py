"""Every check of the doctor and what it is called, and the words that its findings share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from alama.operations.findings import Finding, unchecked

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


GROUPS: Final = {
    "settings": "Settings",
    "database": "Database",
    "clock": "Clock",
    "disk": "Disk",
    "secrets": "Secrets and keys",
    "model": "Model",
    "webhooks": "Webhooks",
    "front": "In front",
}

CHECKS: Final = {
    "settings.variables": "variables",
    "settings.user": "user",
    "settings.home": "home folder",
    "settings.development": "development",
    "settings.workers": "workers",
    "settings.listening": "listening",
    "settings.metrics": "metrics",
    "settings.traces": "traces",
    "settings.stopping": "stopping",
    "settings.service": "service",
    "database.reachable": "reachable",
    "database.latency": "latency",
    "database.schema": "schema",
    "database.writable": "writable",
    "database.durable": "durable",
    "database.journal": "journal",
    "database.place": "disk or role",
    "database.tls": "TLS",
    "database.connections": "connections",
    "database.transactions": "transactions",
    "clock.kernel": "synchronised",
    "clock.database": "clock of PostgreSQL",
    "clock.front": "clock in front",
    "clock.leap": "time that is trusted",
    "clock.retention": "retention",
    "disk.home": "home folder",
    "disk.database": "database",
    "secrets.files": "files",
    "secrets.environment": "environment",
    "secrets.pepper": "pepper",
    "secrets.master_key": "master key",
    "secrets.vault": "vault",
    "secrets.old_master_key": "old master key",
    "secrets.expiring": "expiring keys",
    "secrets.unused": "unused keys",
    "secrets.wide": "keys that change models",
    "model.builtin": "built-in",
    "model.books": "models of lenders",
    "webhooks.endpoints": "endpoints",
    "webhooks.backlog": "backlog",
    "webhooks.worker": "worker",
    "webhooks.egress": "way out",
    "front.certificate": "certificate",
    "front.expiry": "expiry",
    "front.versions": "TLS versions",
    "front.health": "health",
    "front.plain": "port 80",
    "front.hsts": "HSTS",
    "front.closed": "closed paths",
}
"""Every check there is and what it is called on the screen, in the order of the screen."""


def complete(found: Iterable[Finding], group: str, why: str) -> Sequence[Finding]:
    """Give the findings of a group in the order of the screen; what is missing was not checked."""
    by_check = {finding.check: finding for finding in found}
    of_group = (check for check in CHECKS if check.partition(".")[0] == group)
    return [by_check.get(check) or unchecked(check, why) for check in of_group]


def some(names: Sequence[str], most: int = 3) -> str:
    """Name a few of many."""
    named = ", ".join(names[:most])
    return named if len(names) <= most else f"{named} and {len(names) - most} more"


def number(count: int, one: str, many: str | None = None) -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def size(count_bytes: float) -> str:
    """Give a number of bytes as a person reads it."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if count_bytes < 1_000:  # noqa: PLR2004  a prefix
            return f"{count_bytes:.0f} {unit}" if unit != "GB" else f"{count_bytes:.1f} GB"
        count_bytes /= 1_000
    return f"{count_bytes:,.1f} TB"
