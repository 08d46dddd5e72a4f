from __future__ import annotations

import logging

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.util.re import parse_env_headers

from alama.telemetry import tracing
from alama.telemetry.tracing import TracesUnavailable

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
    assert "alama[traces]" in str(refused.value.hint)


MARK = "Zq7marked"
HEADERS = "OTEL_EXPORTER_OTLP_HEADERS"


def test_a_variable_that_makes_no_sense_is_refused_by_its_name_and_not_repeated(
    subtests: pytest.Subtests,
) -> None:
    for variables in [
        {HEADERS: f"Bearer {MARK}"},
        {HEADERS: f"a=b,Bearer {MARK}"},
        {HEADERS: f'authorization="{MARK}"'},
        {HEADERS: f"authorization=b;{MARK}"},
        {HEADERS: f"authorization: Bearer {MARK}"},
        {"OTEL_EXPORTER_OTLP_TRACES_HEADERS": MARK},
        {"OTEL_RESOURCE_ATTRIBUTES": f"a=b,{MARK}"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": f"collector:4318/{MARK}"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": f"grpc://{MARK}@collector:4317"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://me:{MARK}@collector:port"},
        {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"http:///{MARK}"},
        {"OTEL_TRACES_SAMPLER": MARK},
        {"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": MARK},
        {"OTEL_TRACES_SAMPLER": "parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG": "10"},
        {"OTEL_TRACES_SAMPLER": "parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG": "nan"},
        {"OTEL_TRACES_SAMPLER": "parentbased_traceidratio"},
        {"OTEL_BSP_MAX_QUEUE_SIZE": MARK},
        {"OTEL_BSP_MAX_QUEUE_SIZE": "0"},
        {"OTEL_BSP_MAX_QUEUE_SIZE": "64", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "65"},
        {"OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "-1"},
        {"OTEL_BSP_SCHEDULE_DELAY": "0.5"},
        {"OTEL_BSP_EXPORT_TIMEOUT": MARK},
        {"OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT": MARK},
        {"OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT": "-1"},
        {"OTEL_EXPORTER_OTLP_TIMEOUT": MARK},
    ]:
        with subtests.test(variables=variables):
            with pytest.raises(TracesUnavailable) as refused:
                tracing.check(NAMED | variables)
            said = f"{refused.value} {refused.value.hint}"
            assert MARK not in said
            assert list(variables)[-1] in said or "SAMPLER" in said


@pytest.mark.parametrize(
    "variables",
    [
        {HEADERS: f"authorization=Bearer%20{MARK}"},
        {HEADERS: f"authorization=Bearer {MARK}, x-tenant = a==,"},
        {HEADERS: ""},
        {"OTEL_RESOURCE_ATTRIBUTES": "deployment.environment=Nyeri é, host=a b"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": f"https://me:{MARK}@[::1]:4318/"},
        {"OTEL_TRACES_SAMPLER": "TraceIdRatio", "OTEL_TRACES_SAMPLER_ARG": "1e-3"},
        {"OTEL_TRACES_SAMPLER": "always_off", "OTEL_TRACES_SAMPLER_ARG": "whatever"},
        {"OTEL_BSP_MAX_QUEUE_SIZE": "256"},
        {"OTEL_BSP_MAX_QUEUE_SIZE": " "},
        {"OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "2048", "OTEL_BSP_SCHEDULE_DELAY": "1"},
        {"OTEL_SPAN_LINK_COUNT_LIMIT": "", "OTEL_EXPORTER_OTLP_TIMEOUT": "2.5"},
    ],
)
def test_what_passes_starts_and_makes_no_library_complain(
    variables: dict[str, str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name, value in (NAMED | variables).items():
        monkeypatch.setenv(name, value)
    tracing.check(NAMED | variables)
    logging.getLogger("opentelemetry.util.re").setLevel(logging.NOTSET)
    parse_env_headers(variables.get(HEADERS, ""), liberal=True)
    sizes = tracing.batches(NAMED | variables)
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(InMemorySpanExporter(), **sizes._asdict()))
    provider.shutdown()
    assert caplog.records == []


def test_a_short_queue_is_sent_as_a_whole() -> None:
    assert tracing.batches({"OTEL_BSP_MAX_QUEUE_SIZE": "256"}) == (256, 256, 5000)
    assert tracing.batches({}) == (2048, 512, 5000)
