"""Whether traces are wanted, known without loading OpenTelemetry, and whether they can be had.

They are set by the standard variables that its libraries read themselves: one place to say where
the collector is serves every program of a machine.
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from alama.core.errors import AlamaError
from alama.platform.extras import how_to_install

if TYPE_CHECKING:
    from collections.abc import Mapping


ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
PROTOCOLS: Final = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
"""The first that is set counts."""

DISABLED: Final = "OTEL_SDK_DISABLED"
SPOKEN: Final = "http/protobuf"

_LIBRARIES: Final = (
    "opentelemetry",
    "opentelemetry.sdk",
    "opentelemetry.exporter.otlp.proto.http",
)


class TracesUnavailable(AlamaError):
    """Traces are asked for and cannot be sent from here."""


def are_wanted(environment: Mapping[str, str]) -> bool:
    """Say whether a collector is named, and traces are not switched off."""
    if environment.get(DISABLED, "").strip().lower() == "true":
        return False
    return _first(environment, ENDPOINTS) is not None


def check(environment: Mapping[str, str]) -> None:
    """Raise `TracesUnavailable` where traces are wanted and could not be sent from here.

    What the variables say, but for the address, OpenTelemetry judges itself.
    """
    if not are_wanted(environment):
        return
    protocol = _first(environment, PROTOCOLS)
    if protocol not in {None, SPOKEN}:
        raise TracesUnavailable(
            f"traces are sent as {SPOKEN}, and the environment asks for another protocol",
            hint=f"unset {' and '.join(PROTOCOLS)}, and name the collector's port for HTTP, "
            "which is 4318 as a rule",
        )
    if not _are_installed():
        raise TracesUnavailable(
            "the environment names a collector of traces, and the libraries for them are not "
            "installed",
            hint=f"{how_to_install('traces')}. Or unset {' and '.join(ENDPOINTS)}",
        )
    # The library would repeat it in the log, with the token that it may hold.
    for name in ENDPOINTS:
        if not _is_address(environment.get(name, "").strip()):
            raise TracesUnavailable(
                f"{name} is not an address", hint="http://collector.internal:4318 is one"
            )
    _try_out()


def _try_out() -> None:
    from alama.platform.telemetry.traces import try_out  # noqa: PLC0415  not installed everywhere

    try:
        try_out()
    except ValueError as error:
        raise TracesUnavailable(
            f"OpenTelemetry refuses one of its variables: {error}",
            hint="unset those that begin with OTEL_BSP_, or end with _LIMIT, for what is usual",
        ) from error


def _is_address(value: str) -> bool:
    try:
        parts = urlsplit(value)
        fits = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port or a bracket
        return False
    return fits or not value


def _first(environment: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    """Give the first that is set; an empty variable counts as not set."""
    values = (environment.get(name, "").strip() for name in names)
    return next((value for value in values if value), None)


def _are_installed() -> bool:
    try:
        return all(importlib.util.find_spec(name) is not None for name in _LIBRARIES)
    except ModuleNotFoundError:  # the parent of one
        return False
