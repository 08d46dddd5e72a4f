"""The SDK for Python by itself; what it does on the wire, test_contract.py proves."""

import asyncio
import inspect
import json
import pickle
import re
import subprocess
import sys
import threading
import time
import tomllib
import zipfile
from collections import UserDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, fields
from datetime import date, datetime, timedelta
from decimal import Decimal
from email.utils import format_datetime
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

import alama_client
from alama.app import openapi
from alama.platform.http.problem_codes import PROBLEMS
from alama.webhooks.examples import SECRET
from alama_client import (
    Alama,
    AlamaError,
    AsyncAlama,
    ConnectionFailed,
    InternalError,
    InvalidApplication,
    InvalidArgument,
    InvalidSignature,
    ModelDriftDetectedEvent,
    Problem,
    TimedOut,
    TooManyRequests,
    Unavailable,
    UnknownScore,
    UnknownWebhookEndpoint,
    WebhookEndpointDisabled,
    answers,
    errors,
    verify_webhook,
    webhooks,
)
from alama_client.calls import Reply
from alama_client.client import VERSION
from alama_client.retries import Pace, seconds
from alama_client.testing import FakeAlama
from tests.databases import sqlite_url
from tests.e2e.service import COMPACT, Service
from tests.ports import HOST, free_port

SDK = Path(__file__).parents[2] / "sdk" / "python"
README = (SDK / "README.md").read_text("utf-8")
DOCUMENT: dict[str, Any] = openapi.document()
SCHEMAS: dict[str, Any] = DOCUMENT["components"]["schemas"]

SCHEMA_OF: dict[type[answers.Answer], str] = {
    answers.ShapValue: "ShapValue",
    answers.Reason: "Reason",
    answers.PriceParts: "PriceParts",
    answers.Aprs: "AprDefinitions",
    answers.Payment: "ScheduledPayment",
    answers.Schedule: "ScheduleDetail",
    answers.Offer: "OfferDetail",
    answers.Score: "ScoreReply",
    answers.Review: "ScoreReview",
    answers.Outcome: "ScoreOutcome",
    answers.StoredScore: "ScoreRecord",
    answers.ListedScore: "ScoreListed",
    answers.OutcomeResult: "OutcomeResult",
    answers.LoanResult: "LoanResult",
    answers.ExplainedValue: "ExplainedValue",
    answers.Change: "Change",
    answers.Counterfactual: "Counterfactual",
    answers.Obstacle: "Obstacle",
    answers.Explanation: "ExplainReply",
    answers.Health: "Health",
    answers.OwnKey: "OwnKey",
    answers.Pending: "PendingDeliveries",
    answers.WebhookEndpoint: "WebhookEndpoint",
    answers.NewWebhookEndpoint: "WebhookEndpointCreated",
    answers.TestSent: "TestSent",
    webhooks.Drift: "DriftName",
}


A_LOAN: dict[str, Any] = {
    "applicant_ref": "cust-1",
    "loan": "L-1",
    "kind": "disbursed",
    "date": date(2026, 11, 16),
    "amount": 900,
}


@pytest.fixture
def fake() -> FakeAlama:
    return FakeAlama()


@pytest.fixture
def alama(fake: FakeAlama) -> Iterator[Alama]:
    with fake.client() as client:
        yield client


# ------------------------------------------------------------------------------- beside the service


def test_every_code_of_the_service_has_a_class_and_no_other_has() -> None:
    named = {kind.code: kind.status for kind in Problem.__subclasses__()}
    page = Path(__file__).parents[2] / "docs" / "generated" / "codes.md"
    table = re.findall(r"^\| `(\w+)` \| (\d{3}) \|", page.read_text("utf-8"), re.MULTILINE)
    assert named == {code: int(status) for code, status in table}
    assert set(named) == set(PROBLEMS)


def test_the_package_names_its_version_once_for_all() -> None:
    project = tomllib.loads((SDK / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["version"] == VERSION
    assert project["dependencies"] == ["httpx>=0.27"]


@pytest.mark.long
def test_the_wheel_brings_every_module_and_says_that_it_is_typed(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir"]
    done = subprocess.run([*build, tmp_path, SDK], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as inside:
        held = {name for name in inside.namelist() if "dist-info" not in name}
    ours = SDK / "src" / "alama_client"
    assert held == {f"alama_client/{path.name}" for path in ours.iterdir() if path.is_file()}
    assert "alama_client/py.typed" in held


def test_every_error_can_be_imported_from_the_top() -> None:
    assert all(getattr(alama_client, name) is getattr(errors, name) for name in errors.__all__)
    assert set(alama_client.__all__) >= {kind.__name__ for kind in Problem.__subclasses__()}


@pytest.mark.parametrize(("kind", "schema"), SCHEMA_OF.items(), ids=SCHEMA_OF.values())
def test_answers_have_the_members_of_the_document(kind: type[answers.Answer], schema: str) -> None:
    ours = [each for each in fields(kind) if each.name != "raw"]
    assert {each.name.rstrip("_") for each in ours} >= set(SCHEMAS[schema]["properties"])
    required = {each.name.rstrip("_") for each in ours if each.default is MISSING}
    assert required <= set(SCHEMAS[schema]["required"])


def test_applications_have_the_fields_of_the_document() -> None:
    assert set(answers.Application.__annotations__) == set(SCHEMAS["Application"]["properties"])


@pytest.mark.parametrize("kind", DOCUMENT["webhooks"])
def test_every_event_of_the_document_is_typed(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    told = DOCUMENT["webhooks"][kind]["post"]
    headers = {header["name"]: header["example"] for header in told["parameters"]}
    example = told["requestBody"]["content"]["application/json"]["example"]
    body = json.dumps(example, separators=(",", ":")).encode()
    monkeypatch.setattr(time, "time", lambda: float(headers["webhook-timestamp"]))
    event = verify_webhook(body, headers, SECRET)
    words = re.split(r"[._]", kind)
    assert type(event).__name__ == "".join(word.capitalize() for word in words) + "Event"
    assert (event.type, event.id) == (kind, headers["webhook-id"])
    assert set(example["data"]) <= {each.name for each in fields(event)}


# ------------------------------------------------------------------------------- what is promised


BLOCKS: list[str] = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def run_blocks(blocks: list[str], left: dict[str, Any], words: dict[str, str]) -> None:
    """Run examples one after the other, with other words for some; `left` has what they leave."""
    page = "\n".join(blocks)
    for word, other in words.items():
        page = page.replace(word, other)
    exec(compile(page, "README.md", "exec"), left)  # noqa: S102  our own page


@contextmanager
def receiving(left: dict[str, Any], port: int = 0) -> Iterator[str]:
    with ThreadingHTTPServer((HOST, port), left["Receiver"]) as server:
        threading.Thread(target=server.serve_forever).start()
        try:
            yield f"http://{HOST}:{server.server_port}/hook"
        finally:
            server.shutdown()


def test_the_examples_of_the_readme_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fake = FakeAlama().answer(decision="REVIEW")
    monkeypatch.setattr(alama_client, "Alama", lambda *_, **__: fake.client())
    monkeypatch.setattr(alama_client, "AsyncAlama", lambda *_, **__: fake.async_client())
    monkeypatch.setenv("WEBHOOK_SECRET", fake.secret)
    left: dict[str, Any] = {"__name__": "readme"}
    run_blocks(BLOCKS, left, {})
    assert len(BLOCKS) == 11
    assert left["told"].result == "recorded"
    assert left["score"].request_id in {each["request_id"] for each in fake.outcomes}
    assert all(score["review"] for score in fake.scores.values())
    said = capsys.readouterr().out
    assert re.search(r"^1 monthly_inflow cannot be sent as JSON$", said, re.MULTILINE)
    asyncio.run(left["main"]())
    headers, body = fake.webhook("score.created", **SCORE_CREATED)
    with receiving(left) as url, httpx.Client(trust_env=False, timeout=60) as sender:
        assert sender.post(url, content=body, headers=headers).status_code == 204
        assert sender.post(url, content=body + b" ", headers=headers).status_code == 400
    assert f"{headers['webhook-id']} req_1\n" in capsys.readouterr().out


@pytest.mark.long
def test_the_examples_of_the_readme_run_against_the_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    port = free_port()
    left: dict[str, Any] = {"__name__": "readme"}
    listens = 1 + next(n for n, block in enumerate(BLOCKS) if "class Receiver" in block)
    settings = {"ALAMA_DELIVERY": "inside", "ALAMA_DEVELOPMENT": "yes"}
    with Service(sqlite_url(tmp_path), tmp_path, 1, None, **settings).running() as service:
        words = {
            "https://scores.example.com": service.server.url,
            "alama_test_...": service.key(),
            "https://loans.example.com/hook": f"http://{HOST}:{port}/hook",
        }
        run_blocks(BLOCKS[:listens], left, words)
        monkeypatch.setenv("WEBHOOK_SECRET", left["endpoint"].secret)
        with receiving(left, port):
            run_blocks(BLOCKS[listens:], left, words)
            asyncio.run(left["main"]())
            said = ""
            deadline = time.monotonic() + 60
            while " webhook.test\n" not in said and time.monotonic() < deadline:
                said += capsys.readouterr().out
                time.sleep(0.1)
        (sent,) = re.findall(r"^(evt_[0-9a-f]{28})$", said, re.MULTILINE)
        assert f"{sent} webhook.test\n" in said
        assert re.match(r"APPROVED \d+(\.\d+)? req_[0-9a-f]{28}\n\w", said), said
        assert "mobile_money_months wrong_type" in said
        assert left["told"].result == "recorded"
        assert len(left["explanation"].counterfactuals) <= 1
        with left["alama"] as alama, left["patient"]:
            too_early = date.today() - timedelta(days=2)  # noqa: DTZ011  as the page has it
            told = alama.record_outcome(left["score"].request_id, "repaid", too_early)
            assert (told.refused, told.result) == (True, "before_the_loan")
            alama.delete_endpoint(left["endpoint"].id)
            with pytest.raises(UnknownWebhookEndpoint):
                alama.test_endpoint(left["endpoint"].id)


def test_the_readme_has_every_method_and_what_it_takes() -> None:
    table = dict(re.findall(r"^\| `(\w+)\(.*?\)`(.*)$", README, re.MULTILINE))
    methods = {name for name in vars(Alama) if not name.startswith("_")} - {"close"}
    assert set(table) == methods == {n for n in vars(AsyncAlama) if n[0] != "_"} - {"close"}
    for name in methods:
        ours = inspect.signature(getattr(Alama, name))
        theirs = inspect.signature(getattr(AsyncAlama, name))
        assert ours.parameters == theirs.parameters, name
    assert "pip install alama-client" not in README


SCORE_CREATED = {
    "request_id": "req_1",
    "score": 644,
    "tier": "C",
    "decision": "APPROVED",
    "model": "m",
    "policy": "p",
}


def test_a_score_is_asked_for_again_with_the_same_bytes_and_key(
    fake: FakeAlama, alama: Alama
) -> None:
    fake.fail(TimedOut).fail(Unavailable, retry_after=2).fail(InternalError)
    score = alama.score(COMPACT)
    assert list(fake.scores) == [score.request_id]
    assert len({request.body for request in fake.requests}) == 1
    keys = [request.headers["idempotency-key"] for request in fake.requests]
    assert fake.waited_s >= 0.5 + 2 + 0
    assert len(keys) == 4
    assert len(set(keys)) == 1


def test_retries_end(fake: FakeAlama) -> None:
    fake.fail(ConnectionFailed, times=9)
    with fake.client(retries=2) as alama, pytest.raises(ConnectionFailed):
        alama.score(COMPACT)
    assert len(fake.requests) == 3


def test_a_wait_that_is_too_long_is_not_begun(fake: FakeAlama, alama: Alama) -> None:
    fake.fail(Unavailable, retry_after=61)
    with pytest.raises(Unavailable) as raised:
        alama.score(COMPACT)
    assert raised.value.retry_after == 61
    assert len(fake.requests) == 1


def test_an_endpoint_is_not_made_twice(fake: FakeAlama, alama: Alama) -> None:
    fake.fail(InternalError)
    with pytest.raises(InternalError):
        alama.make_endpoint("https://loans.example.com/hook")
    fake.fail(TooManyRequests)
    assert alama.make_endpoint("https://loans.example.com/hook").secret == fake.secret
    assert len(alama.list_endpoints()) == 1


def test_pages_are_read_to_the_end(fake: FakeAlama, alama: Alama) -> None:
    given = [alama.score(COMPACT).request_id for _ in range(7)]
    listed = [each.request_id for each in alama.list_scores(page_size=3)]
    assert listed == given[::-1]
    assert [request.path for request in fake.requests].count("/v1/scores") == 3


def test_rows_come_in_order_whatever_happens_to_them(fake: FakeAlama, alama: Alama) -> None:
    fake.fail(TooManyRequests, times=30).fail(ConnectionFailed, times=3)
    rows = list(alama.score_many(COMPACT | {"counterparties": n} for n in range(50)))
    assert [row.index for row in rows] == list(range(50))
    stored = {s["request_id"]: s["application"]["counterparties"] for s in fake.scores.values()}
    assert [stored[row.result().request_id] for row in rows] == list(range(50))
    assert len(stored) == 50


def test_a_row_that_fails_is_told_in_its_place(fake: FakeAlama) -> None:
    async def many() -> list[alama_client.Scored]:
        async with fake.async_client() as alama:
            rows = alama.score_many([COMPACT] * 5, key_of=lambda _: "one", in_order=False)
            return [row async for row in rows]

    fake.fail(InvalidApplication)
    rows = asyncio.run(many())
    (failed,) = [row for row in rows if row.error is not None]
    with pytest.raises(InvalidApplication):
        failed.result()
    assert len({row.result().request_id for row in rows if row.error is None}) == 1


def key_of(application: Any) -> str:
    key: str = application["applicant_ref"]
    return key


class Raising(UserDict[str, Any]):
    """A row that is read as it is needed, and cannot be."""

    def keys(self) -> Any:
        raise LookupError("alama-secret")


BAD_ROWS: list[Any] = [
    COMPACT | {"applicant_ref": "a", "avg_balance": float("nan")},
    COMPACT | {"applicant_ref": "b", "avg_balance": Decimal("Infinity")},
    COMPACT | {"applicant_ref": "c", "region": object()},
    COMPACT | {"applicant_ref": "d", ("region",): 1},
    COMPACT,  # key_of raises
    COMPACT | {"applicant_ref": 4711},
    COMPACT | {"applicant_ref": None},
    COMPACT | {"applicant_ref": "e\n"},
    Raising(COMPACT, applicant_ref="f"),
    "mm_months",
    None,
]


@pytest.mark.parametrize("in_order", [True, False])
@pytest.mark.parametrize("way", ["sync", "async"])
def test_a_row_that_cannot_be_sent_is_told_in_its_place(
    fake: FakeAlama, way: str, *, in_order: bool
) -> None:
    good = [COMPACT | {"applicant_ref": f"good-{n}"} for n in range(len(BAD_ROWS))]
    given = [row for pair in zip(good, BAD_ROWS, strict=True) for row in pair]

    async def many() -> list[alama_client.Scored]:
        async with fake.async_client() as alama:
            return [row async for row in alama.score_many(given, key_of=key_of, in_order=in_order)]

    if way == "async":
        rows = asyncio.run(many())
    else:
        with fake.client() as alama:
            rows = list(alama.score_many(given, key_of=key_of, in_order=in_order))
    if not in_order:
        rows.sort(key=lambda row: row.index)
    assert [row.index for row in rows] == list(range(len(given)))
    assert [type(row.error) for row in rows] == [type(None), InvalidArgument] * len(good)
    assert all(row.application is given[row.index] for row in rows)
    assert not any("alama-secret" in str(row.error) for row in rows)
    assert len(fake.scores) == len(fake.requests) == len(good)


@pytest.mark.parametrize("at_once", [0, -1])
def test_no_row_at_once_is_refused(fake: FakeAlama, alama: Alama, at_once: int) -> None:
    async def many() -> None:
        async with fake.async_client() as client:
            async for _ in client.score_many([COMPACT], at_once=at_once):
                pass

    with pytest.raises(InvalidArgument, match="at_once"):
        list(alama.score_many([COMPACT], at_once=at_once))
    with pytest.raises(InvalidArgument, match="at_once"):
        asyncio.run(many())


def test_leaving_many_in_the_middle_leaves_nothing_running(fake: FakeAlama, alama: Alama) -> None:
    rows = alama.score_many([COMPACT] * 1_000, at_once=2)
    next(rows)
    rows.close()  # type: ignore[attr-defined]  # a generator
    sent = len(fake.requests)
    assert sent < 50
    time.sleep(0.05)
    assert len(fake.requests) == sent


def test_members_that_are_not_known_are_kept(fake: FakeAlama, alama: Alama) -> None:
    fake.answer(added={"deep": [1]}, shap_values=[{"feature": "f", "contribution": 1, "unit": "p"}])
    score = alama.score(COMPACT)
    assert score.raw["added"] == {"deep": [1]}
    assert score.shap_values[0].raw["unit"] == "p"


@pytest.mark.parametrize("wrong", [{"score": "700"}, {"shap_values": {}}, {"tier": None}])
def test_what_is_no_score_is_no_answer(fake: FakeAlama, wrong: dict[str, Any]) -> None:
    fake.answer(**wrong)
    with (
        fake.client(retries=0) as alama,
        pytest.raises(ConnectionFailed, match="no answer of Alama"),
    ):
        alama.score(COMPACT)


def test_decimals_and_dates_can_be_sent(fake: FakeAlama, alama: Alama) -> None:
    score = alama.score(COMPACT | {"requested_amount": Decimal("1500.50")})
    assert fake.scores[score.request_id]["application"]["requested_amount"] == 1500.5
    alama.record_outcome(score.request_id, "repaid", date(2026, 11, 16), defaulted_on=None)
    assert fake.outcomes[0]["date"] == "2026-11-16"


def test_what_the_caller_got_wrong_is_an_error_of_ours_and_a_value_error() -> None:
    assert issubclass(InvalidArgument, AlamaError)
    assert issubclass(InvalidArgument, ValueError)
    assert not issubclass(InvalidArgument, Problem | ConnectionFailed)


NOT_JSON: list[Any] = [float("nan"), float("inf"), Decimal("NaN"), {1}, date(2026, 11, 16)]


@pytest.mark.parametrize("value", NOT_JSON, ids=repr)
def test_values_that_cannot_be_sent_are_refused_by_the_name_of_their_field(
    fake: FakeAlama, alama: Alama, value: Any
) -> None:
    for ask in (alama.score, alama.explain):
        with pytest.raises(InvalidArgument, match="avg_balance cannot be sent as JSON") as raised:
            ask(COMPACT | {"avg_balance": value})
        assert str(value) not in str(raised.value)
    assert fake.requests == []


WRONG: dict[str, Callable[[Alama], object]] = {
    "an application that is none": lambda alama: alama.score(None),  # type: ignore[arg-type]
    "an application that is a list": lambda alama: alama.explain([1]),  # type: ignore[arg-type]
    "one that holds itself": lambda alama: alama.score(round_and_round()),
    "expand of None": lambda alama: alama.score(COMPACT, expand=None),  # type: ignore[arg-type]
    "an empty idempotency key": lambda alama: alama.score(COMPACT, idempotency_key=""),
    "a number as the key": lambda alama: alama.score(COMPACT, idempotency_key=7),  # type: ignore[arg-type]
    "no id": lambda alama: alama.get_score(None),  # type: ignore[arg-type]
    "an empty id": lambda alama: alama.delete_endpoint(""),
    "an id of half a letter": lambda alama: alama.get_score("\ud800"),
    "a language of half a letter": lambda alama: alama.score(COMPACT, language="\ud800"),  # type: ignore[arg-type]
    "outcomes that are none": lambda alama: alama.record_outcomes(7),  # type: ignore[arg-type]
    "loans that are none": lambda alama: alama.record_loans(7),  # type: ignore[arg-type]
    "a loan that is none": lambda alama: alama.record_loans([{1}]),  # type: ignore[list-item]
    "an outcome that is none": lambda alama: alama.record_outcomes([{1}]),  # type: ignore[list-item]
    "kinds of None": lambda alama: alama.make_endpoint("https://a.example", kinds=None),  # type: ignore[arg-type]
}


def round_and_round() -> dict[str, Any]:
    application: dict[str, Any] = dict(COMPACT)
    application["region"] = application
    return application


@pytest.mark.parametrize("ask", WRONG.values(), ids=WRONG)
def test_what_cannot_be_sent_is_refused_before_it_is(
    fake: FakeAlama, alama: Alama, ask: Callable[[Alama], object]
) -> None:
    with pytest.raises(InvalidArgument):
        ask(alama)
    assert fake.requests == []


def test_a_parameter_that_breaks_its_rule_is_for_alama_to_refuse(
    fake: FakeAlama, alama: Alama
) -> None:
    alama.explain(COMPACT, ways=[1])  # type: ignore[arg-type]
    assert fake.requests[0].query == {"ways": "[1]"}


def test_a_trace_context_that_cannot_be_had_is_refused_once(fake: FakeAlama) -> None:
    traceparents: list[Callable[[], str]] = [lambda: "00-\n", lambda: str(1 / 0)]
    for traceparent in traceparents:
        with fake.client(traceparent=traceparent) as alama, pytest.raises(InvalidArgument):
            alama.score(COMPACT)
    assert fake.requests == []
    assert fake.waited_s == 0


def test_a_client_that_is_closed_says_so() -> None:
    with Alama("https://alama.invalid") as alama:
        pass
    with pytest.raises(InvalidArgument, match="closed"):
        alama.score(COMPACT)

    async def late() -> None:
        async with AsyncAlama("https://alama.invalid") as client:
            pass
        await client.score(COMPACT)

    with pytest.raises(InvalidArgument, match="closed"):
        asyncio.run(late())


@pytest.mark.parametrize("key", ["", " ", "alama_test_1\n", "a\r\nb: c", 7])
def test_a_key_that_cannot_be_sent_is_refused_and_not_shown(key: Any) -> None:
    with pytest.raises(InvalidArgument, match="the API key is empty, or has characters") as raised:
        Alama("https://scores.example.com", key)
    assert "alama" not in str(raised.value)


@pytest.mark.parametrize(
    "address",
    [
        "scores.example.com",
        "ftp://scores.example.com",
        "https://",
        "https://a..b",
        "https://scores.example.com:port",
        "https://scores.example.com\n",
        "",
        None,
    ],
)
def test_an_address_that_is_none_is_refused(address: Any) -> None:
    for kind in (Alama, AsyncAlama):
        with pytest.raises(InvalidArgument, match="https://"):
            kind(address)


def test_neither_a_client_nor_an_endpoint_shows_its_secret(alama: Alama) -> None:
    assert repr(alama) == "Alama('https://alama.invalid')"
    made = alama.make_endpoint("https://loans.example.com/hook")
    assert "whsec_" not in repr(made)


def test_a_problem_says_what_is_wrong_and_survives_another_process() -> None:
    said = {
        "code": "invalid_application",
        "detail": "1 rule is broken: see errors.",
        "request_id": "req_1",
        "errors": [{"pointer": "/a~1b", "code": "wrong_type", "detail": "must be a number"}, 7],
    }
    error = InvalidApplication(422, said, None, None)
    again = pickle.loads(pickle.dumps(error))  # noqa: S301  our own
    assert str(again) == str(error)
    assert str(error).splitlines() == [
        "422 invalid_application 1 rule is broken: see errors. (req_1)",
        "  /a~1b must be a number",
    ]
    assert [each.field for each in again.errors] == ["a/b"]


def test_whatever_a_proxy_answers_is_a_problem() -> None:
    for said in ({}, {"code": 5}, {"errors": "none"}, {"request_id": None}):
        problem = errors.problem_of(502, said, "req_1", None)
        assert type(problem) is Problem
        assert (problem.code, problem.request_id, problem.errors) == (None, "req_1", ())


@pytest.mark.parametrize("way", ["sync", "async"])
def test_one_word_means_the_same_as_a_list_of_one(fake: FakeAlama, way: str) -> None:
    async def ask() -> None:
        async with fake.async_client() as alama:
            assert (await alama.score(COMPACT, expand="reasons")).reasons == ()
            (row,) = [row async for row in alama.score_many([COMPACT], expand="reasons")]
            assert row.result().reasons == ()
            await alama.explain(COMPACT, ways=1, locked="monthly_inflow")
            await alama.make_endpoint("https://loans.example.com/hook", kinds="score.created")

    if way == "async":
        asyncio.run(ask())
    else:
        with fake.client() as alama:
            assert alama.score(COMPACT, expand="reasons").reasons == ()
            (row,) = alama.score_many([COMPACT], expand="reasons")
            assert row.result().reasons == ()
            alama.explain(COMPACT, ways=1, locked="monthly_inflow")
            alama.make_endpoint("https://loans.example.com/hook", kinds="score.created")
    *scored, explained, made = fake.requests
    assert [request.query for request in scored] == [{"expand": "reasons"}] * 2
    assert explained.query == {"ways": "1", "locked": "monthly_inflow"}
    assert made.json()["kinds"] == ["score.created"]


def test_a_test_event_is_sent_to_an_endpoint(fake: FakeAlama, alama: Alama) -> None:
    made = alama.make_endpoint("https://loans.example.com/hook")
    fake.fail(Unavailable)
    assert alama.test_endpoint(made.id).event.startswith("evt_")

    async def test() -> str:
        async with fake.async_client() as client:
            return (await client.test_endpoint(made.id)).event

    assert asyncio.run(test()).startswith("evt_")
    fake.endpoints[made.id]["enabled"] = False
    with pytest.raises(WebhookEndpointDisabled):
        alama.test_endpoint(made.id)
    with pytest.raises(UnknownWebhookEndpoint):
        alama.test_endpoint("we_1")


def test_an_outcome_that_is_refused_says_so(alama: Alama) -> None:
    score = alama.score(COMPACT)
    assert not alama.record_outcome(score.request_id, "repaid", "2026-11-16").refused
    told = alama.record_outcome("req_1", "repaid", "2026-11-16")
    assert (told.refused, told.result) == (True, "unknown_score")
    assert told.message
    assert told.is_default is None


def test_loans_are_told_and_answered_in_their_order(fake: FakeAlama, alama: Alama) -> None:
    paid = A_LOAN | {"loan": "L-2", "kind": "payment"}
    told = alama.record_loans([A_LOAN, paid, A_LOAN])
    assert [one.loan for one in told] == ["L-1", "L-2", "L-1"]
    assert not any(one.refused for one in told)
    assert [one.result for one in alama.record_loans([paid])] == ["unchanged"]
    assert fake.loans[0]["date"] == "2026-11-16"


def test_a_score_that_is_not_there(alama: Alama) -> None:
    with pytest.raises(UnknownScore) as raised:
        alama.get_score("req_0/../health")
    assert isinstance(raised.value, AlamaError)


# ------------------------------------------------------------------------------- waits and paces


def test_retry_after_is_seconds_or_a_date() -> None:
    assert seconds("7") == 7
    soon = datetime.now().astimezone() + timedelta(seconds=3_000)
    assert 2_900 < (seconds(format_datetime(soon)) or 0) <= 3_000
    assert seconds("Wed, 21 Oct 2015 07:28:00 GMT") == 0
    assert [seconds(text) for text in (None, "", "soon", "-1", "²")] == [None] * 5


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def told(left: int, status: int = 200, **more: str) -> Reply:
    headers = {"ratelimit": f'"key";r={left};t=1', "ratelimit-policy": '"key";q=20;w=2', **more}
    return Reply(status, headers, b"")


def test_as_many_go_at_once_as_are_left_and_then_one_by_one() -> None:
    pace = Pace(clock := Clock())
    assert [pace.take_turn() for _ in range(3)] == [0, 0, 0]  # nothing is known yet
    for _ in range(3):
        pace.heard(told(2))
    assert [pace.take_turn() for _ in range(4)] == pytest.approx([0, 0, 0.1, 0.2])
    clock.now += 0.3
    assert pace.take_turn() == pytest.approx(0)


def test_what_is_on_its_way_is_no_longer_left() -> None:
    pace = Pace(Clock())
    for _ in range(5):
        pace.take_turn()
    pace.heard(told(6))  # the four others take four of these
    assert [pace.take_turn() > 0 for _ in range(3)] == [False, False, True]


def test_nobody_sends_while_one_was_told_to_wait() -> None:
    pace = Pace(clock := Clock())
    pace.take_turn()
    pace.heard(told(0, 429, **{"retry-after": "3"}))
    assert pace.take_turn() == 3
    clock.now += 2
    assert pace.closed_s() == 1
    clock.now += 1
    assert pace.closed_s() == 0


# ------------------------------------------------------------------------------- webhooks


def test_a_webhook_is_verified_over_its_bytes(fake: FakeAlama) -> None:
    headers, body = fake.webhook(
        "model.drift_detected",
        model="m",
        card="full",
        names=[{"name": "score", "psi": 0.3, "limit": 0.2}],
        first_day="2026-11-01",
        last_day="2026-11-14",
        scores=900,
    )
    event = verify_webhook(
        body, {name.title(): text for name, text in headers.items()}, fake.secret
    )
    assert isinstance(event, ModelDriftDetectedEvent)
    assert event.names[0].psi == 0.3
    with pytest.raises(InvalidSignature):
        verify_webhook(body.replace(b" ", b""), headers, fake.secret)


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"type": "score.created", "data": {}}'])
def test_what_is_signed_and_no_event_is_refused(fake: FakeAlama, body: bytes) -> None:
    headers = webhooks.sign_webhook(body, "evt_1", fake.secret)
    with pytest.raises(InvalidSignature, match="no event all the same"):
        verify_webhook(body, headers, fake.secret)


@pytest.mark.parametrize(
    "secret", ["", "whsec_", "whsec_###", "whsec_é", None, 7, b"whsec_AAEC", [], [""], [None]]
)
def test_a_secret_that_is_none_is_a_mistake_of_ours(fake: FakeAlama, secret: Any) -> None:
    headers, body = fake.webhook("webhook.test", endpoint_id="we_1", message="m")
    for came in (headers, {}):
        with pytest.raises(InvalidArgument, match="secret") as raised:
            verify_webhook(body, came, secret)
        assert "###" not in str(raised.value)


def test_a_body_may_be_text(fake: FakeAlama) -> None:
    headers, body = fake.webhook("webhook.test", endpoint_id="we_1", message="é")
    assert verify_webhook(body.decode(), headers, fake.secret).type == "webhook.test"
    assert verify_webhook(memoryview(body), headers, fake.secret).type == "webhook.test"
    for changed in (body.decode() + " ", "\ud800"):
        with pytest.raises(InvalidSignature):
            verify_webhook(changed, headers, fake.secret)


@pytest.mark.parametrize("body", [None, 7, {"type": "webhook.test"}])
def test_a_body_that_was_parsed_is_a_mistake_of_ours(fake: FakeAlama, body: Any) -> None:
    headers, _ = fake.webhook("webhook.test", endpoint_id="we_1", message="m")
    with pytest.raises(InvalidArgument, match="as it came"):
        verify_webhook(body, headers, fake.secret)


@pytest.mark.parametrize("headers", [None, [(b"webhook-id", b"evt_1")], {b"webhook-id": b"1"}])
def test_headers_that_are_none_are_a_mistake_of_ours(fake: FakeAlama, headers: Any) -> None:
    with pytest.raises(InvalidArgument, match="headers"):
        verify_webhook(b"{}", headers, fake.secret)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("webhook-timestamp", "9" * 400),
        ("webhook-timestamp", "-" + "9" * 400),
        ("webhook-timestamp", "9" * 5_000),
        ("webhook-timestamp", "soon"),
        ("webhook-signature", "v1,é"),
        ("webhook-signature", "v1,="),
        ("webhook-signature", ""),
        ("webhook-id", "\ud800"),
    ],
)
def test_whatever_a_stranger_sends_is_refused(fake: FakeAlama, name: str, text: str) -> None:
    headers, body = fake.webhook("webhook.test", endpoint_id="we_1", message="m")
    with pytest.raises(InvalidSignature):
        verify_webhook(body, headers | {name: text}, fake.secret)


def test_the_fake_answers_in_the_shapes_of_the_document(alama: Alama) -> None:
    score = alama.score(COMPACT)
    answered: list[tuple[str, answers.Answer]] = [
        ("ScoreReply", score),
        ("ScoreReply", alama.score(COMPACT, expand=["offer", "reasons"])),
        ("ScoreRecord", alama.get_score(score.request_id)),
        ("ScoreListed", next(alama.list_scores())),
        ("ExplainReply", alama.explain(COMPACT)),
        ("ScoreReview", alama.review(score.request_id, "APPROVED", "other", name="W. Mutua")),
        ("OutcomeResult", alama.record_outcome(score.request_id, "repaid", "2026-11-16")),
        ("LoanResult", alama.record_loans([A_LOAN])[0]),
        ("WebhookEndpointCreated", alama.make_endpoint("https://loans.example.com/hook")),
        ("WebhookEndpoint", alama.list_endpoints()[0]),
        ("TestSent", alama.test_endpoint(alama.list_endpoints()[0].id)),
        ("Health", alama.health()),
        ("OwnKey", alama.key()),
    ]
    for schema, answer in answered:
        assert set(SCHEMAS[schema]["required"]) <= set(answer.raw), schema
        assert set(answer.raw) <= set(SCHEMAS[schema]["properties"]), schema
    assert answered[0][1].raw.keys() == set(SCHEMAS["ScoreReply"]["required"])
    assert answered[1][1].raw.keys() - answered[0][1].raw.keys() == {"offer", "reasons"}
