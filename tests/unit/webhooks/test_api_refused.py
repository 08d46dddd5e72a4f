"""Whatever is sent to webhooks, the answer names the rule, and nothing that was sent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alama.lenders import installation
from alama.platform import settings
from alama.platform.events import EventKind
from alama.webhooks.records import DESCRIPTION_MAX
from tests.callers import ENDPOINTS, URL, Lender
from tests.exchanges import Received
from tests.tries import tries

MARK = "Zq7marked"
"""Part of every value that is sent, to see where it comes out again."""
EVENTS = "/v1/events"


@pytest.fixture(scope="module")
def lender(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lender]:
    home = tmp_path_factory.mktemp("home")
    installed = installation.open_installation(settings.read({"ALAMA_HOME": str(home)}))
    yield Lender(installed)
    installed.close()


@pytest.fixture(scope="module")
def endpoint(lender: Lender) -> str:
    return f"{ENDPOINTS}/{lender.add()['id']}"


@pytest.fixture(scope="module")
def event(lender: Lender, endpoint: str) -> str:
    return f"{EVENTS}/{lender.ask('POST', f'{endpoint}/test').json()['event']}"


def faults(refused: Received) -> set[tuple[str, str]]:
    assert refused.status == 422, refused.body
    assert refused.json()["code"] == "invalid_request"
    assert MARK not in refused.body.decode()
    return {(fault["pointer"], fault["code"]) for fault in refused.json()["errors"]}


# Of the rules for URLs, which tests/unit/platform/test_urls.py has all: one of each kind of answer.
BAD_URLS: list[tuple[object, str]] = [
    (None, "missing_field"),
    (5, "wrong_type"),
    (True, "wrong_type"),
    ([f"https://{MARK}.example.com"], "wrong_type"),
    ({}, "wrong_type"),
    ("", "invalid_url"),
    (f"javascript:{MARK}", "invalid_url"),
    (f"https://{MARK}.example.com/\x00", "invalid_url"),
    ("https://example.com/" + MARK * 300, "invalid_url"),
    (f"https://{MARK}:secret@example.com/", "invalid_url"),
    (f"https://example.com:99999/{MARK}", "invalid_url"),
    (f"https://169.254.169.254/latest/{MARK}", "invalid_url"),
]
BAD_KINDS: list[tuple[object, str]] = [
    (None, "wrong_type"),
    ("score.created", "wrong_type"),
    ({}, "wrong_type"),
    ({"score.created": MARK}, "wrong_type"),
    (["score.created"] * 21, "out_of_range"),
]
STRANGE_KINDS: list[tuple[list[object], set[tuple[str, str]]]] = [
    ([MARK], {("/kinds/0", "out_of_range")}),
    (["score.created", 1], {("/kinds/1", "wrong_type")}),
    ([["score.created"]], {("/kinds/0", "wrong_type")}),
    ([None, "score.made"], {("/kinds/0", "wrong_type"), ("/kinds/1", "out_of_range")}),
    (["\ud800"], {("/kinds/0", "out_of_range")}),
]
BAD_DESCRIPTIONS: list[tuple[object, str]] = [
    (None, "wrong_type"),
    (1.5, "wrong_type"),
    ([MARK], "wrong_type"),
    (f"{MARK}\x00", "out_of_range"),
    (f"{MARK}\n", "out_of_range"),
    (f"{MARK}\u202e", "out_of_range"),
    (f"{MARK}\x1b[2J", "out_of_range"),
    (MARK + "x" * DESCRIPTION_MAX, "out_of_range"),
]
BAD_FLAGS: list[tuple[object, str]] = [
    (None, "wrong_type"),
    (0, "wrong_type"),
    (1, "wrong_type"),
    ("true", "wrong_type"),
    (MARK, "wrong_type"),
    ([], "wrong_type"),
    ({}, "wrong_type"),
]
BAD_TIMES: list[tuple[object, str]] = [
    (None, "missing_field"),
    (1_794_744_000, "wrong_type"),
    ([], "wrong_type"),
    (MARK, "out_of_range"),
    ("", "out_of_range"),
    ("2026-11-15", "out_of_range"),
    ("2026-11-15T10:00:00", "out_of_range"),
    ("2026-02-30T10:00:00Z", "out_of_range"),
    ("99999-01-01T00:00:00Z", "out_of_range"),
]


@pytest.mark.parametrize(("url", "code"), BAD_URLS)
def test_a_bad_url_is_refused_by_its_rule(
    lender: Lender, endpoint: str, url: object, code: str
) -> None:
    before = lender.read(endpoint)
    assert faults(lender.ask("POST", ENDPOINTS, {"url": url})) == {("/url", code)}
    # A change may leave it out, and then nothing is missing.
    changed = code if url is not None else "wrong_type"
    assert faults(lender.ask("PATCH", endpoint, {"url": url})) == {("/url", changed)}
    assert lender.read(endpoint) == before


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("ftp://example.com/", "a URL begins with https://"),
        ("http://example.com/", "ALAMA_DEVELOPMENT=yes"),
        ("https://example.com/" + "a" * 3_000, "at most 2,048 characters"),
        ("https://münchen.example/", "write an international name as xn--..."),
        ("https://10.0.0.1/", "not sent to an address that is private: whoever runs the service"),
        ("https://example.com:99999/", "a port is a number from 1 to 65535"),
        ("https://-a.example.com/", "or begins or ends with a hyphen"),
    ],
)
def test_a_bad_url_is_refused_with_what_is_wrong_and_what_to_do(
    lender: Lender, url: str, told: str
) -> None:
    (fault,) = lender.ask("POST", ENDPOINTS, {"url": url}).json()["errors"]
    assert told in fault["detail"]


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        *(("kinds", value, code) for value, code in BAD_KINDS),
        *(("description", value, code) for value, code in BAD_DESCRIPTIONS),
    ],
)
def test_a_bad_field_of_an_endpoint_is_refused_by_its_rule(
    lender: Lender, endpoint: str, name: str, value: object, code: str
) -> None:
    assert faults(lender.ask("POST", ENDPOINTS, {"url": URL, name: value})) == {(f"/{name}", code)}
    assert faults(lender.ask("PATCH", endpoint, {name: value})) == {(f"/{name}", code)}


@pytest.mark.parametrize(("kinds", "wrong"), STRANGE_KINDS)
def test_a_kind_that_there_is_not_is_pointed_to_and_those_that_there_are_listed(
    lender: Lender, endpoint: str, kinds: list[object], wrong: set[tuple[str, str]]
) -> None:
    for refused in (
        lender.ask("POST", ENDPOINTS, {"url": URL, "kinds": kinds}),
        lender.ask("PATCH", endpoint, {"kinds": kinds}),
    ):
        assert faults(refused) == wrong
        told = "must be one of " + ", ".join(EventKind)
        assert told in refused.body.decode()


def test_it_is_said_how_to_have_all_kinds(lender: Lender) -> None:
    refused = lender.ask("POST", ENDPOINTS, {"url": URL, "kinds": None})
    assert "leave it out or send [] for all" in refused.json()["errors"][0]["detail"]


def test_a_time_in_the_future_is_refused(lender: Lender, endpoint: str) -> None:
    refused = lender.ask("POST", f"{endpoint}/resend", {"since": "2999-01-01T00:00:00Z"})
    assert faults(refused) == {("/since", "out_of_range")}
    assert "events are kept for 30 days" in refused.body.decode()


def test_a_test_has_no_fields(lender: Lender, endpoint: str) -> None:
    refused = lender.ask("POST", f"{endpoint}/test", {"kind": MARK})
    assert faults(refused) == {("/kind", "unknown_field")}
    assert lender.ask("POST", f"{endpoint}/test", {}).status == 202


@pytest.mark.parametrize(("value", "code"), BAD_FLAGS)
def test_a_flag_is_true_or_false(lender: Lender, endpoint: str, value: object, code: str) -> None:
    assert faults(lender.ask("PATCH", endpoint, {"enabled": value})) == {("/enabled", code)}
    refused = lender.ask("POST", f"{endpoint}/rotate_secret", {"expire_previous": value})
    assert faults(refused) == {("/expire_previous", code)}


@pytest.mark.parametrize(("value", "code"), BAD_TIMES)
def test_a_time_has_a_zone(lender: Lender, endpoint: str, value: object, code: str) -> None:
    assert faults(lender.ask("POST", f"{endpoint}/resend", {"since": value})) == {("/since", code)}


@pytest.mark.parametrize(
    ("value", "code"),
    [(None, "wrong_type"), (1, "wrong_type"), (MARK, "out_of_range"), ("", "out_of_range")],
)
def test_an_endpoint_is_named_by_its_id(
    lender: Lender, event: str, value: object, code: str
) -> None:
    refused = lender.ask("POST", f"{event}/resend", {"endpoint_id": value})
    assert faults(refused) == {("/endpoint_id", code)}


def test_every_broken_rule_is_told_at_once_and_a_near_name_is_suggested(lender: Lender) -> None:
    body = b'{"url": "http://x.example.com", "kinds": 1, "kinds": 2, "descripton": "x", "m~/": 1}'
    refused = lender.ask("POST", ENDPOINTS, body)
    assert faults(refused) == {
        ("/url", "invalid_url"),
        ("/kinds", "duplicate_field"),
        ("/kinds", "wrong_type"),
        ("/descripton", "unknown_field"),
        ("/m~0~1", "unknown_field"),
    }
    assert "did you mean description?" in refused.body.decode()


def test_no_more_than_a_hundred_faults_are_listed(lender: Lender) -> None:
    body = {f"field_{number}": 1 for number in range(3_000)}
    refused = lender.ask("POST", ENDPOINTS, body).json()
    assert len(refused["errors"]) == 100
    assert refused["detail"].startswith("3001 rules are broken")


def test_a_body_that_is_left_out_is_one_without_fields(
    lender: Lender, endpoint: str, event: str
) -> None:
    for path in (f"{endpoint}/rotate_secret", f"{event}/resend"):
        for body, headers in (
            (None, {}),
            (b"", {"content-type": ""}),
            (b"", {"transfer-encoding": "chunked"}),
            (b"{}", {}),
        ):
            assert lender.ask("POST", path, body, headers).status < 300


@pytest.mark.parametrize("path", ["", "/resend"])
@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"", 400, "malformed_json"),
        (b"[]", 400, "malformed_json"),
        (b"{", 400, "malformed_json"),
        (b"\xff", 400, "malformed_json"),
        (b'{"url": NaN}', 400, "malformed_json"),
        (b'{"url": "\\ud800"}', 400, "malformed_json"),
        (b"[" * 60_000, 400, "malformed_json"),
        (b'{"url": "' + b"x" * 70_000 + b'"}', 413, "body_too_large"),
    ],
    ids=["empty", "list", "cut", "latin", "nan", "surrogate", "deep", "large"],
)
def test_what_is_no_json_object_is_refused(
    lender: Lender, endpoint: str, path: str, body: bytes, status: int, code: str
) -> None:
    target = endpoint + path if path else ENDPOINTS
    refused = lender.ask("POST", target, body)
    assert (refused.status, refused.json()["code"]) == (status, code)


def test_a_body_is_announced_as_json(lender: Lender, endpoint: str, event: str) -> None:
    for method, path in (
        ("POST", ENDPOINTS),
        ("PATCH", endpoint),
        ("POST", f"{endpoint}/resend"),
        ("POST", f"{endpoint}/rotate_secret"),
        ("POST", f"{event}/resend"),
    ):
        refused = lender.ask(method, path, b"{}", {"content-type": "text/plain"})
        assert refused.status == 415


@pytest.mark.parametrize(
    "bad",
    ["we_", "evt_1", "x", "we_" + "0" * 28, "evt_" + "F" * 28, "we_" + "0" * 27 + "\n", "%00"],
)
def test_what_is_no_id_of_ours_is_not_found(lender: Lender, bad: str) -> None:
    for method, path, code in (
        ("GET", f"{ENDPOINTS}/{bad}", "unknown_webhook_endpoint"),
        ("PATCH", f"{ENDPOINTS}/{bad}", "unknown_webhook_endpoint"),
        ("DELETE", f"{ENDPOINTS}/{bad}", "unknown_webhook_endpoint"),
        ("GET", f"{ENDPOINTS}/{bad}/attempts", "unknown_webhook_endpoint"),
        ("POST", f"{ENDPOINTS}/{bad}/test", "unknown_webhook_endpoint"),
        ("POST", f"{ENDPOINTS}/{bad}/rotate_secret", "unknown_webhook_endpoint"),
        ("GET", f"{EVENTS}/{bad}", "unknown_event"),
        ("POST", f"{EVENTS}/{bad}/resend", "unknown_event"),
    ):
        refused = lender.ask(method, path, {})
        assert (refused.status, refused.json()["code"]) == (404, code)


@pytest.mark.parametrize(
    "query",
    [
        "limit=0",
        "limit=101",
        "limit=x",
        "cursor=",
        "cursor=req_" + "0" * 28,
        f"cursor={MARK}",
        "cursor=evt_%00",
        f"unknown=1{MARK}",
        "limit=1&limit=1",
    ],
)
def test_a_bad_parameter_is_refused(lender: Lender, endpoint: str, query: str) -> None:
    for path in (EVENTS, f"{endpoint}/attempts"):
        refused = lender.ask("GET", f"{path}?{query}")
        assert (refused.status, refused.json()["code"]) == (400, "invalid_parameter")
        assert MARK not in refused.body.decode()


def test_a_kind_that_there_is_not_is_refused(lender: Lender) -> None:
    refused = lender.ask("GET", f"{EVENTS}?kind={MARK}")
    assert refused.status == 400
    assert "score.created" in refused.json()["detail"]
    assert MARK not in refused.body.decode()


def test_a_method_that_there_is_not_is_refused(lender: Lender, endpoint: str) -> None:
    refused = lender.ask("PUT", endpoint, {})
    assert refused.status == 405
    assert set(refused.headers["allow"].split(", ")) == {"GET", "PATCH", "DELETE", "HEAD"}


anything = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)
names = st.sampled_from(["url", "kinds", "description", "enabled", "since", "endpoint_id"])


@tries(25)
@given(st.dictionaries(names | st.text(max_size=6), anything, max_size=4))
def test_no_body_breaks_the_service(
    lender: Lender, endpoint: str, event: str, body: dict[str, Any]
) -> None:
    # Text with half a pair of surrogates is no JSON that a caller could send otherwise.
    raw = json.dumps(body).encode()
    for method, path in (
        ("POST", ENDPOINTS),
        ("PATCH", endpoint),
        ("POST", f"{endpoint}/resend"),
        ("POST", f"{event}/resend"),
    ):
        assert lender.ask(method, path, raw).status in {200, 202, 400, 404, 409, 422}
