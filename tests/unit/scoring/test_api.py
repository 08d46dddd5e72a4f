"""The fine print of requests: media types, sizes, parameters and headers."""

import gzip
import hashlib
import json
import tracemalloc
import zlib

import pytest

from alama.core import document
from alama.core.lending.draft import default_policy, default_text
from alama.lenders import keys
from alama.platform import clock
from alama.platform.book import Book, Mode
from alama.platform.http.exchange import BODY_MAX
from alama.scoring import schema
from tests.exchanges import Received
from tests.served import BODY, MODEL, Service


def refusal(received: Received) -> tuple[int, str]:
    return received.status, received.json()["code"]


# ------------------------------------------------------------------------------------- the body


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "application/json; charset=utf-8",
        "application/json;charset=UTF-8",
        'Application/JSON ; charset="utf-8"',
    ],
)
def test_json_may_be_announced_in_many_ways(service: Service, content_type: str) -> None:
    headers = {"content-type": content_type}
    assert service.ask("/v1/score", body=BODY, headers=headers).status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"content-type": ""},
        {"content-type": "text/json"},
        {"content-type": "application/x-www-form-urlencoded"},
        {"content-type": "application/json; charset=latin-1"},
        {"content-type": "application/jsonlines"},
        {"content-type": "application/json\xff"},
        {"content-encoding": "br"},
        {"content-encoding": "deflate"},
        {"content-encoding": "gzip, gzip"},
    ],
    ids=repr,
)
def test_anything_but_json_is_refused(service: Service, headers: dict[str, str]) -> None:
    received = service.ask("/v1/score", body=BODY, headers=headers)
    assert refusal(received) == (415, "unsupported_media_type")


def test_whoever_packs_a_body_in_another_way_is_told_in_which_it_may_be(service: Service) -> None:
    received = service.ask("/v1/score", body=BODY, headers={"content-encoding": "br"})
    assert received.headers["accept-encoding"] == "gzip"
    assert "Content-Encoding: gzip" in received.json()["detail"]


@pytest.mark.parametrize("coding", ["gzip", "GZIP", "x-gzip"])
def test_a_body_may_be_packed(service: Service, coding: str) -> None:
    packed = gzip.compress(b"\xef\xbb\xbf" + BODY)
    reply = service.ask("/v1/score", body=packed, headers={"content-encoding": coding})
    assert reply.status == 200
    record = service.ask(f"/v1/scores/{reply.json()['request_id']}").json()
    assert record["application"] == json.loads(BODY)


def test_a_packed_body_is_the_same_request_as_a_plain_one(service: Service) -> None:
    named = {"idempotency-key": "packed and plain"}
    first = service.ask("/v1/score", body=BODY, headers=named)
    named |= {"content-encoding": "gzip"}
    again = service.ask("/v1/score", body=gzip.compress(BODY), headers=named)
    assert (again.body, again.headers["idempotent-replayed"]) == (first.body, "true")


@pytest.mark.parametrize(
    "body", [BODY, gzip.compress(BODY)[:-4], b""], ids=["plain", "cut", "none"]
)
def test_a_body_that_is_not_as_it_is_said_to_be_packed_is_refused(
    service: Service, body: bytes
) -> None:
    received = service.ask("/v1/score", body=body, headers={"content-encoding": "gzip"})
    assert refusal(received) == (400, "malformed_json")
    assert "is not gzip" in received.json()["detail"]


def test_a_packed_body_has_64_kib_once_it_is_unpacked_and_no_byte_more(service: Service) -> None:
    said = {"content-encoding": "gzip"}
    most = gzip.compress(BODY.ljust(BODY_MAX))
    assert service.ask("/v1/score", body=most, headers=said).status == 200
    received = service.ask("/v1/score", body=gzip.compress(BODY.ljust(BODY_MAX + 1)), headers=said)
    assert refusal(received) == (413, "body_too_large")
    assert "once it is unpacked" in received.json()["detail"]


def test_what_unpacks_to_a_gigabyte_is_refused_while_it_is_read(service: Service) -> None:
    packer = zlib.compressobj(9, wbits=31)
    start = packer.compress(bytes(16 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    tracemalloc.start()
    said = {"content-encoding": "gzip", "content-type": "application/json"}
    pieces: list[bytes | None] = [start, start, b"", None]  # nobody waits for the rest
    received = service.ask_in_pieces("/v1/score", pieces, said)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert received is not None
    assert refusal(received) == (413, "body_too_large")
    assert most < 8 << 20


def test_what_unpacks_to_nothing_has_an_end_too(service: Service) -> None:
    nothing = gzip.compress(b"") * (BODY_MAX // 20)
    assert len(nothing) <= BODY_MAX
    said = {"content-encoding": "gzip", "content-type": "application/json"}
    received = service.ask_in_pieces("/v1/score", [nothing, nothing, None], said)
    assert received is not None
    assert refusal(received) == (413, "body_too_large")


def test_a_body_may_begin_with_the_mark_that_some_editors_write(service: Service) -> None:
    marked = b"\xef\xbb\xbf" + BODY
    reply = service.ask("/v1/score", body=marked)
    assert reply.status == 200
    record = service.ask(f"/v1/scores/{reply.json()['request_id']}").json()
    assert record["application"]["mobile_money_months"] == 24
    twice = service.ask("/v1/score", body=b"\xef\xbb\xbf" + marked)
    assert refusal(twice) == (400, "malformed_json")


def test_a_body_may_have_64_kib_and_no_byte_more(service: Service) -> None:
    assert service.ask("/v1/score", body=BODY.ljust(BODY_MAX)).status == 200
    received = service.ask("/v1/score", body=BODY.ljust(BODY_MAX + 1))
    assert refusal(received) == (413, "body_too_large")


def test_a_body_that_is_announced_as_too_large_is_not_read(service: Service) -> None:
    received = service.ask("/v1/score", body=BODY, headers={"content-length": str(BODY_MAX + 1)})
    assert refusal(received) == (413, "body_too_large")


# ------------------------------------------------------------------------------------- parameters


@pytest.mark.parametrize(
    "expand", ["model", "model,model", "policy,base_score,offer,reasons,model"]
)
def test_expand_adds_what_it_names(service: Service, expand: str) -> None:
    reply = service.ask(f"/v1/score?expand={expand}", body=BODY).json()
    assert set(list(reply)[10:]) == set(expand.split(","))


def test_a_list_may_come_as_several_parameters(service: Service) -> None:
    together = service.ask("/v1/score?expand=model,offer", body=BODY).json()
    apart = service.ask("/v1/score?expand=model&language=en&expand=offer", body=BODY).json()
    assert list(apart) == list(together)
    assert list(apart)[10:] == ["model", "offer"]


@pytest.mark.parametrize(
    "query",
    [
        "expand=",
        "expand=model,",
        "expand=everything",
        "expand=model,,Policy",
        "expand=model&expand=",
        "expand=model&expand=everything",
        "expand=model&language=en&language=sw",
        "expnad=model",
        "language=",
        "language=de",
        "language=EN",
        "expand=reasons&language=en,sw",
        "limit=1",
        "expand=%ff",
        "\xff",
        "a=1;b=2",
        "&".join(["expand=model"] * 300),
    ],
)
def test_a_query_that_would_be_ignored_in_part_is_refused(service: Service, query: str) -> None:
    received = service.ask(f"/v1/score?{query}", body=BODY)
    assert refusal(received) == (400, "invalid_parameter")


@pytest.mark.parametrize(("asked", "count"), [("", 20), ("?limit=1", 1), ("?limit=100", 100)])
def test_a_page_is_as_long_as_it_was_asked_for(service: Service, asked: str, count: int) -> None:
    assert len(service.ask(f"/v1/scores{asked}").json()["data"]) == count


@pytest.mark.parametrize(
    "limit",
    [
        *["", "0", "101", "-1", "+1", "1.0", "1e1", "ten", "%D9%A3", "1 ", "9" * 5_000],
        *["000000001999", "000000001" + "0" * 5_000],
    ],
    ids=lambda limit: limit[:12],
)
def test_a_limit_is_a_whole_number_from_1_to_100(service: Service, limit: str) -> None:
    received = service.ask(f"/v1/scores?limit={limit}")
    assert refusal(received) == (400, "invalid_parameter")


@pytest.mark.parametrize("path", ["", "/receipt"])
def test_one_score_is_asked_for_by_its_id_and_without_parameters(
    service: Service, path: str
) -> None:
    known = service.ask("/v1/score", body=BODY).json()["request_id"]
    assert service.ask(f"/v1/scores/{known}{path}").status == 200
    assert refusal(service.ask(f"/v1/scores/{known}{path}?pretty=1")) == (400, "invalid_parameter")
    for wrong in ("req_" + "0" * 28, known.upper(), "1"):
        assert refusal(service.ask(f"/v1/scores/{wrong}{path}")) == (404, "unknown_score")


@pytest.mark.parametrize("cursor", ["", "1", "req_", "%00", "req_" + "g" * 28])
def test_a_cursor_is_one_that_a_page_gave(service: Service, cursor: str) -> None:
    received = service.ask(f"/v1/scores?cursor={cursor}")
    assert refusal(received) == (400, "invalid_parameter")


# ------------------------------------------------------------------------------------- headers


@pytest.mark.parametrize("key", ["k", "x" * 255, "a b:c/ü"])
def test_an_idempotency_key_is_any_short_text(service: Service, key: str) -> None:
    assert service.ask("/v1/score", body=BODY, headers={"idempotency-key": key}).status == 200


@pytest.mark.parametrize("key", ["x" * 256, "ü".encode().decode("latin-1") * 128])
def test_an_idempotency_key_has_255_bytes_at_most(service: Service, key: str) -> None:
    received = service.ask("/v1/score", body=BODY, headers={"idempotency-key": key})
    assert refusal(received) == (400, "invalid_parameter")
    assert "255 bytes" in received.json()["detail"]


@pytest.mark.parametrize(
    ("body", "query"),
    [
        (BODY, "expand=offer,model"),
        (json.dumps(dict(reversed(json.loads(BODY).items()))).encode(), "expand=offer,model"),
    ],
    ids=["as it was sent", "in another order"],
)
def test_what_was_kept_when_queries_were_hashed_as_sent_is_known_again(
    service: Service, body: bytes, query: str
) -> None:
    named = {"idempotency-key": f"before {hashlib.sha256(body).hexdigest()}"}
    path = f"/v1/score?{query}"
    first = service.ask(path, body=BODY, headers=named)
    sent = len(query).to_bytes(4, "big") + query.encode() + BODY
    kept = service.installed.vault.ring("demo").fingerprint(hashlib.sha256(sent).digest())
    table = schema.idempotency
    of_first = table.c.request_id == first.json()["request_id"]
    with service.installed.database.writing() as connection:
        connection.execute(table.update().where(of_first).values(request_digest=kept))
    again = service.ask(path, body=body, headers=named)
    assert (again.body, again.headers["idempotent-replayed"]) == (first.body, "true")
    other = service.ask(f"{path},policy", body=body, headers=named)
    assert refusal(other) == (422, "idempotency_key_reused")


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER", "Bearer "])
def test_the_scheme_of_a_key_is_compared_without_case(service: Service, scheme: str) -> None:
    headers = {"authorization": f"{scheme} {service.key}"}
    assert service.ask("/v1/scores", headers=headers).status == 200


@pytest.mark.parametrize(
    ("authorization", "code"),
    [
        ("", "key_missing"),
        ("Bearer", "key_missing"),
        ("Bearer  ", "key_missing"),
        ("Basic YTpi", "key_missing"),
        ("Bearer nonsense", "key_refused"),
        ("Bearer \xff", "key_refused"),
        ("Bearer alama_test_" + "0" * 36, "key_refused"),
        ("Bearer a b", "key_refused"),
    ],
)
def test_whoever_brings_no_key_is_asked_for_one(
    service: Service, authorization: str, code: str
) -> None:
    received = service.ask("/v1/scores", headers={"authorization": authorization})
    assert refusal(received) == (401, code)
    assert received.headers["www-authenticate"].startswith("Bearer")


def test_a_reply_tells_how_the_key_stands_with_its_rate(service: Service) -> None:
    headers = service.ask("/v1/scores").headers
    assert headers["ratelimit-policy"] == '"key";q=6;w=2'
    assert headers["ratelimit"] == '"key";r=5;t=1'
    assert headers["cache-control"] == "no-store"


# ---------------------------------------------------------------------------- the active model


def lends_by(service: Service, model_id: str | None, policy_id: str | None) -> Service:
    """The live book of the lender with this model and policy, and a key for it."""
    live = Book("demo", Mode.LIVE)
    registry = service.installed.registry
    registry.deploy(live, model_id, policy_id, clock.wall_us())
    key, _ = keys.issue(registry, service.installed.clock, service.installed.pepper, live)
    return service._replace(key=key)


def test_a_model_that_cannot_be_used_closes_scoring_and_not_the_scores(service: Service) -> None:
    service.installed.registry.keep_model("sha256:damaged", b"{}", clock.wall_us())
    live = lends_by(service, "sha256:damaged", None)
    refused = live.ask("/v1/score", body=BODY)
    assert refusal(refused) == (503, "model_unavailable")
    assert "not a model" in refused.json()["detail"]
    assert refused.headers["retry-after"] == "60"
    assert live.ask("/v1/scores").status == 200


def test_a_stored_score_keeps_the_currency_of_the_policy_that_made_it(service: Service) -> None:
    registry = service.installed.registry
    registry.keep_model(MODEL.id, document.encode(MODEL), clock.wall_us())
    policy_id = default_policy("UGX").id
    registry.keep_policy(policy_id, default_text("UGX"), clock.wall_us())
    live = lends_by(service, MODEL.id, policy_id)
    given = live.ask("/v1/score?expand=offer", body=BODY).json()
    assert given["offer"]["currency"] == "UGX"
    kept = live.ask(f"/v1/scores/{given['request_id']}").json()
    assert kept["offer"] == given["offer"]
