"""Section 6 of the product, row by row, over the wire: status, code, headers, and no echo."""

import gzip
import json
import re
import time
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from alama.lenders import keys
from alama.platform.book import Book, Mode, Scope
from tests.databases import sqlite_url
from tests.e2e.conftest import MARK
from tests.e2e.service import COMPACT, Service

MEMBERS = ["type", "title", "status", "detail", "instance", "code", "request_id"]
JSON = {"Content-Type": "application/json"}
GOOD = json.dumps(COMPACT).encode()
DEMO = Book("demo", Mode.TEST)


def require_problem(reply: httpx.Response, status: int, code: str) -> dict[str, Any]:
    """What every error has, whatever it is."""
    assert (reply.status_code, reply.json().get("code")) == (status, code), reply.text
    assert reply.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = reply.json()
    assert [member for member in problem if member != "errors"] == MEMBERS
    assert problem["status"] == status
    assert problem["type"] == f"/docs/problems/{code}"
    assert problem["title"]
    assert problem["detail"].endswith(".")
    path, *_ = reply.request.url.raw_path.decode().split("?")
    assert problem["instance"] == path.removeprefix("/api")
    assert problem["request_id"] == reply.headers["request-id"]
    assert re.fullmatch(r"req_[0-9a-f]{28}", problem["request_id"])
    assert ("errors" in problem) == (code == "invalid_application")
    assert ("www-authenticate" in reply.headers) == (status == HTTPStatus.UNAUTHORIZED)
    assert ("allow" in reply.headers) == (status == HTTPStatus.METHOD_NOT_ALLOWED)
    assert ("retry-after" in reply.headers) == (status in {409, 429, 503})
    assert MARK not in reply.text + str(reply.headers)
    return problem


class Case(NamedTuple):
    """A request that is refused, and how."""

    name: str
    status: int
    code: str
    method: str = "POST"
    path: str = "/v1/score"
    body: bytes = b"{}"
    headers: dict[str, str] = JSON
    with_key: bool = True
    answers_with: dict[str, str] = {}  # noqa: RUF012  a NamedTuple's default, read only


BODY_MAX = 64 * 1024
CASES = [
    # 400
    Case("an empty body", 400, "malformed_json", body=b""),
    Case("no JSON", 400, "malformed_json", body=f"<{MARK}>".encode()),
    Case("half of a JSON", 400, "malformed_json", body=f'{{"region":"{MARK}"'.encode()),
    Case("a list", 400, "malformed_json", body=f'["{MARK}"]'.encode()),
    Case("a string", 400, "malformed_json", body=f'"{MARK}"'.encode()),
    Case("null", 400, "malformed_json", body=b"null"),
    Case("NaN", 400, "malformed_json", body=b'{"avg_inflow":NaN}'),
    Case("no UTF-8", 400, "malformed_json", body=b'{"region":"' + MARK.encode() + b'\xff"}'),
    Case("UTF-16", 400, "malformed_json", body="{}".encode("utf-16")),
    Case("two byte order marks", 400, "malformed_json", body=b"\xef\xbb\xbf" * 2 + b"{}"),
    Case("a byte order mark alone", 400, "malformed_json", body=b"\xef\xbb\xbf"),
    Case("half a character", 400, "malformed_json", body=b'{"region":"\\ud800"}'),
    Case("endless nesting", 400, "malformed_json", body=b"[" * BODY_MAX),
    Case("endless nesting of objects", 400, "malformed_json", body=b'{"a":' * 13_000),
    Case("an unknown parameter", 400, "invalid_parameter", path=f"/v1/score?colour={MARK}"),
    Case("no name of a parameter", 400, "invalid_parameter", path=f"/v1/score?{MARK}%2B=1"),
    Case(
        "a parameter where none is known",
        400,
        "invalid_parameter",
        "GET",
        f"/v1/scores/req_{'0' * 28}?expand={MARK}",
    ),
    Case("an unknown expansion", 400, "invalid_parameter", path=f"/v1/score?expand={MARK}"),
    Case("a parameter twice", 400, "invalid_parameter", "GET", "/v1/scores?limit=1&limit=2"),
    Case("a bad target", 400, "invalid_parameter", path=f"/v1/explain?target={MARK}", body=GOOD),
    Case("a bad lock", 400, "invalid_parameter", path=f"/v1/explain?locked={MARK}%2B", body=GOOD),
    Case("a bad number", 400, "invalid_parameter", path=f"/v1/explain?limit={MARK}"),
    Case("a bad language", 400, "invalid_parameter", path=f"/v1/explain?language={MARK}"),
    Case("no language", 400, "invalid_parameter", path=f"/v1/score?language={MARK}"),
    Case("a bad limit", 400, "invalid_parameter", "GET", f"/v1/scores?limit={MARK}"),
    Case("an endless limit", 400, "invalid_parameter", "GET", "/v1/scores?limit=" + "0" * 5_000),
    Case("a bad cursor", 400, "invalid_parameter", "GET", f"/v1/scores?cursor={MARK}"),
    Case(
        "an endless idempotency key",
        400,
        "invalid_parameter",
        headers=JSON | {"Idempotency-Key": MARK * 30},
    ),
    Case(
        "an empty idempotency key", 400, "invalid_parameter", headers=JSON | {"Idempotency-Key": ""}
    ),
    # 401
    *[
        Case(
            f"no key for {path}",
            401,
            "key_missing",
            method,
            path,
            with_key=False,
            answers_with={"www-authenticate": 'Bearer realm="alama"'},
        )
        for method, path in [
            ("POST", "/v1/score"),
            ("GET", "/v1/scores"),
            ("GET", "/v1/scores/req_" + "0" * 28),
        ]
    ],
    *[
        Case(
            name,
            401,
            code,
            headers=JSON | {"Authorization": authorization},
            with_key=False,
        )
        for name, code, authorization in [
            ("another scheme", "key_missing", f"Basic {MARK}"),
            ("a scheme alone", "key_missing", "Bearer"),
            ("no key of ours", "key_refused", f"Bearer {MARK}"),
            ("a mistyped key", "key_refused", f"Bearer alama_test_{MARK * 4}"),
            ("no ASCII", "key_refused", f"Bearer {MARK}\xff"),
        ]
    ],
    # 404
    Case("nothing there", 404, "not_found", "GET", "/v1/nothing"),
    Case("nothing there to post to", 404, "not_found", "POST", "/v1"),
    Case("a slash too many", 404, "not_found", "POST", "/v1/score/"),
    Case("the prefix twice", 404, "not_found", "POST", "/api/api/v1/score"),
    Case("an unknown id", 404, "unknown_score", "GET", "/v1/scores/req_" + "0" * 28),
    Case("no id at all", 404, "unknown_score", "GET", "/v1/scores/%00"),
    Case("an id with an end", 404, "unknown_score", "GET", f"/v1/scores/req_{'0' * 28}%0A"),
    # 405
    *[
        Case(f"{method} {path}", 405, "method_not_allowed", method, path, answers_with=allow)
        for path, methods, allow in [
            ("/v1/score", ["GET", "PUT", "DELETE", "PATCH", "OPTIONS"], {"allow": "POST"}),
            ("/v1/scores", ["POST", "DELETE"], {"allow": "GET, HEAD"}),
            ("/v1/scores/req_" + "0" * 28, ["POST", "DELETE"], {"allow": "GET, HEAD"}),
            ("/v1/health", ["POST"], {"allow": "GET, HEAD"}),
            ("/livez", ["POST"], {"allow": "GET, HEAD"}),
            ("/", ["POST"], {"allow": "GET, HEAD"}),
            ("/openapi.json", ["POST"], {"allow": "GET, HEAD"}),
        ]
        for method in methods
    ],
    # 413
    Case(
        "a plain body that is said to be packed",
        400,
        "malformed_json",
        headers=JSON | {"Content-Encoding": "gzip"},
    ),
    Case(
        "a packed megabyte",
        413,
        "body_too_large",
        body=gzip.compress(bytes(1 << 20)),
        headers=JSON | {"Content-Encoding": "gzip"},
    ),
    Case("a byte too many", 413, "body_too_large", body=b" " * (BODY_MAX + 1)),
    Case("a megabyte", 413, "body_too_large", body=MARK.encode() * 120_000),
    # 415
    *[
        Case(f"a body of {kind}", 415, "unsupported_media_type", headers={"Content-Type": kind})
        for kind in (
            "text/plain",
            f"application/{MARK}",
            "application/json; charset=latin-1",
            "multipart/form-data",
        )
    ],
    Case("a body of no kind", 415, "unsupported_media_type", headers={}),
    Case(
        "a body that is packed in another way than gzip",
        415,
        "unsupported_media_type",
        headers=JSON | {"Content-Encoding": "br"},
    ),
    # 422
    Case("no field", 422, "invalid_application"),
    Case("a bad field", 422, "invalid_application", body=f'{{"mm_months":"{MARK}"}}'.encode()),
    Case(
        "ten thousand bad fields",
        422,
        "invalid_application",
        body=b"{" + b",".join(b'"f%d":1' % number for number in range(6_000)) + b"}",
    ),
]


def test_a_request_that_is_wrong_is_told_so(service: Service, subtests: pytest.Subtests) -> None:
    for case in CASES:
        with subtests.test(f"{case.status} {case.name}"):
            credentials = service.credentials() if case.with_key else {}
            headers = {k: v.encode("latin-1") for k, v in (credentials | case.headers).items()}
            has_body = case.method not in {"GET", "OPTIONS"}
            for prefix in ("", "/api") if case.path.startswith("/v1/") else ("",):
                reply = service.send(
                    case.method,
                    prefix + case.path,
                    content=case.body if has_body else None,
                    headers=headers,
                )
                require_problem(reply, case.status, case.code)
                assert case.answers_with.items() <= reply.headers.items()


def test_a_wrong_parameter_is_named(service: Service, subtests: pytest.Subtests) -> None:
    for path, detail in [
        ("/v1/scores?limt=5", "This path does not know the parameter limt. "),
        ("/v1/scores?limt=5", "tier, applicant_ref, waiting, limit, cursor; the nearest is limit."),
        ("/v1/scores?limit=1&cursor=x&limit=2", "The parameter limit stands twice."),
        (f"/v1/scores/req_{'0' * 28}?limit=1", "It knows none."),
    ]:
        with subtests.test(path=path, detail=detail):
            problem = require_problem(service.get(path), 400, "invalid_parameter")
            assert detail in problem["detail"]


def test_an_idempotency_key_that_stands_twice_is_refused(service: Service) -> None:
    key = f"{MARK}-{time.time_ns()}"
    headers = [("Idempotency-Key", key), ("Idempotency-Key", key)]
    usual = [*service.credentials().items(), *JSON.items()]
    reply = service.send("POST", "/v1/score", json=COMPACT, headers=[*usual, *headers])
    problem = require_problem(reply, 400, "invalid_parameter")
    assert "Idempotency-Key stands twice" in problem["detail"]


def test_another_way_to_send_a_key_is_told_from_no_key(service: Service) -> None:
    for sent in (MARK, f"Basic {MARK}"):
        reply = service.send("GET", "/v1/scores", headers={"Authorization": sent})
        problem = require_problem(reply, 401, "key_missing")
        assert "not that of a bearer key" in problem["detail"]


def test_another_charset_is_told_from_no_json(service: Service) -> None:
    headers = service.credentials() | {"Content-Type": "application/json; charset=latin-1"}
    reply = service.send("POST", "/v1/score", content=b"{}", headers=headers)
    assert "UTF-8" in require_problem(reply, 415, "unsupported_media_type")["detail"]


def test_reading_where_scores_are_given_is_told_where_they_are_read(service: Service) -> None:
    problem = require_problem(service.get("/v1/score"), 405, "method_not_allowed")
    assert "/v1/scores" in problem["detail"]


def test_a_key_does_no_more_than_its_scope(service: Service, subtests: pytest.Subtests) -> None:
    for scope, method, path in [
        (Scope.READ, "POST", "/v1/score"),
        (Scope.WRITE, "GET", "/v1/scores"),
        (Scope.WRITE, "GET", "/v1/scores/req_" + "0" * 28),
    ]:
        with subtests.test(scope=scope, method=method, path=path):
            key = service.key(DEMO, (scope,))
            reply = service.send(method, path, json=COMPACT, headers=service.credentials(key))
            problem = require_problem(reply, 403, "scope_missing")
            missing = Scope.WRITE if scope is Scope.READ else Scope.READ
            assert missing in problem["detail"]


def test_an_expired_key_is_told_so(service: Service) -> None:
    text, key = service.issue(DEMO)
    registry, pepper = service.installed.registry, service.installed.pepper
    keys.rotate(registry, service.installed.clock, pepper, key.id, keys.Successor(0))
    problem = require_problem(service.score(key=text), 403, "key_expired")
    assert "expired" in problem["detail"]


def test_a_revoked_key_is_told_so(service: Service) -> None:
    text, key = service.issue(DEMO)
    service.installed.registry.revoke_key(key.id, 1)
    reply = service.score(key=text)
    require_problem(reply, 401, "key_refused")
    assert 'error="invalid_token"' in reply.headers["www-authenticate"]
    assert text not in reply.text


def test_live_scoring_before_onboarding_names_the_missing_step(service: Service) -> None:
    lender = f"early-{time.time_ns()}"
    service.lender(lender)
    reply = service.score(key=service.key(Book(lender, Mode.LIVE)))
    problem = require_problem(reply, 403, "onboarding_incomplete")
    assert "no model has been trained" in problem["detail"]


def test_an_idempotency_key_with_another_request_is_refused(service: Service) -> None:
    key = f"{MARK}-{time.time_ns()}"
    assert service.score(idempotency_key=key).status_code == 200
    reply = service.score({**COMPACT, "region": MARK}, idempotency_key=key)
    require_problem(reply, 422, "idempotency_key_reused")


def test_an_unavailable_database_is_told_and_overcome(service: Service) -> None:
    key = f"away-{time.time_ns()}"
    assert service.score().status_code == 200  # so that its own key is remembered
    with service.database_away():
        reply = service.score({**COMPACT, "region": MARK}, idempotency_key=key)
        require_problem(reply, 503, "unavailable")
        assert int(reply.headers["retry-after"]) >= 1
    deadline_s = time.monotonic() + 60
    while (again := service.score(COMPACT, idempotency_key=key)).status_code == 503:
        assert time.monotonic() < deadline_s
        time.sleep(0.1)
    assert again.status_code == 200
    assert "idempotent-replayed" not in again.headers


def told(service: Service, event: str) -> int:
    return service.server.output().count(f'"event":"{event}"')


def score_until_all_is_told_to_be_well(service: Service) -> None:
    deadline_s = time.monotonic() + 60
    while told(service, "database_unavailable") != told(service, "database_recovered"):
        assert time.monotonic() < deadline_s
        service.score()
        time.sleep(0.1)


def test_an_outage_is_told_once_also_where_it_is_met_by_looking_up_a_key(service: Service) -> None:
    score_until_all_is_told_to_be_well(service)
    before = told(service, "database_unavailable")
    strangers = [service.key() for _ in range(2)]
    with service.database_away():
        for key in strangers:
            require_problem(service.score(key=key), 503, "unavailable")
        assert told(service, "database_unavailable") == before + 1
    score_until_all_is_told_to_be_well(service)


@pytest.mark.parametrize("with_key", [True, False], ids=["with a key", "without"])
def test_a_large_body_in_chunks_is_refused_and_the_connection_goes_on(
    service: Service, *, with_key: bool
) -> None:
    chunks = (MARK.encode() * 1_000 for _ in range(100))
    credentials = service.credentials() if with_key else {}
    reply = service.send("POST", "/v1/score", content=chunks, headers=JSON | credentials)
    status, code = (413, "body_too_large") if with_key else (401, "key_missing")
    require_problem(reply, status, code)
    assert service.score().status_code == 200


def test_an_error_without_a_body_is_still_an_error(service: Service) -> None:
    reply = service.send("HEAD", "/v1/nothing")
    assert (reply.status_code, reply.content) == (404, b"")
    assert "request-id" in reply.headers


# ------------------------------------------------------------------------------------- 429


@pytest.fixture(scope="module")
def slow_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    home: Path = tmp_path_factory.mktemp("slow")
    service = Service(sqlite_url(home), home, 1, None, ALAMA_RATE_LIMIT="1")
    with service.running():
        yield service


@pytest.mark.xdist_group("service-sqlite")
def test_a_key_over_its_rate_is_told_when_to_come_back(slow_service: Service) -> None:
    while True:
        key, other = slow_service.key(), slow_service.key()
        began_s = time.monotonic()
        first, second, third = [slow_service.score(key=key) for _ in range(3)]
        if time.monotonic() - began_s < 1.0:  # after that a key may ask once more
            break
    assert first.headers["ratelimit-policy"] == '"key";q=2;w=2'
    assert first.headers["ratelimit"] == '"key";r=1;t=1'
    assert second.headers["ratelimit"] == '"key";r=0;t=2'
    require_problem(third, 429, "too_many_requests")
    assert third.headers["retry-after"] == "1"
    assert third.headers["ratelimit-policy"] == '"key";q=2;w=2'
    assert third.headers["ratelimit"] == '"key";r=0;t=2'
    assert slow_service.score(key=other).status_code == 200
    time.sleep(1.0)
    assert slow_service.score(key=key).status_code == 200
