"""Plays the cases of `cases.json` over the driver of an SDK. The README has the protocol."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import queue
import re
import subprocess
import tempfile
import threading
import time
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

from sdk.contract.proxy import FaultyProxy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sdk.contract.proxy import Seen

SDK = Path(__file__).parents[1]
DOCUMENT = json.loads(Path(__file__).with_name("cases.json").read_text("utf-8"))
APPLICATIONS: dict[str, dict[str, Any]] = DOCUMENT["applications"]
CASES: dict[str, dict[str, Any]] = {case["name"]: case for case in DOCUMENT["cases"]}

ANSWER_S_MAX = 180.0
TIMEOUT_S = 30.0
TOTAL_S = 120.0
RETRIES = 3
CLOCK_S = 0.05
"""How much earlier than said a retry may come: the proxy and the SDK start their watches apart."""

SECRETS = {
    name: f"whsec_{base64.b64encode(name.encode() * 8).decode()}" for name in ("ours", "other")
}
EVENT_ID = "evt_066059f45f7cd9e7aa8ede5abc57"
EVENTS: dict[str, dict[str, Any]] = {
    "score.created": {
        "request_id": "req_066059f45f7cd9e7aa8ede5abc57",
        "score": 644,
        "tier": "C",
        "decision": "APPROVED",
        "model": "sha256:" + "b" * 64,
        "policy": "sha256:" + "c" * 64,
    },
    "score.reviewed": {
        "request_id": "req_066059f45f7cd9e7aa8ede5abc57",
        "decision": "APPROVED",
        "given_decision": "REVIEW",
        "overrides": False,
        "tier": "D",
        "model": "sha256:" + "b" * 64,
    },
    "outcome.recorded": {
        "request_id": "req_066059f45f7cd9e7aa8ede5abc57",
        "outcome": "repaid",
        "date": "2026-11-16",
        "is_default": False,
        "tier": "C",
        "model": "sha256:" + "b" * 64,
    },
    "webhook.test": {"endpoint_id": "we_065bfe03941e409b20c7d4e11f83", "message": "All is well."},
}


class Books(Protocol):
    """The service of a case, past the proxy: its books, which nobody else writes in."""

    port: int

    def key(self, kind: str) -> str | None: ...
    def make_scores(self, count: int) -> None: ...
    def scores(self) -> list[dict[str, Any]]: ...
    def endpoints(self) -> list[dict[str, Any]]: ...


class Driver:
    """The driver of an SDK, from `with` to its end."""

    def __init__(self, script: Path, environment: Mapping[str, str]) -> None:
        self._script = script
        self._environment = environment
        self._said: queue.Queue[str] = queue.Queue()
        self._complaints = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed by __exit__
        self._asked = 0

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [self._script],
            cwd=self._script.parent,
            env=dict(self._environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
            text=True,
            encoding="utf-8",
        )
        self._listening = threading.Thread(target=self._listen)
        self._listening.start()
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._listening.join()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._complaints.close()

    def ask(self, line: Mapping[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._asked += 1
        self._process.stdin.write(json.dumps({"id": self._asked, **line}) + "\n")
        self._process.stdin.flush()
        try:
            answer: dict[str, Any] = json.loads(self._said.get(timeout=ANSWER_S_MAX))
        except (queue.Empty, ValueError) as error:
            self._complaints.seek(0)
            said = self._complaints.read()
            raise AssertionError(f"the driver broke (is it built? `make sdk`): {said}") from error
        assert answer["id"] == self._asked
        return answer

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._said.put(line)
        self._said.put("")  # whoever waits hears that it has ended


def play(case: dict[str, Any], driver: Driver, books: Books) -> None:
    """Play a case to its end, or fail with what was otherwise than it says."""
    key = books.key(case.get("key", "usual"))
    books.make_scores(case.get("scores_before", 0))
    before = len(books.scores())
    assert before == case.get("scores_before", 0)
    answers: list[Any] = []
    seen: list[Seen] = []
    with FaultyProxy(books.port, case.get("faults", []), books.make_scores) as proxy:
        client = {"base_url": proxy.url, "key": key}
        for step in case["steps"]:
            proxy.inject(step.get("faults", []))
            args, names = _arguments(step, answers)
            started = time.monotonic()
            answer = driver.ask(
                {
                    **client,
                    "do": step["do"],
                    "timeout_s": step.get("timeout_s", TIMEOUT_S),
                    "total_s": step.get("total_s", TOTAL_S),
                    "retries": step.get("retries", RETRIES),
                    "args": args,
                }
            )
            took_s = time.monotonic() - started
            requests = proxy.take_seen()
            seen += requests
            assert took_s <= step.get("took_s_max", ANSWER_S_MAX)
            _require_said(step, answer, answers, names)
            _require_list(step, answer.get("ok"), args)
            _require_sent(step, requests)
            answers.append(answer.get("ok"))
    _require_keys(case, seen)
    _require_books(case, books, answers)


# ------------------------------------------------------------------------------------ what is asked


def _arguments(step: dict[str, Any], answers: list[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the driver is told, and what the case can name of it."""
    if "webhook" in step:
        return _webhook(step["webhook"])
    args = {name: _filled(value, answers) for name, value in step["args"].items()}
    if "application" in args:
        args["application"] = _application(args["application"])
    if "applications" in args:
        args["applications"] = _applications(args["applications"])
    return args, {}


def _application(named: str | dict[str, Any]) -> dict[str, Any]:
    if isinstance(named, str):
        return APPLICATIONS[named]
    changes = {name: value for name, value in named.items() if name != "like"}
    return APPLICATIONS[named["like"]] | changes


def _applications(wanted: dict[str, Any]) -> list[dict[str, Any]]:
    """As many as are wanted, all different, so that each has a score of its own."""
    many = [
        APPLICATIONS[wanted["like"]]
        | {"mobile_money_months": 2 + number, "monthly_inflow": 9_000.0 + number}
        for number in range(wanted["count"])
    ]
    if "wrong_at" in wanted:
        many[wanted["wrong_at"]] = APPLICATIONS["wrong"]
    return many


def _filled(value: Any, answers: list[Any], names: Mapping[str, Any] | None = None) -> Any:
    """A value of a case with what stands for something else put in its place."""
    if isinstance(value, dict):
        return {name: _filled(each, answers, names) for name, each in value.items()}
    if isinstance(value, list):
        return [_filled(each, answers, names) for each in value]
    if not (isinstance(value, str) and value.startswith("$")):
        return value
    if value == "$today":
        return datetime.now(UTC).date().isoformat()
    if names and value[1:] in names:
        return names[value[1:]]
    if member := re.fullmatch(r"\$(\d)\.(\w+)", value):
        return answers[int(member[1]) - 1][member[2]]
    return "x" * int(value[1:])


def _webhook(wanted: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a receiver gets, and what it knows; signed now, since the old is refused."""
    data = wanted.get("data") or {
        "mode": "test",
        **EVENTS[wanted["type"]],
        **wanted.get("more", {}),
    }
    event = {"type": wanted["type"], "timestamp": "2026-11-15T10:00:00.123456Z", "data": data}
    body = json.dumps(event, separators=(",", ":"))
    at = str(int(time.time() - wanted.get("age_s", 0)))
    versions = [wanted.get("version", "v1"), "v1"]
    signatures = [
        f"{version},{_signature(SECRETS[name], f'{EVENT_ID}.{at}.{body}')}"
        for version, name in zip(versions, wanted.get("signed_by", ["ours"]), strict=False)
    ]
    headers = {
        "content-type": "application/json",
        "webhook-id": EVENT_ID,
        "webhook-timestamp": at,
        "webhook-signature": " ".join(signatures),
    }
    match wanted.get("tampered"):
        case "body":
            body = body.replace('"APPROVED"', '"DECLINED"')
        case "webhook-id":
            headers["webhook-id"] = "evt_066059f45f7cd9e7aa8ede5abc58"
        case "webhook-timestamp":
            headers["webhook-timestamp"] = str(int(at) + 1)
    headers.pop(wanted.get("without", ""), None)
    known = [SECRETS[name] for name in wanted.get("known", ["ours"])]
    return {"secrets": known, "headers": headers, "body": body}, {"webhook-id": EVENT_ID}


def _signature(secret: str, signed: str) -> str:
    key = base64.b64decode(secret.removeprefix("whsec_"))
    return base64.b64encode(hmac.digest(key, signed.encode(), hashlib.sha256)).decode()


# ------------------------------------------------------------------------- what has to be the case


def _require_said(
    step: dict[str, Any], answer: dict[str, Any], answers: list[Any], names: dict[str, Any]
) -> None:
    expected = {name: step[name] for name in ("ok", "error") if name in step}
    assert set(expected) == {"ok", "error"} & set(answer), answer
    faults = _differences(_filled(expected, answers, names), answer, "")
    assert faults == [], f"{faults} of {answer}"


def _differences(expected: Any, given: Any, place: str) -> list[str]:
    """Where an answer is not what a case says; members that it does not name may be anything."""
    if isinstance(expected, dict) and isinstance(given, dict):
        pairs = [(name, value, given.get(name, "nothing")) for name, value in expected.items()]
    elif isinstance(expected, list) and isinstance(given, list) and len(expected) == len(given):
        pairs = [(str(n), e, g) for n, (e, g) in enumerate(zip(expected, given, strict=True))]
    elif _is(expected, given):
        return []
    else:
        return [f"{place}: {expected!r} is expected, {given!r} was given"]
    return [fault for name, e, g in pairs for fault in _differences(e, g, f"{place}/{name}")]


def _is(expected: Any, given: Any) -> bool:
    if isinstance(expected, str) and expected in _KINDS:
        return isinstance(given, _KINDS[expected])
    if isinstance(expected, str) and expected.startswith("~"):
        return isinstance(given, str) and bool(re.fullmatch(expected[1:], given))
    return bool(given == expected)


_KINDS: dict[str, Any] = {"~list": list, "~object": dict, "~number": (int, float)}


def _require_list(step: dict[str, Any], given: Any, args: dict[str, Any]) -> None:
    if "count" in step:
        assert len(given) == step["count"]
    if "distinct" in step:
        assert len({row[step["distinct"]] for row in given}) == len(given)
    if "same" in step:
        assert len({row["ok"][step["same"]] for row in given}) == 1, given
    if "rows" in step:
        _require_rows(step["rows"], given, len(args["applications"]))


def _require_rows(expected: dict[str, Any], given: list[dict[str, Any]], count: int) -> None:
    indices = [row["index"] for row in given]
    assert sorted(indices) == list(range(count))
    if expected.get("in_order"):
        assert indices == list(range(count))
    failed = {str(row["index"]): row["error"] for row in given if "error" in row}
    assert _differences(expected.get("errors", {}), failed, "/rows") == []
    assert set(failed) == set(expected.get("errors", {})), failed


def _require_sent(step: dict[str, Any], requests: list[Seen]) -> None:
    statuses = [request.status for request in requests]
    if "requests" in step:
        assert len(requests) == step["requests"], statuses
    if "waited_s" in step:
        first, second = requests[:2]
        assert second.at_s - first.at_s >= step["waited_s"] - CLOCK_S
    if "refused_max" in step:
        assert statuses.count(429) <= step["refused_max"]
    for request in requests:
        for name, text in step.get("headers", {}).items():
            assert request.headers.get(name) == text, name


def _require_keys(case: dict[str, Any], seen: list[Seen]) -> None:
    """Requests under one key have the same bytes; a score is never asked for without a key."""
    sent = defaultdict(set)
    scoring = [request for request in seen if request.target.split("?")[0] == "/v1/score"]
    for request in scoring:
        assert request.headers.get("idempotency-key"), "a score was asked for without a key"
        sent[request.headers["idempotency-key"]].add((request.method, request.target, request.body))
    if case["name"] != "idempotency_key_reused":
        assert all(len(bytes_) == 1 for bytes_ in sent.values()), sent
    if "keys" in case:
        assert len(sent) == case["keys"]


def _require_books(case: dict[str, Any], books: Books, answers: list[Any]) -> None:
    scores = books.scores()
    kept = {score["request_id"]: score for score in scores}
    assert len(scores) == len(kept) == case["scores"]
    if "endpoints" in case:
        assert len(books.endpoints()) == case["endpoints"]
    for step, answer in zip(case["steps"], answers, strict=True):
        given = [answer] if step["do"] == "score" else []
        if step["do"] in {"race", "score_many"}:
            given = [row["ok"] for row in answer if "ok" in row]
        for score in filter(None, given):
            assert kept[score["request_id"]]["score"] == score["score"]
        if step["do"] == "score_many":
            assert len({score["request_id"] for score in given}) == len(given)
