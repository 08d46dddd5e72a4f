"""Section 1 of the product, row by row, over the wire."""

import json
import math
import socket
import time
from typing import NamedTuple

import httpx
import pytest

from tests.e2e.conftest import MARK
from tests.e2e.service import COMPACT, FULL, Service
from tests.ports import HOST


class Row(NamedTuple):
    """One row of the table of section 1, as it stands there."""

    name: str
    compact: str | None
    kind: str
    required: str
    low: float = 0
    high: float = 0
    low_belongs: bool = True


ROWS = [
    Row("mm_months", "mobile_money_months", "integer", "yes", 0, 600),
    Row("avg_inflow", "monthly_inflow", "number", "yes", 0, 1e12),
    Row("avg_outflow", None, "number", "", 0, 1e12),
    Row("avg_balance", None, "number", "", 0, 1e12),
    Row("balance_stability", "stability_score", "number", "yes", 0, 1),
    Row("counterparties", None, "integer", "", 0, 1e6),
    Row("tx_frequency", None, "number", "", 0, 1e5),
    Row("weekend_activity", None, "number", "", 0, 1),
    Row("airtime_avg", None, "number", "", 0, 1e9),
    Row("airtime_freq", None, "number", "", 0, 1e4),
    Row("airtime_regularity", None, "number", "yes", 0, 1),
    Row("device_type", None, "string", ""),
    Row("device_age_months", None, "integer", "", 0, 600),
    Row("requested_amount", None, "number", "", 0, 1e12, low_belongs=False),
    Row("requested_term_days", None, "integer", "", 1, 3650),
    Row("loan_purpose", None, "string", ""),
    Row("region", None, "string", ""),
    Row("existing_repayments", None, "number", "", 0, 1e12),
    Row("applicant_ref", None, "string", ""),
]
NUMERIC = [row for row in ROWS if row.kind != "string"]
WORDS = [row for row in ROWS if row.kind == "string"]


def faults(reply: httpx.Response) -> dict[str, str]:
    assert reply.status_code == 422, reply.text
    return {fault["pointer"]: fault["code"] for fault in reply.json()["errors"]}


def written(name: str, text: str) -> bytes:
    """A full request in which one value is written as given, not as Python would."""
    sent = {field: json.dumps(value) for field, value in FULL.items()} | {name: text}
    return ("{" + ",".join(f'"{field}":{value}' for field, value in sent.items()) + "}").encode()


# ------------------------------------------------------------------------------------- the table


def test_a_number_keeps_its_range(service: Service, subtests: pytest.Subtests) -> None:
    for row in NUMERIC:
        with subtests.test(row.name):
            step = 1 if row.kind == "integer" else 1e-6
            lowest = row.low if row.low_belongs else row.low + step
            for inside in (lowest, row.high):
                reply = service.score({**FULL, row.name: inside})
                assert reply.status_code == 200, reply.text
            for outside in (
                lowest - step,
                math.nextafter(row.high, math.inf) * 1.001,
                -1e300,
                1e300,
            ):
                assert faults(service.score({**FULL, row.name: outside})) == {
                    f"/{row.name}": "out_of_range"
                }


def test_a_number_is_a_json_number(service: Service, subtests: pytest.Subtests) -> None:
    for row in NUMERIC:
        with subtests.test(row.name):
            for text in ('"1"', f'"{MARK}"', "true", "false", "[1]", '{"a":1}'):
                assert faults(service.score(written(row.name, text))) == {
                    f"/{row.name}": "wrong_type"
                }
            for text in ("NaN", "Infinity", "-Infinity", "01", "1_0", "0x1"):
                reply = service.score(written(row.name, text))
                assert (reply.status_code, reply.json()["code"]) == (400, "malformed_json")
            assert faults(service.score(written(row.name, "1e400"))) == {
                f"/{row.name}": "out_of_range"
            }


def test_24_0_is_an_integer_and_24_5_is_not(service: Service, subtests: pytest.Subtests) -> None:
    for row in [row for row in ROWS if row.kind == "integer"]:
        with subtests.test(row.name):
            assert service.score(written(row.name, "24.0")).status_code == 200
            assert service.score(written(row.name, "2.4e1")).status_code == 200
            assert faults(service.score(written(row.name, "24.5"))) == {
                f"/{row.name}": "wrong_type"
            }


def test_a_word_has_1_to_64_characters(service: Service, subtests: pytest.Subtests) -> None:
    for row in WORDS:
        with subtests.test(row.name):
            for word in ("x", "é" * 64, f"  {'x' * 64}  ", "a:b", '"\\', "😀"):
                reply = service.score({**FULL, row.name: word})
                assert reply.status_code == 200, reply.text
            for word in ("", "   ", MARK + "x" * 64):
                assert faults(service.score({**FULL, row.name: word})) == {
                    f"/{row.name}": "out_of_range"
                }
            for other in (1, True, [MARK], {MARK: 1}):
                assert faults(service.score({**FULL, row.name: other})) == {
                    f"/{row.name}": "wrong_type"
                }


def test_a_field_is_required_or_may_be_left_out_or_null(
    service: Service, subtests: pytest.Subtests
) -> None:
    for row in ROWS:
        with subtests.test(row.name):
            left_out = {name: value for name, value in FULL.items() if name != row.name}
            for body in (left_out, {**FULL, row.name: None}):
                reply = service.score(body)
                if row.required:
                    assert faults(reply) == {f"/{row.name}": "missing_field"}
                else:
                    assert reply.status_code == 200, reply.text


def test_two_spellings_are_one_field(service: Service, subtests: pytest.Subtests) -> None:
    for row in [row for row in ROWS if row.compact]:
        with subtests.test(row.name):
            assert row.compact is not None
            value = FULL[row.name]
            other = {name: sent for name, sent in FULL.items() if name != row.name} | {
                row.compact: value
            }
            reply, respelled = service.score(FULL).json(), service.score(other).json()
            assert reply["score"] == respelled["score"]
            assert service.score({**FULL, row.compact: value}).json()["score"] == reply["score"]
            assert faults(service.score({**FULL, row.compact: value / 2})) == {
                f"/{row.compact}": "conflicting_fields"
            }
            features = {shap["feature"] for shap in respelled["shap_values"]}
            assert row.compact in features
            assert row.name not in features


# ------------------------------------------------------------------------------------- the rules


def test_a_field_that_is_none_is_refused_by_name(
    service: Service, subtests: pytest.Subtests
) -> None:
    for sent, pointer, code, words in [
        ("mm_month", "/mm_month", "unknown_field", "did you mean mm_months?"),
        ("Region", "/Region", "unknown_field", "did you mean region?"),
        ("qqq", "/qqq", "unknown_field", "is not a field"),
        ("a/b~c", "/a~1b~0c", "unknown_field", "is not a field"),
        *[
            (name, f"/{name}", "prohibited_field", "must never be sent")
            for name in ("contacts", "call_logs", "photos", "sms_content", "Religion")
        ],
        ("ethnicity", "/ethnicity", "prohibited_field", "must never be sent"),
        ("GENDER", "/GENDER", "prohibited_field", "must never be sent"),
    ]:
        with subtests.test(sent):
            reply = service.score({**COMPACT, sent: MARK})
            assert faults(reply) == {pointer: code}
            assert words in reply.json()["errors"][0]["detail"]
            assert MARK not in reply.text


def test_every_bad_field_is_reported_at_once_and_no_value_is_repeated(service: Service) -> None:
    reply = service.score(
        {
            "mm_months": MARK,
            "avg_inflow": -987_654_321_987,
            "balance_stability": 7.25,
            "device_type": MARK + "x" * 64,
            "applicant_ref": f"{MARK}@example.com",
            "hobby": MARK,
            "sms": [MARK],
        }
    )
    assert faults(reply) == {
        "/mm_months": "wrong_type",
        "/avg_inflow": "out_of_range",
        "/balance_stability": "out_of_range",
        "/device_type": "out_of_range",
        "/applicant_ref": "personal_identifier",
        "/hobby": "unknown_field",
        "/sms": "prohibited_field",
        "/airtime_regularity": "missing_field",
    }
    for value in (MARK, "987654321987", "987,654,321,987", "7.25"):
        assert value not in reply.text


def test_a_field_stands_once(service: Service) -> None:
    body = json.dumps(COMPACT)[:-1] + ', "region": "Nyeri", "region": "Nyeri"}'
    assert faults(service.score(body.encode())) == {"/region": "duplicate_field"}


def test_a_reference_that_names_a_person_is_refused(
    service: Service, subtests: pytest.Subtests
) -> None:
    for reference in ["+254 712 345 678", "wanjiku@example.com", "12345678"]:
        with subtests.test(reference):
            reply = service.score({**COMPACT, "applicant_ref": reference})
            assert faults(reply) == {"/applicant_ref": "personal_identifier"}
            assert reference not in reply.text


def test_a_word_that_nobody_has_seen_is_scored_as_other(service: Service) -> None:
    one, other = [
        service.score({**FULL, "region": place, "device_type": place}).json()
        for place in ("Atlantis", "El Dorado")
    ]
    assert one["score"] == other["score"]


def test_words_are_compared_without_case_and_trimmed(service: Service) -> None:
    plain, shouted = [
        service.score({**FULL, "device_type": kind}).json() for kind in ("tablet", "  TABLET ")
    ]
    assert plain["shap_values"] == shouted["shap_values"]


# ------------------------------------------------------------------------- offers of HTTP/2


H2C = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAA\r\n"
"""What Java's HttpClient adds to its first request, and `curl --http2`."""


def posted(service: Service, body: bytes, *, chunked: bool = False) -> bytes:
    """POST /v1/score as it goes over the wire, with the offer."""
    length = b"Transfer-Encoding: chunked" if chunked else b"Content-Length: %d" % len(body)
    sent = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body) if chunked else body
    credentials = service.credentials()["Authorization"].encode()
    head = (
        b"POST /v1/score?expand=model HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        b"Authorization: " + credentials + b"\r\n" + H2C + length + b"\r\n\r\n"
    )
    return head + sent


def replies_to(service: Service, packets: list[bytes], count: int) -> list[dict[str, object]]:
    """Send packets with a pause between them; the bodies of so many good replies."""
    with socket.create_connection((HOST, service.server.port), timeout=60) as connection:
        for packet in packets:
            connection.sendall(packet)
            time.sleep(0.05)
        stream = connection.makefile("rb")
        bodies = []
        for _ in range(count):
            assert stream.readline() == b"HTTP/1.1 200 OK\r\n"
            headers = dict(line.split(b": ", 1) for line in iter(stream.readline, b"\r\n"))
            bodies.append(json.loads(stream.read(int(headers[b"content-length"]))))
        return bodies


BODY = json.dumps({**COMPACT, "region": "\r\nUpgrade: h2c\r\n\r\n"}).encode()


def test_an_offer_of_http2_loses_no_body_wherever_the_packets_part(
    service: Service, subtests: pytest.Subtests
) -> None:
    for mark in [b"never", b"{", b"Upgrade: h2c", b"grade: h2c", b"h2c\r\nHTTP2", b"\n{", b"}"]:
        for chunked in [False, True]:
            with subtests.test(mark=mark, chunked=chunked):
                request = posted(service, BODY, chunked=chunked)
                place = request.find(mark)
                packets = [request] if place < 0 else [request[:place], request[place:]]
                (reply,) = replies_to(service, packets, 1)
                assert reply["decision"]
                stored = service.get(f"/v1/scores/{reply['request_id']}").json()
                assert stored["application"] == json.loads(BODY)
                assert stored["model"] == reply["model"]


def test_requests_after_an_offer_of_http2_are_answered_too(service: Service) -> None:
    request = posted(service, BODY)
    assert len(replies_to(service, [request * 3, request], 4)) == 4
