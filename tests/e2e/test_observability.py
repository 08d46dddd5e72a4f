"""The alert rules and the dashboard, held against what the service really exposes."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from alama.platform.telemetry.metrics import Metrics
from alama.webhooks.metrics import DeliveryMetrics
from alama.webhooks.records import Backlog, Forgotten
from tests.unit.platform.telemetry.test_formats import KNOWN
from tests.unit.platform.telemetry.test_metrics import Done
from tools import dashboard

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy" / "observability"
DOCS = ROOT / "docs"
PROMQL = ROOT / ".venv-deploy" / "bin" / "python"
PROMTOOL = shutil.which("promtool")

GIVEN = {"up": {"job", "instance"}}
"""What Prometheus itself says of a target."""

TARGET = {"job", "instance"}
"""Labels that Prometheus gives to everything."""

RANGES = {"$__rate_interval": "5m", "$__range": "6h", "$instance": ".*"}
"""What Grafana puts in."""


@cache
def exposed() -> Mapping[str, set[str]]:
    """Every series that a service with a worker exposes, and its labels."""
    registry = CollectorRegistry()
    serving, sending = Metrics(registry), DeliveryMetrics(registry)
    serving.request(KNOWN)
    serving.commit(Done(entries=1, seconds=0.001))
    serving.waiting(0)
    serving.dropped("head")
    sending.attempt("delivered", 0.1)
    sending.backlog(Backlog(0, 0))
    sending.forgot(Forgotten(2, 1, 1, some_left=False))
    sending.challenged(())
    # Of when a series began the service tells nothing: see `Exposition`.
    return {
        sample.name: set(sample.labels)
        for metric in registry.collect()
        for sample in metric.samples
        if not sample.name.endswith("_created")
    }


LOADED = "import json, sys, yaml; print(json.dumps(yaml.safe_load(sys.stdin)))"


@cache
def rules() -> Sequence[dict[str, Any]]:
    loaded = _beside(LOADED, (FOLDER / "alerts.yaml").read_text("utf-8"))
    return [rule for group in loaded["groups"] for rule in group["rules"]]


def _beside(script: str, given: str) -> Any:
    """What a script prints that needs the libraries of .venv-deploy."""
    done = subprocess.run(
        [PROMQL, "-c", script], input=given, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def written() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / "dashboard.json").read_text("utf-8"))
    return found


def panels() -> Sequence[dict[str, Any]]:
    return [panel for panel in written()["panels"] if panel["type"] != "row"]


def expressions() -> Iterator[str]:
    for rule in rules():
        yield rule["expr"]
    for panel in panels():
        for target in panel["targets"]:
            expression = target["expr"]
            for name, value in RANGES.items():
                expression = expression.replace(name, value)
            yield expression


ASKED = """
import json, sys
import promql_parser as promql

def selectors(node):
    if isinstance(node, promql.VectorSelector):
        yield [node.name, [matcher.name for matcher in node.matchers.matchers]]
    for name in ("expr", "lhs", "rhs", "vector_selector", "param"):
        child = getattr(node, name, None)
        if child is not None and not isinstance(child, (str, float)):
            yield from selectors(child)
    for child in getattr(node, "args", None) or ():
        yield from selectors(child)

print(json.dumps([list(selectors(promql.parse(one))) for one in json.load(sys.stdin)]))
"""


@cache
def asked() -> Sequence[Sequence[tuple[str, list[str]]]]:
    """The metrics that each expression asks for, and the labels it chooses by."""
    found: Sequence[Sequence[tuple[str, list[str]]]] = _beside(
        ASKED, json.dumps(list(expressions()))
    )
    return found


def test_every_expression_asks_for_metrics_and_labels_that_are_there() -> None:
    known = {**exposed(), **GIVEN}
    for expression, selectors in zip(expressions(), asked(), strict=True):
        assert selectors, expression
        for name, labels in selectors:
            assert name in known, expression
            assert set(labels) <= known[name] | TARGET, expression


def test_every_label_that_is_grouped_by_or_written_is_there() -> None:
    known = set[str]().union(*exposed().values()) | TARGET
    for expression in expressions():
        for labels in re.findall(r"\bby \(([^)]*)\)", expression):
            assert {label.strip() for label in labels.split(",")} <= known, expression
    legends = {target["legendFormat"] for panel in panels() for target in panel["targets"]}
    for legend in legends:
        assert set(re.findall(r"{{(\w+)}}", legend)) <= known, legend


def test_every_metric_is_shown_on_the_dashboard() -> None:
    shown = {name for selectors in asked()[len(rules()) :] for name, _ in selectors}
    families = {re.sub("_(bucket|sum|count)$", "", name) for name in shown}
    assert {re.sub("_(bucket|sum|count)$", "", name) for name in exposed()} <= families


def test_every_metric_is_documented_with_its_labels() -> None:
    page = (DOCS / "logs-and-metrics.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| `(alama_\w+)` \| \w+ \|([^|]*)\|", page, re.MULTILINE))
    documented = {name: set(re.findall(r"`(\w+)`", labels)) for name, labels in rows.items()}
    plain = {re.sub("_(bucket|sum|count)$", "", name): one for name, one in exposed().items()}
    assert documented == {name: labels - {"le"} for name, labels in plain.items()}


def test_every_alert_leads_to_a_heading_that_is_there() -> None:
    page = (DOCS / "logs-and-metrics.md").read_text("utf-8")
    assert f"Each of the {len(rules())} says" in page
    for rule in rules():
        path, _, anchor = rule["annotations"]["runbook"].partition("#")
        text = (ROOT / path).read_text("utf-8")
        headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
        anchors = {re.sub(r"[^\w -]", "", one.lower()).replace(" ", "-") for one in headings}
        assert not anchor or anchor in anchors, rule["alert"]


def test_every_alert_says_how_bad_it_is_and_what_it_means() -> None:
    for rule in rules():
        assert rule["labels"]["severity"] in {"critical", "warning"}
        assert set(rule["annotations"]) == {"summary", "description", "runbook"}
        assert rule["for"]


def test_the_dashboard_is_what_its_declaration_says() -> None:
    assert (FOLDER / "dashboard.json").read_text("utf-8") == dashboard.text(), (
        "run .venv/bin/python -m tools.dashboard"
    )


def test_the_dashboard_can_be_imported_anywhere() -> None:
    found = written()
    assert found["schemaVersion"] >= 39
    assert not {"id", "uid"} & set(found)  # given by whoever imports it
    assert [one["name"] for one in found["templating"]["list"]] == ["datasource", "instance"]
    ids = [panel["id"] for panel in found["panels"]]
    assert len(ids) == len(set(ids))
    for panel in panels():
        assert panel["datasource"]["uid"] == "${datasource}"
        assert panel["title"]
        assert panel["description"].endswith(".")
        assert panel["fieldConfig"]["defaults"]["unit"]
        references = [target["refId"] for target in panel["targets"]]
        assert len(references) == len(set(references))
        assert all("$instance" in target["expr"] for target in panel["targets"])


def test_no_panel_covers_another() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in written()["panels"]:
        place = panel["gridPos"]
        cells = {
            (place["x"] + right, place["y"] + down)
            for right in range(place["w"])
            for down in range(place["h"])
        }
        assert not cells & taken, panel["title"]
        assert place["x"] + place["w"] <= 24
        taken |= cells


# ----------------------------------------------------------------------------- the rules at work

needs_promtool = pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed")

MINUTES = 180
USUAL = {
    'up{job="alama",instance="a"}': "1x180",
    'alama_build_info{version="1",instance="a"}': "1x180",
    'alama_webhook_backlog{of="events",instance="a"}': "0x180",
    'alama_webhook_backlog{of="deliveries",instance="a"}': "3x180",
    'alama_requests_total{route="/v1/score",status="200",instance="a"}': "0+600x180",
    'alama_request_seconds_bucket{route="/v1/score",le="0.05",instance="a"}': "0+600x180",
    'alama_request_seconds_bucket{route="/v1/score",le="0.1",instance="a"}': "0+600x180",
    'alama_request_seconds_bucket{route="/v1/score",le="+Inf",instance="a"}': "0+600x180",
    'alama_request_seconds_count{route="/v1/score",instance="a"}': "0+600x180",
    'alama_unavailable_total{instance="a"}': "0x180",
    'alama_commit_failures_total{instance="a"}': "0x180",
    'alama_commit_waiting{instance="a"}': "20x180",
    'alama_journal_bytes{instance="a"}': "9e6x180",
    'alama_disk_failed{instance="a"}': "0x180",
    'alama_clock_leap_seconds{instance="a"}': "0x180",
    'alama_clock_host_seconds{instance="a"}': "0x180",
    'alama_retention_waiting{instance="a"}': "0x180",
    'alama_processes{instance="a"}': "2x180",
    'alama_process_starts_total{instance="a"}': "2x180",
    'alama_webhook_attempts_total{outcome="delivered",instance="a"}': "0+60x180",
    'alama_webhook_endpoints_disabled_total{instance="a"}': "0x180",
    'alama_challenger_lag_seconds{instance="a"}': "1x180",
}
"""A service that is well, a sample a minute."""


def other(status: str) -> str:
    return f'alama_requests_total{{route="/v1/score",status="{status}",instance="a"}}'


def attempts(outcome: str) -> str:
    return f'alama_webhook_attempts_total{{outcome="{outcome}",instance="a"}}'


def metric(name: str, labels: str = "") -> str:
    return f'{name}{{{labels}instance="a"}}'


FORGOTTEN = metric("alama_webhook_forgotten_total", 'of="events",')
EVENTS = metric("alama_webhook_backlog", 'of="events",')
FIRES: dict[str, dict[str, str]] = {
    "AlamaDown": {'up{job="alama",instance="b"}': "1x60 0x120"},
    "AlamaErrors": {other("503"): "0+12x180"},
    "AlamaDefect": {other("500"): "_x178 1"},
    "AlamaSlow": {
        'alama_request_seconds_bucket{route="/v1/score",le="0.05",instance="a"}': "0+540x180"
    },
    "AlamaRateLimited": {other("429"): "0+60x180"},
    "AlamaKeysRefused": {other("401"): "0+90x180"},
    "AlamaProcessesDie": {metric("alama_process_starts_total"): "2x165 2+1x15"},
    "AlamaConnectionsUsedUp": {
        metric("alama_connections_dropped_total", 'reason="address",'): "0+9x180"
    },
    "AlamaVersionsDiffer": {'alama_build_info{version="2",instance="b"}': "1x180"},
    "AlamaDatabaseAway": {metric("alama_unavailable_total"): "0x170 0+1x10"},
    "AlamaCommitsFail": {metric("alama_commit_failures_total"): "0x160 0+1x20"},
    "AlamaCommitsWait": {metric("alama_commit_waiting"): "900x180"},
    "AlamaDiskFailed": {metric("alama_disk_failed"): "0x170 1x10"},
    "AlamaJournalHeld": {metric("alama_journal_bytes"): "90e6x180"},
    "AlamaClockLeapt": {metric("alama_clock_leap_seconds"): "0x170 345600x10"},
    "AlamaHostClock": {metric("alama_clock_host_seconds"): "345600x180"},
    "AlamaRetentionWaits": {metric("alama_retention_waiting"): "500x180"},
    "AlamaWebhooksWait": {EVENTS: "5000x180"},
    "AlamaWebhooksFail": {attempts("failed"): "0+90x180"},
    "AlamaEndpointDisabled": {metric("alama_webhook_endpoints_disabled_total"): "0x170 1x10"},
    "AlamaEventsForgotten": {FORGOTTEN: "_x170 4x10"},
    "AlamaChallengerBehind": {metric("alama_challenger_lag_seconds"): "7200x180"},
}
"""What makes each alert fire, and no other, three hours later."""

NIGHT = {name: values.split("+")[0] + "x180" for name, values in USUAL.items() if "+" in values}
QUIET: dict[str, dict[str, str]] = {
    "as usual": {},
    "at night, when nothing happens": NIGHT,
    "two failures at night": NIGHT | {other("503"): "0x177 2x3"},
    "one scrape missed": {'up{job="alama",instance="b"}': "1x179 0"},
    "the database away for a moment": {metric("alama_unavailable_total"): "0x178 40x2"},
    "slow callers": {metric("alama_connections_dropped_total", 'reason="head",'): "0+9x180"},
    "one commit failed": {metric("alama_commit_failures_total"): "0x177 1x3"},
    "a defect of yesterday": {other("500"): "3x180"},
    "a slow minute": {
        'alama_request_seconds_bucket{route="/v1/score",le="0.05",instance="a"}': (
            "0+600x178 106800x1"
        )
    },
    "every process replaced once": {metric("alama_process_starts_total"): "2x175 4x5"},
    "an upgrade under way": {'alama_build_info{version="2",instance="b"}': "_x160 1x20"},
    "a full queue for a moment": {metric("alama_commit_waiting"): "20x179 4000"},
    "a backup that reads for a moment": {metric("alama_journal_bytes"): "9e6x179 90e6"},
    "one receiver away among others": {attempts("failed"): "0+20x180"},
    "a few lookups over the rate": {other("429"): "0+6x180"},
    "nothing forgotten": {FORGOTTEN: "_x170 0x10"},
}


def test_every_alert_is_made_to_fire() -> None:
    gone = {"AlamaGone", "AlamaWorkerGone"}
    assert set(FIRES) | gone == {rule["alert"] for rule in rules()}


@needs_promtool
def test_promtool_finds_nothing_wrong_with_the_rules_and_the_configuration() -> None:
    assert PROMTOOL is not None
    for arguments in (
        ["check", "rules", str(FOLDER / "alerts.yaml")],
        ["check", "config", str(FOLDER / "prometheus.yaml")],
    ):
        done = subprocess.run([PROMTOOL, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.long
@needs_promtool
def test_each_alert_fires_when_it_should_and_no_other_does(tmp_path: Path) -> None:
    cases = [([name], USUAL | series) for name, series in FIRES.items()]
    unseen = {name: values for name, values in USUAL.items() if "webhook_backlog" not in name}
    cases.append((["AlamaWorkerGone"], unseen))
    down = {name: "1x60 0x120" for name in USUAL if name.startswith("up")}
    cases.append((["AlamaDown", "AlamaGone"], down))
    _run(tmp_path, cases, every="3m")


@pytest.mark.long
@needs_promtool
def test_no_alert_fires_for_what_is_usual_or_passes(tmp_path: Path) -> None:
    _run(tmp_path, [([], USUAL | series) for series in QUIET.values()], every="2m")


def _run(folder: Path, cases: Sequence[tuple[list[str], Mapping[str, str]]], *, every: str) -> None:
    """Hold cases against the rules; to look less often is quicker, and makes alerts fire later."""
    tests = [
        {
            "interval": "1m",
            "input_series": [{"series": name, "values": values} for name, values in series.items()],
            "promql_expr_test": [
                {
                    "expr": 'count by (alertname) (ALERTS{alertstate="firing"})',
                    "eval_time": f"{MINUTES}m",
                    "exp_samples": [
                        {"labels": f'{{alertname="{name}"}}', "value": 1} for name in firing
                    ],
                }
            ],
        }
        for firing, series in cases
    ]
    written = {
        "rule_files": [str(FOLDER / "alerts.yaml")],
        "evaluation_interval": every,
        "tests": tests,
    }
    file = folder / "tests.yaml"
    file.write_text(json.dumps(written), encoding="utf-8")
    done = subprocess.run(
        [str(PROMTOOL), "test", "rules", str(file)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
