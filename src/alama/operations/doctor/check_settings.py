"""Settings: whether each can be read, and whether together they are what one would run."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Final

from alama.core.errors import AlamaError
from alama.operations.doctor import check_service
from alama.operations.doctor.check_service import Address, note_in
from alama.operations.doctor.findings import number, some
from alama.operations.findings import Finding, broken, look, ok, unchecked
from alama.platform import addresses
from alama.platform import settings as platform_settings
from alama.platform.database import database
from alama.platform.settings import PREFIX, InvalidSetting, Settings
from alama.platform.telemetry import tracing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from alama.operations.doctor.patient import Patient


OVERLOADED: Final = 2
"""Workers for each core, beyond which they only take turns."""

STOP_S_MAX: Final = 25
"""Kubernetes kills after 30 s unless told otherwise, and stopping has to begin before."""

_WITHOUT_TLS = "the service itself speaks no TLS"


def read_what_can_be(environment: Mapping[str, str]) -> tuple[Settings, Finding]:
    """Read the settings that can be read: one that is wrong does not hide what else is."""
    check = "settings.variables"
    ours = {name: value for name, value in environment.items() if name.startswith(PREFIX) and value}
    try:
        settings = platform_settings.read(ours)
    except InvalidSetting as error:
        together = error
    else:
        told = f"{len(ours)} set, {'valid' if len(ours) == 1 else 'all valid'}"
        return settings, ok(check, told if ours else "none is set")
    good, wrong = {}, {}
    for name, value in ours.items():
        try:
            platform_settings.read({name: value})
            good[name] = value
        except InvalidSetting as error:
            wrong[name] = error
    # Of what is given twice, the value is gone by and the file is read.
    once = {name: value for name, value in good.items() if f"{name}_FILE" not in good}
    settings = platform_settings.read(once)
    if not wrong:  # each is good, and together they are not
        return settings, broken(check, str(together), together.hint)
    seen = some([str(error) for error in wrong.values()])
    todo = "; ".join(f"{name}: {error.hint}" for name, error in list(wrong.items())[:3])
    return settings, broken(check, seen, todo)


def examine(patient: Patient) -> Iterator[Finding]:
    """Look at the settings that were read."""
    settings = patient.settings
    yield _user()
    yield _home(settings)
    yield _development(settings)
    yield _workers(patient)
    yield _listening(note_in(settings.home_folder) or Address(settings.host, settings.port))
    yield _metrics(settings)
    yield _traces(patient.environment)
    yield _stopping(settings)
    yield check_service.examine(settings)


def _user() -> Finding:
    check, uid = "settings.user", os.geteuid()
    if uid == 0:
        return look(
            check,
            "this runs as root",
            "run Alama as a user of its own, which owns nothing but ALAMA_HOME; and this check too",
        )
    return ok(check, f"user {uid}, not root")


def _home(settings: Settings) -> Finding:
    check, folder = "settings.home", settings.home_folder.absolute()
    if not _keeps_something(settings):
        # So it may be missing, or open to its group, as a volume of Kubernetes is.
        return ok(check, f"nothing is kept in {folder}")
    try:
        found = folder.stat()
    except OSError as error:
        if isinstance(error, FileNotFoundError) and not settings.names_database:
            return unchecked(check, f"{folder} is not there: see the database")
        return broken(
            check,
            f"{folder}: {error.strerror}",
            "`alama serve` makes it; if yours is elsewhere, set ALAMA_HOME to its place",
        )
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return broken(
            check,
            f"others can write into {folder}, and put secrets of theirs in the place of yours",
            f"`chmod 700 {folder}`",
        )
    if os.geteuid() not in {0, found.st_uid}:
        return look(
            check,
            f"{folder} is user {found.st_uid}'s, and this runs as user {os.geteuid()}",
            "run this as the user who runs the service",
        )
    return ok(check, f"{folder}, which its owner alone can write")


def _keeps_something(settings: Settings) -> bool:
    """Whether anything of this installation is in its home folder."""
    secrets_elsewhere = (settings.pepper or settings.pepper_file) and (
        settings.master_key or settings.master_key_file
    )
    return not (secrets_elsewhere and settings.names_database)


def _development(settings: Settings) -> Finding:
    check = "settings.development"
    if settings.development == "no":
        return ok(check, "off: webhooks leave over TLS alone, for public addresses")
    if _is_loopback(settings.host):
        return look(
            check,
            "on: webhooks may be sent over http, and to this machine",
            "leave ALAMA_DEVELOPMENT out where real applicants are scored",
        )
    return broken(
        check,
        f"on, though others reach the service on {settings.host}: a lender can have events sent to "
        "what listens on this machine",
        "leave ALAMA_DEVELOPMENT out",
    )


def _workers(patient: Patient) -> Finding:
    check, workers = "settings.workers", patient.settings.workers
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    cores = cores or 1
    is_shared = workers > 1 and patient.database is not None
    if is_shared and patient.database and not database.safe_for_several(patient.database):
        return broken(
            check,
            f"{workers} workers on one SQLite file, which this SQLite could corrupt",
            "ALAMA_WORKERS=1, or use PostgreSQL",
        )
    seen = f"{number(workers, 'worker')}, {number(cores, 'core')}"
    if workers > OVERLOADED * cores:
        return look(check, seen, f"ALAMA_WORKERS={cores}: more of them only take turns")
    return ok(check, seen)


def _listening(address: Address) -> Finding:
    check, place = "settings.listening", f"{address.host}, port {address.port}"
    if _is_loopback(address.host):
        return ok(check, f"on {place}: this machine alone, whoever is in front included")
    return look(
        check,
        f"on {place}: others may reach it, and {_WITHOUT_TLS}",
        "let nobody but the proxy in front reach that port (a firewall, a network of containers), "
        "or set ALAMA_HOST=127.0.0.1",
    )


def _metrics(settings: Settings) -> Finding:
    check, port = "settings.metrics", settings.metrics_port
    if not port:
        return unchecked(check, "no port is open for them", "ALAMA_METRICS_PORT=9464 opens one")
    if _is_loopback(settings.host):
        return ok(check, f"on port {port}, to this machine alone")
    return look(
        check,
        f"on port {port} of {settings.host}, where they ask for no key",
        "let nobody but Prometheus reach that port",
    )


def _traces(environment: Mapping[str, str]) -> Finding:
    check = "settings.traces"
    if not tracing.are_wanted(environment):
        return unchecked(check, "none are sent: no collector is named")
    try:
        tracing.check(environment)
    except AlamaError as error:
        return broken(check, f"`alama serve` does not start: {error}", error.hint)
    return ok(check, "sent to the collector that the environment names")


def _stopping(settings: Settings) -> Finding:
    check, stop_s = "settings.stopping", settings.stop_timeout
    least_s = database.STATEMENT_TIMEOUT_MS // 1_000
    if stop_s < least_s:
        return look(
            check,
            f"a stop takes {stop_s} s at most, and a request may wait {least_s} s for the database",
            f"ALAMA_STOP_TIMEOUT={least_s}, so that what was accepted is answered",
        )
    if stop_s > STOP_S_MAX:
        return look(
            check,
            f"a stop may take {stop_s} s",
            f"let whoever stops it wait longer than that (TimeoutStopSec, stop_grace_period, "
            f"terminationGracePeriodSeconds: 30 s by default), or ALAMA_STOP_TIMEOUT={STOP_S_MAX}",
        )
    return ok(check, f"a stop takes {stop_s} s at most, and accepted requests are answered first")


def _is_loopback(host: str) -> bool:
    address = addresses.parsed(host)
    if address is None:
        return host == "localhost"
    return any(address in network for network in addresses.LOOPBACK)
