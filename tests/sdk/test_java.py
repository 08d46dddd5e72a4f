"""The SDK for Java by itself; what it does on the wire, test_contract.py proves."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from alama.app import openapi
from alama.platform.http.problem_codes import PROBLEMS
from alama.webhooks.examples import SECRET
from alama_client.webhooks import sign_webhook
from sdk.contract.runner import SDK, Driver
from tests.databases import sqlite_url
from tests.e2e.service import Service

JAVA = SDK / "java"
CLASSES = f"{JAVA}/build/main:{JAVA}/build/test"
SOURCE = JAVA / "src" / "test" / "java" / "dev" / "alama" / "client" / "ClientTest.java"
TESTS = re.findall(r"^    void (\w+)\(\)", SOURCE.read_text("utf-8"), re.MULTILINE)
README = (JAVA / "README.md").read_text("utf-8")
DOCUMENT: dict[str, Any] = openapi.document()
SCHEMAS: dict[str, Any] = DOCUMENT["components"]["schemas"]

SCHEMA_OF = {
    "ShapValue": "ShapValue",
    "Reason": "Reason",
    "PriceParts": "PriceParts",
    "Aprs": "AprDefinitions",
    "Payment": "ScheduledPayment",
    "Schedule": "ScheduleDetail",
    "Offer": "OfferDetail",
    "Score": "ScoreReply",
    "Review": "ScoreReview",
    "Outcome": "ScoreOutcome",
    "StoredScore": "ScoreRecord",
    "ListedScore": "ScoreListed",
    "OutcomeResult": "OutcomeResult",
    "LoanResult": "LoanResult",
    "ExplainedValue": "ExplainedValue",
    "Change": "Change",
    "Counterfactual": "Counterfactual",
    "Obstacle": "Obstacle",
    "Explanation": "ExplainReply",
    "Health": "Health",
    "OwnKey": "OwnKey",
    "Pending": "PendingDeliveries",
    "WebhookEndpoint": "WebhookEndpoint",
    "NewWebhookEndpoint": "WebhookEndpointCreated",
    "TestSent": "TestSent",
    "Drift": "DriftName",
}

# One group, so that the JVM that runs all of them is started once.
pytestmark = [pytest.mark.long, pytest.mark.xdist_group("sdk-java")]


def java(*command: str) -> str:
    """Run a program; where Java is missing or nothing was built, `make sdk` says why."""
    ran = subprocess.run(
        command, check=False, capture_output=True, text=True, encoding="utf-8", timeout=300
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@pytest.fixture(scope="module")
def ran() -> dict[str, str]:
    """What each test of the client printed, which is nothing where it passed."""
    said = java("java", "-classpath", CLASSES, "dev.alama.client.ClientTest")
    return dict(re.findall(r"^# (\w+)\n((?:[^#].*\n)*)", said, re.MULTILINE))


@pytest.mark.parametrize("name", TESTS)
def test_the_client_by_itself(name: str, ran: dict[str, str]) -> None:
    assert not ran[name], ran[name]


def test_no_test_of_the_client_is_forgotten(ran: dict[str, str]) -> None:
    assert sorted(ran) == sorted(TESTS)
    assert len(TESTS) >= 40


# ------------------------------------------------------------------------------- beside the service


@pytest.fixture(scope="module")
def shapes() -> Any:
    return json.loads(java("java", "-classpath", CLASSES, "dev.alama.client.Shapes"))


def test_every_code_of_the_service_has_a_class_and_no_other_has(shapes: Any) -> None:
    page = SDK.parent / "docs" / "generated" / "codes.md"
    table = re.findall(r"^\| `(\w+)` \| (\d{3}) \|", page.read_text("utf-8"), re.MULTILINE)
    ours = {code: status for code, (status, _) in shapes["codes"].items()}
    assert ours == {code: int(status) for code, status in table}
    assert set(ours) == set(PROBLEMS)
    assert sorted(name for _, name in shapes["codes"].values()) == sorted(shapes["problems"])


@pytest.mark.parametrize("kind", SCHEMA_OF)
def test_answers_have_the_members_of_the_document(kind: str, shapes: Any) -> None:
    ours, schema = shapes["answers"][kind], SCHEMAS[SCHEMA_OF[kind]]
    assert set(ours) >= set(schema["properties"])
    assert {name for name, required in ours.items() if required} <= set(schema["required"])
    # What may be null is not taken for granted.
    for name, member in schema["properties"].items():
        assert not (ours[name] and "null" in member.get("type", ())), name


def test_every_answer_is_compared(shapes: Any) -> None:
    assert set(shapes["answers"]) == set(SCHEMA_OF)


def test_applications_have_the_fields_of_the_document(shapes: Any) -> None:
    assert set(shapes["application"]) == set(SCHEMAS["Application"]["properties"])


def test_the_fake_answers_in_the_shapes_of_the_document(shapes: Any) -> None:
    for schema, names in shapes["fake"]:
        assert set(SCHEMAS[schema]["required"]) <= set(names), schema
        assert set(names) <= set(SCHEMAS[schema]["properties"]), schema
    usual, expanded = (set(names) for _, names in shapes["fake"][:2])
    assert usual == set(SCHEMAS["ScoreReply"]["required"])
    assert expanded - usual == {"offer", "reasons", "schedule"}


def test_the_version_is_the_same_everywhere(shapes: Any) -> None:
    version = shapes["version"]
    assert f"<version>{version}</version>" in (JAVA / "pom.xml").read_text("utf-8")
    assert README.count(version) == README.count("alama-client-") + README.count("alama-client:")
    assert (JAVA / "build" / f"alama-client-{version}.jar").is_file()


@pytest.fixture(scope="module")
def driver() -> Iterator[Driver]:
    with Driver(JAVA / "driver.sh", os.environ) as started:
        yield started


@pytest.mark.parametrize("kind", DOCUMENT["webhooks"])
def test_every_event_of_the_document_is_typed(kind: str, driver: Driver) -> None:
    told = DOCUMENT["webhooks"][kind]["post"]["requestBody"]["content"]["application/json"]
    example = told["example"]
    body = json.dumps(example)
    headers = sign_webhook(body.encode(), "evt_1", SECRET)
    event = driver.ask(
        {
            "do": "verify_webhook",
            "base_url": "http://127.0.0.1:1",
            "key": None,
            "timeout_s": 1,
            "total_s": 1,
            "retries": 0,
            "args": {"secrets": [SECRET], "headers": headers, "body": body},
        }
    )["ok"]
    words = re.split(r"[._]", kind)
    assert event["event"] == "".join(word.capitalize() for word in words) + "Event"
    assert event["type"] == kind
    assert example["data"].items() <= event["data"].items()


# ------------------------------------------------------------------------------- what is promised


def test_without_a_jdk_the_build_says_what_to_install(tmp_path: Path) -> None:
    for tool in ("dirname", "sh"):
        (tmp_path / tool).symlink_to(str(shutil.which(tool)))
    path = {"PATH": str(tmp_path)}
    ran = subprocess.run([JAVA / "build.sh"], check=False, env=path, capture_output=True, text=True)
    assert ran.returncode == 1
    assert "apt-get install default-jdk-headless" in ran.stderr


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with Service(sqlite_url(tmp_path), tmp_path, 1, None).running() as started:
        yield started


def test_the_readme_has_every_method_and_what_it_returns() -> None:
    client = (JAVA / "src/main/java/dev/alama/client/Alama.java").read_text("utf-8")
    ours = re.findall(r"^    public (?!static)(\S+) (\w+)\(", client, re.MULTILINE)
    rows = re.findall(r"^\| (`\w+\(.*?) \| `(\S+)` \|", README, re.MULTILINE)
    told = {(returns, name) for row, returns in rows for name in re.findall(r"`(\w+)\(", row)}
    assert told == set(ours) - {("String", "toString")}


def test_the_readme_says_how_large_the_jar_is() -> None:
    (said,) = re.findall(r"less than (\d+) kB", README)
    (jar,) = (JAVA / "build").glob("alama-client-*.jar")
    assert 0.85 < jar.stat().st_size / (1000 * int(said)) < 1


PROGRAM = """
import java.net.http.HttpClient;
import java.time.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.function.Function;
import java.util.stream.*;
import dev.alama.client.*;
%(imports)s

class Readme {
    static Application application(int months, double inflow, double share) {
        return Application.builder()
                .mobileMoneyMonths(months)
                .monthlyInflow(inflow)
                .stabilityScore(share)
                .airtimeRegularity(share)
                .build();
    }

    Alama alama = new Alama("https://scores.example.com", "alama_test_...");
    Application application = application(24, 18_500, 0.7);
    List<Application> applications = List.of(application, application(12, 9_000, 0.5));
    Score score = alama.score(application);
    ExecutorService executor = Executors.newCachedThreadPool();
    String secret = FakeAlama.SECRET;
    List<String> kept = new ArrayList<>();

    void keep(String text) {
        kept.add(text);
    }

%(methods)s

    public static void main(String[] arguments) throws Exception {
        Readme readme = new Readme();
%(calls)s
        FakeAlama.Webhook webhook = new FakeAlama().webhook("score.created", Map.of(
                "request_id", "req_1", "score", 644, "tier", "C",
                "decision", "APPROVED", "model", "m", "policy", "p"));
        assert readme.receive(webhook.body(), webhook.headers()::get) == 204;
        assert readme.receive(new byte[0], webhook.headers()::get) == 400;
        assert readme.kept.get(0).startsWith("whsec_");
        readme.alama = new Alama("https://scores.example.com", "alama_test_unknown");
        %(refused)s
        readme.executor.shutdown();
    }
}
"""


def test_the_examples_of_the_readme_run_against_the_service(
    service: Service, tmp_path: Path
) -> None:
    blocks = re.findall(r"^```java\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 11
    methods, calls, imports, refused = [], [], set(), ""
    for number, block in enumerate(blocks):
        imports |= set(re.findall(r"^import .*;$", block, re.MULTILINE))
        body = re.sub(r"^import .*;\n", "", block, flags=re.MULTILINE)
        if body.strip().startswith("int receive("):
            methods.append(body)
        else:
            methods.append(f"void block{number}() throws Exception {{\n{body}}}\n")
            calls.append(f"readme.block{number}();")
        if "catch (AlamaError error)" in body:
            refused = f"readme.block{number}();"
    program = PROGRAM % {
        "imports": "\n".join(sorted(imports)),
        "methods": "\n".join(methods),
        "calls": "\n".join(calls),
        "refused": refused,
    }
    program = program.replace("https://scores.example.com", service.server.url)
    source = tmp_path / "Readme.java"
    source.write_text(program.replace("alama_test_...", service.key()), "utf-8")
    (jar,) = (JAVA / "build").glob("alama-client-*.jar")
    java("javac", "--release", "17", "-classpath", str(jar), "-d", str(tmp_path), str(source))
    said = java("java", "-ea", "-classpath", f"{jar}:{tmp_path}", "Readme")
    assert re.search(r"^APPROVED \d+(\.\d+)? req_[0-9a-f]{28}$", said, re.MULTILINE)
    assert re.search(r"^monthly_inflow out_of_range ", said, re.MULTILINE)
    assert re.search(r"^1 \d{3}$", said, re.MULTILINE)
    assert re.search(r"^repaid on [0-9-]{10}, default: false$", said, re.MULTILINE)
    assert re.search(r"^https://\S+, enabled: true, pending: 1$", said, re.MULTILINE)
    assert re.search(
        r"^401 key_refused .* \(req_[0-9a-f]{28}\)\ncode key_refused$", said, re.MULTILINE
    )
    assert "Optional" not in said
    listed = service.get("/v1/scores?limit=100").json()["data"]
    assert [each["decision"] for each in listed].count("REVIEW") == 1
    assert service.get("/v1/scores?waiting=true").json()["data"] == []
    assert len(service.get("/v1/webhook_endpoints").json()["data"]) == 1
