from __future__ import annotations

import pytest

from alama.platform.telemetry import tracing
from alama.platform.telemetry.tracing import TracesUnavailable

NAMED = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"}


@pytest.mark.parametrize(
    ("environment", "wanted"),
    [
        ({}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": " "}, False),
        (NAMED, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://collector:4318/v1/traces"}, True),
        (NAMED | {"OTEL_SDK_DISABLED": " TRUE"}, False),
        (NAMED | {"OTEL_SDK_DISABLED": "1"}, True),  # as the specification has it
        ({"OTEL_TRACES_SAMPLER": "always_on"}, False),
    ],
)
def test_traces_are_wanted_where_a_collector_is_named(
    environment: dict[str, str], *, wanted: bool
) -> None:
    assert tracing.are_wanted(environment) is wanted


def test_what_is_installed_and_spoken_is_in_order() -> None:
    tracing.check({})
    tracing.check(NAMED)
    tracing.check(NAMED | {"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"})
    tracing.check({"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"})  # nobody asks for traces


def test_a_protocol_that_is_not_spoken_is_refused_and_says_what_to_do() -> None:
    with pytest.raises(TracesUnavailable) as refused:
        tracing.check(NAMED | {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"})
    assert "4318" in str(refused.value.hint)


def test_the_protocol_for_traces_alone_comes_first() -> None:
    both = {
        "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
        "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf",
    }
    tracing.check(NAMED | both)


def test_a_missing_library_is_told_by_the_name_of_its_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tracing, "_LIBRARIES", ("alama_nowhere.sdk",))
    with pytest.raises(TracesUnavailable) as refused:
        tracing.check(NAMED)
    assert "pip install '.[traces]'" in str(refused.value.hint)


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318/Zq7marked"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "grpc://Zq7marked@collector:4317"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://me:Zq7marked@collector:port"),
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http:///Zq7marked"),
    ],
)
def test_what_is_no_address_is_refused_by_its_name_and_not_repeated(
    name: str, address: str
) -> None:
    with pytest.raises(TracesUnavailable) as refused:
        tracing.check(NAMED | {name: address})
    assert name in str(refused.value)
    assert "Zq7marked" not in f"{refused.value} {refused.value.hint}"


def test_an_address_may_hold_a_password() -> None:
    tracing.check({"OTEL_EXPORTER_OTLP_ENDPOINT": "https://me:Zq7marked@[::1]:4318/"})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "-1"),
        ("OTEL_BSP_MAX_QUEUE_SIZE", "0"),
    ],
)
def test_what_opentelemetry_refuses_is_told_in_its_words(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(TracesUnavailable, match="OpenTelemetry refuses one of its variables: "):
        tracing.check(NAMED)
