from __future__ import annotations

import json
import timeit
from typing import NamedTuple

from alama.platform.telemetry.log import COLOURS, Event, Fault, JsonLines, Level, Stamp, TextLines

AT_S = 1_794_754_181.25  # 2026-11-15T14:49:41.250Z


class Finished(NamedTuple):
    request_id: str = "req_01"
    route: str = "/v1/score"
    method: str = "POST"
    status: int = 200
    seconds: float = 0.0018
    code: str | None = None
    lender: str | None = None
    key_id: str | None = None
    own_request_id: str = "req_01"


KNOWN = Finished(lender="umoja-sacco", key_id="key_4f1d2c7b9a035e68")
REFUSED = KNOWN._replace(status=422, code="invalid_application")


def at() -> float:
    return AT_S


def test_the_line_of_a_request_has_these_fields_and_no_others() -> None:
    line = JsonLines(at).request(Finished())
    assert line.endswith("}\n")
    assert list(json.loads(line).items()) == [
        ("time", "2026-11-15T14:49:41.250Z"),
        ("level", "info"),
        ("event", "request"),
        ("request_id", "req_01"),
        ("route", "/v1/score"),
        ("method", "POST"),
        ("status", 200),
        ("ms", 1.8),
    ]


def test_the_line_of_a_request_names_the_key_its_lender_and_the_problem() -> None:
    form = JsonLines(at)
    plain = json.loads(form.request(Finished()))
    known = json.loads(form.request(KNOWN))
    assert known == plain | {"lender": "umoja-sacco", "key_id": "key_4f1d2c7b9a035e68"}
    refused = json.loads(form.request(REFUSED))
    assert refused == known | {"status": 422, "code": "invalid_application"}
    assert json.loads(form.request(Finished(status=422))).keys() == plain.keys()


def test_the_line_of_a_request_that_its_caller_has_named_has_both_ids() -> None:
    named = KNOWN._replace(request_id="order-7/1")
    line = json.loads(JsonLines(at).request(named))
    assert line == json.loads(JsonLines(at).request(KNOWN)) | {
        "request_id": "order-7/1",
        "own_request_id": "req_01",
    }
    assert "  order-7/1 req_01 umoja-sacco" in TextLines(at).request(named)


def test_the_line_of_a_traced_request_ends_with_its_trace() -> None:
    trace_id = "0af7651916cd43dd8448eb211c80319c"
    lines = JsonLines(at)
    line = lines.request(KNOWN)
    assert json.loads(lines.traced(line, trace_id)) == json.loads(line) | {"trace_id": trace_id}
    text = TextLines(at)
    assert text.traced(text.request(KNOWN), trace_id).endswith(f" trace_id={trace_id}\n")


def test_a_request_that_failed_on_our_side_is_a_warning() -> None:
    form = JsonLines(at)
    assert json.loads(form.request(Finished(status=503)))["level"] == "warning"
    assert json.loads(form.request(Finished(status=422)))["level"] == "info"


def test_a_method_that_a_caller_made_up_is_not_repeated() -> None:
    sent = 'ALICE","level":"error'
    assert json.loads(JsonLines(at).request(Finished(method=sent)))["method"] == "OTHER"
    assert "ALICE" not in TextLines(at).request(Finished(method=sent))


def test_the_time_goes_on() -> None:
    times = iter([0.0, 0.9996, 1.0, 59.5])
    stamp = Stamp("%H:%M:%S", lambda: next(times))
    assert [stamp() for _ in range(4)] == [
        "00:00:00.000",
        "00:00:00.999",
        "00:00:01.000",
        "00:00:59.500",
    ]


def test_an_event_carries_its_fields_and_its_errors() -> None:
    event = Event(
        Level.ERROR, "defect", {"request_id": "req_01"}, [Fault("KeyError", None, ("a:1 b",))]
    )
    assert json.loads(JsonLines(at).event(event)) == {
        "time": "2026-11-15T14:49:41.250Z",
        "level": "error",
        "event": "defect",
        "request_id": "req_01",
        "errors": [{"type": "KeyError", "frames": ["a:1 b"]}],
    }


def test_text_reads_as_a_sentence_a_line() -> None:
    form = TextLines(at)
    assert form.request(Finished()) == (
        "14:49:41.250 info    200 POST /v1/score                    1.8 ms  req_01\n"
    )
    assert form.request(REFUSED).endswith(
        " req_01 umoja-sacco key_4f1d2c7b9a035e68 invalid_application\n"
    )
    event = Event(Level.ERROR, "worker_died", {"pid": 7}, [Fault("KeyError", "X1", ("a:1 b",))])
    assert form.event(event) == (
        "14:49:41.250 error   worker died pid=7\n    KeyError X1\n      a:1 b\n"
    )


def test_colours_are_there_only_where_they_are_asked_for() -> None:
    event = Event(Level.WARNING, "something", {})
    assert "\x1b" not in TextLines(at).event(event)
    assert "\x1b[33mwarning\x1b[0m" in TextLines(at, COLOURS).event(event)


def test_the_line_of_a_request_costs_next_to_nothing() -> None:
    form, finished = JsonLines(), REFUSED
    said = json.loads(form.request(finished))
    ours, plain = (
        min(timeit.repeat(make, number=2000, repeat=7))
        for make in (lambda: form.request(finished), lambda: json.dumps(said))
    )
    assert ours < 2 * plain  # a third of it, whatever the machine; ten times that is a mistake
