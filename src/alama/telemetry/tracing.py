"""Whether traces are wanted, and whether they can be had: known without loading OpenTelemetry.

They are set by the standard variables that its libraries read themselves: one place to say where
the collector is serves every program of a machine.
"""

from __future__ import annotations

import importlib.util
import re
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlsplit

from alama.core.errors import AlamaError

if TYPE_CHECKING:
    from collections.abc import Mapping

ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
PROTOCOLS: Final = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
"""The first that is set counts."""

HEADERS: Final = ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS")
TIMEOUTS: Final = ("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT")
ATTRIBUTES: Final = "OTEL_RESOURCE_ATTRIBUTES"
DISABLED: Final = "OTEL_SDK_DISABLED"
QUEUE: Final = "OTEL_BSP_MAX_QUEUE_SIZE"
BATCH: Final = "OTEL_BSP_MAX_EXPORT_BATCH_SIZE"
DELAY: Final = "OTEL_BSP_SCHEDULE_DELAY"
SAMPLER: Final = "OTEL_TRACES_SAMPLER"
RATIO: Final = "OTEL_TRACES_SAMPLER_ARG"
SPOKEN: Final = "http/protobuf"

SAMPLERS: Final = (
    *("always_on", "always_off", "traceidratio"),
    *("parentbased_always_on", "parentbased_always_off", "parentbased_traceidratio"),
)

# As the libraries read them: what does not fit they drop, and write into the log as it is.
_HEADER: Final = re.compile(r"[!#-'*+.\-0-9A-Z^-z|~]+[ \t]*=[ !#-+\--:<-\[\]-~]*", re.ASCII)
_WHOLE: Final = re.compile("[0-9]{1,9}")
_LIMIT: Final = re.compile("OTEL_(ATTRIBUTE|SPAN|EVENT|LINK)_.*LIMIT|OTEL_BSP_EXPORT_TIMEOUT")

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


class Batches(NamedTuple):
    """How many spans wait to be sent, how many are sent at once, and how often."""

    max_queue_size: int
    max_export_batch_size: int
    schedule_delay_millis: int


def batches(environment: Mapping[str, str]) -> Batches:
    """Read how spans are sent, from an environment that was checked."""
    queue = int(_first(environment, (QUEUE,)) or 2048)
    at_once = int(_first(environment, (BATCH,)) or min(512, queue))
    return Batches(queue, at_once, int(_first(environment, (DELAY,)) or 5000))


def check(environment: Mapping[str, str]) -> None:
    """Raise `TracesUnavailable` where traces are wanted and could not be sent as is asked for.

    A variable is told by its name alone: a value may be a token.
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
            hint=f"install alama[traces], or unset {' and '.join(ENDPOINTS)}",
        )
    _check_address(environment)
    _check_sampler(environment)
    _check_numbers(environment)


def _check_address(environment: Mapping[str, str]) -> None:
    for name in ENDPOINTS:
        if not _is_address(environment.get(name, "").strip()):
            raise TracesUnavailable(
                f"{name} is not an address", hint="http://collector.internal:4318 is one"
            )
    for name, fits in (*((name, _is_header) for name in HEADERS), (ATTRIBUTES, _is_attribute)):
        given = (one.strip() for one in environment.get(name, "").split(","))
        if not all(fits(one) for one in given if one):
            raise TracesUnavailable(
                f"{name} is not name=value, or several of them with commas between",
                hint="authorization=Bearer%20TOKEN is such a pair: a space and what separates are "
                "written as in an address",
            )


def _is_address(value: str) -> bool:
    try:
        parts = urlsplit(value)
        fits = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port or a bracket
        return False
    return fits or not value


def _is_header(text: str) -> bool:
    return _HEADER.fullmatch(text) is not None


def _is_attribute(text: str) -> bool:
    return "=" in text


def _check_sampler(environment: Mapping[str, str]) -> None:
    sampler = environment.get(SAMPLER, "").strip()
    if sampler and environment[SAMPLER].lower() not in SAMPLERS:
        raise TracesUnavailable(
            f"{SAMPLER} is none that is known", hint=f"it is one of {', '.join(SAMPLERS)}"
        )
    if sampler.lower().endswith("ratio") and not _is_number(environment.get(RATIO, ""), most=1):
        raise TracesUnavailable(
            f"{RATIO} is not a number from 0 to 1", hint="0.1 traces one request in ten"
        )


def _check_numbers(environment: Mapping[str, str]) -> None:
    """Refuse what a library would break on, or replace by a number of its own."""
    positive = (QUEUE, BATCH, DELAY)
    for name in (*positive, *filter(_LIMIT.fullmatch, environment)):
        value = environment.get(name, "").strip()
        least = int(name in positive)
        if value and not (_WHOLE.fullmatch(value) and int(value) >= least):
            raise TracesUnavailable(
                f"{name} is not a whole number from {least} on", hint="unset it for what is usual"
            )
    for name in TIMEOUTS:
        value = environment.get(name, "").strip()
        if value and not _is_number(value, most=1e9):
            raise TracesUnavailable(
                f"{name} is not a number of seconds",
                hint="unset it for what is usual",
            )
    found = batches(environment)
    if found.max_export_batch_size > found.max_queue_size:
        raise TracesUnavailable(
            f"{BATCH} is more than {QUEUE}: so many never wait",
            hint=f"unset {BATCH}, or give room for more",
        )


def _is_number(text: str, most: float) -> bool:
    try:
        return 0 <= float(text) <= most
    except ValueError:
        return False


def _first(environment: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    """Give the first that is set; an empty variable counts as not set."""
    values = (environment.get(name, "").strip() for name in names)
    return next((value for value in values if value), None)


def _are_installed() -> bool:
    try:
        return all(importlib.util.find_spec(name) is not None for name in _LIBRARIES)
    except ModuleNotFoundError:  # the parent of one
        return False
