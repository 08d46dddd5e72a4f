"""The SDK for TypeScript, built and packed; what it does on the wire, test_contract.py proves."""

import html
import json
import re
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from alama.app import openapi
from alama.webhooks.examples import SECRET
from tests.browser import chromium, needs_chromium
from tests.databases import sqlite_url
from tests.e2e.service import COMPACT, Service

SDK = Path(__file__).parents[2] / "sdk" / "typescript"
README = (SDK / "README.md").read_text("utf-8")
CODES = (SDK.parents[1] / "docs" / "generated" / "codes.md").read_text("utf-8")
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
}
SENT = {
    "ApplicationFields": "Application",
    "NewOutcome": "NewOutcome",
    "NewLoanEvent": "NewLoanEvent",
    "NewReview": "NewReview",
    "NewEndpoint": "NewWebhookEndpoint",
}

# What the README takes as given, after its first example.
GIVEN = """
const applications = [application, { ...application, region: "Nyeri" }];
const kept: string[] = [];
const keep = (secret: string) => kept.push(secret);
"""
# What its receiver has to do, once it is there.
RECEIVED = """
assert.deepEqual(kept, [endpoint.secret]);
const statusOf = async (body: string, secret: string) => {
  const headers = await signWebhook(body, "evt_1", secret);
  const request = new Request("http://localhost/hook", { method: "POST", headers, body });
  return (await receive(request)).status;
};
assert.equal(await statusOf(body, endpoint.secret), 204);
assert.equal(await statusOf(body, fake.secret), 400);
assert.ok(why.reasons?.length && explanation.reasons.length);
assert.ok(explanation.counterfactuals.length > 0 && explanation.counterfactuals.length <= 2);
assert.equal(stored.outcome?.date, today);
assert.match(test.event, /^evt_/);
console.log(JSON.stringify([score, once, explained, health, ours].length));
"""

PAGE = """<!doctype html><pre id="found">nothing</pre><script type="module">
import { Alama, InvalidApplication, InvalidSignature, verifyWebhook } from "./dist/index.js";
import { FakeAlama } from "./dist/testing.js";
const found = {};
try {
  const { url, key, secret, headers, body, application } = GIVEN;
  const alama = new Alama(url, { key });
  found.score = await alama.score(application);
  found.listed = [];
  for await (const each of alama.listScores()) found.listed.push(each.request_id);
  found.many = [];
  const twice = [application, application];
  for await (const { score } of alama.scoreMany(twice)) found.many.push(score.score);
  const wrong = await alama.score({ ...application, mobile_money_months: 0.5 }).catch((e) => e);
  found.wrong = [wrong instanceof InvalidApplication, wrong.errors.map((each) => each.field)];
  const event = await verifyWebhook(body, headers, secret, { toleranceS: Infinity });
  found.event = [event.type, event.data.message];
  const forged = await verifyWebhook(body + " ", headers, secret).catch((e) => e);
  found.forged = forged instanceof InvalidSignature;
  found.fake = (await new FakeAlama().client().score(application)).decision;
} catch (error) {
  found.error = String(error);
}
document.getElementById("found").textContent = JSON.stringify(found);
</script>"""

pytestmark = [pytest.mark.long]


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    """Whatever is missing fails here, and says what it is."""
    assert shutil.which("npm") is not None, "npm is not here: install Node.js 18 or newer"
    assert (SDK / "dist" / "index.js").exists(), "the SDK is not built: make sdk"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    home = tmp_path_factory.mktemp("typescript")
    with Service(sqlite_url(home), home, 1, None).running() as running:
        yield running


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project of a user, who has the package as npm would publish it, and types of Node alone."""
    home = tmp_path_factory.mktemp("project")
    run("npm", "pack", "--pack-destination", home, "--loglevel=error", where=SDK)
    (packed,) = home.glob("*.tgz")
    modules = home / "node_modules"
    with tarfile.open(packed) as archive:
        archive.extractall(modules, filter="data")
    (modules / "@alama").mkdir()
    (modules / "package").rename(modules / "@alama" / "client")
    for theirs in ("@types", "undici-types"):
        (modules / theirs).symlink_to(SDK / "node_modules" / theirs)
    (home / "package.json").write_text('{"type": "module"}', "utf-8")
    return home


def run(*command: str | Path, where: Path) -> str:
    finished = subprocess.run(
        command, cwd=where, capture_output=True, text=True, check=False, timeout=300
    )
    assert finished.returncode == 0, finished.stdout[-8000:] + finished.stderr[-8000:]
    return finished.stdout


def test_its_own_tests_hold() -> None:
    assert "# fail 0" in run(
        "node", "--test", "--test-reporter=tap", "build/test/client.test.js", where=SDK
    )


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def addressed(text: str, service: Service) -> str:
    text = text.replace("https://scores.example.com", service.server.url)
    return text.replace("alama_test_...", service.key())


def test_the_start_of_the_readme_installs_compiles_and_runs(
    service: Service, tmp_path: Path
) -> None:
    (tmp_path / "alama").symlink_to(SDK.parents[1])
    project = tmp_path / "loans"
    project.mkdir()
    for name, text in zip(("package.json", "tsconfig.json"), blocks("json"), strict=True):
        (project / name).write_text(text, "utf-8")
    (project / "loans.ts").write_text(addressed(blocks("ts")[0], service), "utf-8")
    (commands,) = blocks("sh")
    said = run("sh", "-ec", commands, where=project)
    assert re.search(r"^APPROVED \d+ req_[0-9a-f]{28}$", said, re.MULTILINE), said


def test_the_readme_says_what_each_method_gives() -> None:
    methods = asked("client", "Object.getOwnPropertyNames(kinds.Alama.prototype)")
    (_, table) = README.split("| call | gives |\n|---|---|\n")
    rows = re.findall(r"^\| `(\w+)\(", table, re.MULTILINE)
    assert sorted(rows) == sorted(set(methods) - {"constructor"} | {"verifyWebhook"})


def test_the_examples_of_the_readme_compile_and_run_against_the_service(
    installed: Path, service: Service
) -> None:
    samples = blocks("ts")
    assert len(samples) == 11
    text = addressed("".join((samples[0], GIVEN, *samples[1:], RECEIVED)), service)
    signing = 'import { signWebhook } from "./node_modules/@alama/client/dist/webhooks.js";\n'
    (installed / "readme.ts").write_text(signing + text, "utf-8")
    tsc = SDK / "node_modules" / ".bin" / "tsc"
    strict = ("--strict", "--target", "es2022", "--module", "nodenext", "--types", "node")
    run(tsc, *strict, "--lib", "es2022", "readme.ts", where=installed)
    said = run("node", "readme.js", where=installed)
    assert re.match(r"APPROVED \d+ req_[0-9a-f]{28}\n", said), said
    assert "mobile_money_months wrong_type" in said, said
    assert re.search(r"^recorded$", said, re.MULTILINE), said
    assert "before_the_loan" not in said, said


def test_the_package_has_no_dependency_and_no_test(installed: Path) -> None:
    package = installed / "node_modules" / "@alama" / "client"
    assert "dependencies" not in json.loads((package / "package.json").read_text("utf-8"))
    folders = {path.relative_to(package).parts[0] for path in package.rglob("*") if path.is_file()}
    assert folders == {"README.md", "dist", "package.json", "src"}


def test_the_lock_names_no_registry() -> None:
    # Everyone installs from the registry that their npm is set up with, often a mirror.
    assert "resolved" not in (SDK / "package-lock.json").read_text("utf-8")


# ------------------------------------------------------------------------------- beside the service


def test_every_code_of_the_service_has_a_class_and_no_other_has() -> None:
    show = "Object.values(kinds).map(({ name, code, status }) => [name, code, status])"
    kinds = asked("problems", show)
    table = re.findall(r"^\| `(\w+)` \| (\d{3}) \|", CODES, re.MULTILINE)
    assert {code: status for _, code, status in kinds} == {code: int(s) for code, s in table}
    for name, code, _ in kinds:
        assert name == "".join(word.capitalize() for word in code.split("_"))


def test_answers_have_the_members_of_the_document() -> None:
    required = "Object.entries(shape).map(([name, is]) => [name, !is(undefined)])"
    shapes = asked(
        "shapes",
        f"{json.dumps(list(SCHEMA_OF))}.map((name) => kinds[name]).map((shape) => {required})",
    )
    for shape, schema in zip(shapes, SCHEMA_OF.values(), strict=True):
        assert {name for name, _ in shape} >= set(SCHEMAS[schema]["properties"]), schema
        assert {name for name, is_required in shape if is_required} == set(
            SCHEMAS[schema]["required"]
        ), schema


@pytest.mark.parametrize(("kind", "schema"), SENT.items(), ids=SENT)
def test_what_is_sent_has_the_members_of_the_document(kind: str, schema: str) -> None:
    source = (SDK / "src" / "answers.ts").read_text("utf-8")
    (members,) = re.findall(
        rf"^export interface {kind} \{{\n(.*?)^\}}", source, re.MULTILINE | re.DOTALL
    )
    assert set(re.findall(r"^  (\w+)\??:", members, re.MULTILINE)) == set(
        SCHEMAS[schema]["properties"]
    )


def test_every_event_of_the_document_is_typed() -> None:
    told = {
        kind: (
            json.dumps(post["requestBody"]["content"]["application/json"]["example"]),
            {header["name"]: header["example"] for header in post["parameters"]},
        )
        for kind, post in ((kind, path["post"]) for kind, path in DOCUMENT["webhooks"].items())
    }
    # They are signed here, for they are written in another way than they were.
    verify = f"""await Promise.all(Object.values({json.dumps(told)}).map(async ([body]) => {{
      const headers = await kinds.signWebhook(body, "evt_1", {json.dumps(SECRET)});
      return (await kinds.verifyWebhook(body, headers, {json.dumps(SECRET)})).type;
    }}))"""
    assert asked("webhooks", verify) == list(told)


def asked(module: str, expression: str) -> Any:
    program = (
        f'import * as kinds from "./dist/{module}.js"; console.log(JSON.stringify({expression}))'
    )
    return json.loads(run("node", "--input-type=module", "--eval", program, where=SDK))


# ------------------------------------------------------------------------------- in a browser


@needs_chromium
def test_the_module_runs_in_a_browser_as_it_is(service: Service, tmp_path: Path) -> None:
    kind = DOCUMENT["webhooks"]["webhook.test"]["post"]
    example = kind["requestBody"]["content"]["application/json"]["example"]
    given = {
        "url": service.server.url,
        "key": service.key(),
        "secret": SECRET,
        "headers": {header["name"]: header["example"] for header in kind["parameters"]},
        "body": json.dumps(example, separators=(",", ":")),
        "application": COMPACT,
    }
    shutil.copytree(SDK / "dist", tmp_path / "dist")
    page = tmp_path / "page.html"
    page.write_text(PAGE.replace("GIVEN", json.dumps(given)), "utf-8")
    # A page of a file may ask nobody: one of a lender comes from the address that it asks.
    shown = chromium(tmp_path, "--disable-web-security", "--dump-dom", page.as_uri())
    written = re.search(r'id="found">(\{.*?\})</pre>', shown)
    assert written is not None, shown[-2000:]
    found = json.loads(html.unescape(written[1]))
    assert "error" not in found, found["error"]
    assert found["score"]["decision"] == "APPROVED"
    assert found["score"]["request_id"] in found["listed"]
    assert found["many"] == [found["score"]["score"]] * 2
    assert found["wrong"] == [True, ["mobile_money_months"]]
    assert found["event"] == ["webhook.test", example["data"]["message"]]
    assert found["forged"]
    assert found["fake"] == "APPROVED"
