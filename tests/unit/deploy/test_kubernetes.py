"""The manifests keep to the schemas of Kubernetes, to its strictest rules for pods, and agree."""

from __future__ import annotations

import base64
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import alama
from alama.platform import settings
from tests.unit.deploy.deployed import DEPLOY, ROOT, documents, judge_by_schema

FOLDER = DEPLOY / "kubernetes"
FILES = sorted(path for path in FOLDER.glob("*.yaml") if path.name != "kustomization.yaml")
KUSTOMIZATION = documents(FOLDER / "kustomization.yaml")[0]
OBJECTS = [found for path in FILES for found in documents(path)]
OPTIONAL = {"backup.yaml", "traces.yaml", "train.yaml"}
VERSIONS = ["1.37.0", "1.31.0"]


def of_kind(kind: str) -> dict[str, dict[str, Any]]:
    return {found["metadata"]["name"]: found for found in OBJECTS if found["kind"] == kind}


DEPLOYMENTS = of_kind("Deployment")
PODS = {name: found["spec"]["template"] for name, found in DEPLOYMENTS.items()}
CONTAINERS = {
    f"{name}/{container['name']}": container
    for name, pod in PODS.items()
    for container in [*pod["spec"].get("initContainers", []), *pod["spec"]["containers"]]
}
SETTINGS: dict[str, str] = of_kind("ConfigMap")["alama"]["data"]


def selected(labels: Mapping[str, str]) -> list[str]:
    """The deployments whose pods have all these labels."""
    return [
        name for name, pod in PODS.items() if labels.items() <= pod["metadata"]["labels"].items()
    ]


def test_the_schemas_of_kubernetes_are_kept() -> None:
    versions = [word for version in VERSIONS for word in ("-k", version)]
    printed = judge_by_schema("kubernetes-validate", "--strict", *versions, *FILES)
    assert printed.count(" passed for resource ") == len(OBJECTS) * len(VERSIONS)


def test_the_schemas_of_kubernetes_would_find_something(tmp_path: Path) -> None:
    text = (FOLDER / "service.yaml").read_text("utf-8")
    wrong = tmp_path / "service.yaml"
    wrong.write_text(text.replace("selector:", "chosen:"), "utf-8")
    with pytest.raises(AssertionError, match="chosen"):
        judge_by_schema("kubernetes-validate", "--strict", "-k", VERSIONS[0], wrong)


def test_the_kustomization_names_every_file_but_those_that_are_optional() -> None:
    assert set(KUSTOMIZATION["resources"]) == {path.name for path in FILES} - OPTIONAL
    assert {image["newTag"] for image in KUSTOMIZATION["images"]} == {alama.__version__}


def test_everything_is_in_the_one_namespace_under_the_strictest_rules() -> None:
    labels = of_kind("Namespace")["alama"]["metadata"]["labels"]
    for mode in ("enforce", "audit", "warn"):
        assert labels[f"pod-security.kubernetes.io/{mode}"] == "restricted"
    rest = [found["metadata"] for found in OBJECTS if found["kind"] != "Namespace"]
    assert {found["namespace"] for found in rest} == {"alama"}


@pytest.mark.parametrize("name", sorted(PODS))
def test_every_pod_is_closed(name: str) -> None:
    spec = PODS[name]["spec"]
    security = spec["securityContext"]
    assert security["runAsNonRoot"] is True
    assert {security[field] for field in ("runAsUser", "runAsGroup", "fsGroup")} == {10001}
    assert security["seccompProfile"] == {"type": "RuntimeDefault"}
    assert spec["automountServiceAccountToken"] is False
    assert spec["serviceAccountName"] in of_kind("ServiceAccount")
    # Otherwise Kubernetes sets ALAMA_PORT=tcp://..., for there is a Service called alama.
    assert spec["enableServiceLinks"] is False
    secret = next(volume["secret"] for volume in spec["volumes"] if "secret" in volume)
    assert secret["defaultMode"] == 0o440
    bounded = [volume["emptyDir"] for volume in spec["volumes"] if "emptyDir" in volume]
    assert all("sizeLimit" in folder for folder in bounded)


@pytest.mark.parametrize("name", sorted(CONTAINERS))
def test_every_container_is_closed_bounded_and_of_this_version(name: str) -> None:
    container = CONTAINERS[name]
    security = container["securityContext"]
    assert security["readOnlyRootFilesystem"] is True
    assert security["allowPrivilegeEscalation"] is False
    assert security["capabilities"] == {"drop": ["ALL"]}
    assert {"cpu", "memory"} == container["resources"]["limits"].keys()
    assert {"cpu", "memory"} == container["resources"]["requests"].keys()
    image, _, tag = container["image"].partition(":")
    assert tag == alama.__version__
    assert image in {entry["name"] for entry in KUSTOMIZATION["images"]}
    assert container["envFrom"] == [{"configMapRef": {"name": "alama"}}]
    assert "env" not in container
    if not name.endswith("/migrate"):
        assert {"startupProbe", "livenessProbe"} <= container.keys()


def test_a_database_that_is_away_takes_traffic_away_and_restarts_nothing() -> None:
    serve = CONTAINERS["alama-serve/serve"]
    assert serve["livenessProbe"]["httpGet"]["path"] == "/livez"
    assert serve["startupProbe"]["httpGet"]["path"] == "/livez"
    assert serve["readinessProbe"]["httpGet"]["path"] == "/readyz"


def test_a_stop_has_the_time_that_it_may_take() -> None:
    chosen = settings.read(SETTINGS)
    for pod in PODS.values():
        (container,) = pod["spec"]["containers"]
        pause = container.get("lifecycle", {}).get("preStop", {}).get("exec", {})
        pause_s = int(pause["command"][1]) if pause else 0
        assert pod["spec"]["terminationGracePeriodSeconds"] > pause_s + chosen.stop_timeout
    assert CONTAINERS["alama-serve/serve"]["lifecycle"]["preStop"]["exec"]["command"][0] == "sleep"
    assert DEPLOYMENTS["alama-serve"]["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"] == 0


def test_settings_are_ones_that_alama_knows_and_agree_with_ports_and_mounts() -> None:
    chosen = settings.read(SETTINGS)
    assert (chosen.database, chosen.pepper, chosen.master_key) == (None, None, None)
    ports = {
        port["name"]: port["containerPort"] for port in CONTAINERS["alama-serve/serve"]["ports"]
    }
    assert ports == {"http": chosen.port, "metrics": chosen.metrics_port}
    for container in CONTAINERS.values():
        mounts = {mount["name"]: mount for mount in container["volumeMounts"]}
        assert mounts["secrets"]["readOnly"] is True
        place = mounts["secrets"]["mountPath"]
        for file in (chosen.database_file, chosen.pepper_file, chosen.master_key_file):
            assert file is not None
            assert file.startswith(f"{place}/")
        assert mounts["home"]["mountPath"] == "/var/lib/alama"


def test_the_backup_is_closed_reaches_the_database_and_is_one_that_sh_reads() -> None:
    pod = of_kind("CronJob")["alama-backup"]["spec"]["jobTemplate"]["spec"]["template"]
    (container,) = pod["spec"]["containers"]
    serve = PODS["alama-serve"]["spec"]
    assert pod["spec"]["securityContext"] == serve["securityContext"]
    assert container["securityContext"] == serve["containers"][0]["securityContext"]
    assert {"cpu", "memory"} == container["resources"]["limits"].keys()
    reached = of_kind("NetworkPolicy")["database"]["spec"]["podSelector"]["matchLabels"]
    assert reached.items() <= pod["metadata"]["labels"].items()
    compose = documents(DEPLOY / "compose.yaml")[0]
    assert container["image"] == compose["services"]["postgres"]["image"]
    (script,) = container["args"]
    subprocess.run(["/bin/sh", "-n", "-c", script], check=True)
    backup = (ROOT / "docs" / "operating" / "backup.md").read_text("utf-8")
    (options,) = re.findall(r"^pg_dump (--format=.*?) --dbname", backup, re.MULTILINE)
    assert options in script
    address = settings.read(SETTINGS).database_file
    assert f"$(cat {address})" in script


def test_no_literal_secret_stands_anywhere() -> None:
    assert not of_kind("Secret")
    text = "\n".join(path.read_text("utf-8") for path in FILES)
    text = re.sub(r"@sha256:[0-9a-f]{64}$", "", text, flags=re.MULTILINE)
    assert not re.search(r"[0-9a-f]{32}|postgresql://|BEGIN ", text)
    for word in re.findall(r"[A-Za-z0-9+/]{40,}={0,2}", text):
        assert not base64.b64decode(word + "==").isascii(), word


def test_selectors_find_the_pods_they_are_for() -> None:
    for name, found in DEPLOYMENTS.items():
        assert selected(found["spec"]["selector"]["matchLabels"]) == [name]
    assert selected(of_kind("Service")["alama"]["spec"]["selector"]) == ["alama-serve"]
    budget = of_kind("PodDisruptionBudget")["alama-serve"]["spec"]
    assert selected(budget["selector"]["matchLabels"]) == ["alama-serve"]
    scaler = of_kind("HorizontalPodAutoscaler")["alama-serve"]["spec"]
    assert scaler["scaleTargetRef"]["name"] == "alama-serve"
    assert "replicas" not in DEPLOYMENTS["alama-serve"]["spec"]  # the scaler's alone
    assert scaler["minReplicas"] > budget["minAvailable"]


def test_the_network_is_closed_but_for_what_is_named() -> None:
    rules = {name: found["spec"] for name, found in of_kind("NetworkPolicy").items()}
    closed = rules.pop("default-deny")
    assert closed == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    pods = {name: selected(rule["podSelector"]["matchLabels"]) for name, rule in rules.items()}
    everyone = ["alama-serve", "alama-train", "alama-worker"]
    assert {name: sorted(found) for name, found in pods.items()} == {
        "requests": ["alama-serve"],
        "metrics": everyone,
        "database": everyone,
        "webhooks": ["alama-train", "alama-worker"],
        "traces": everyone,
    }
    chosen = settings.read(SETTINGS)
    assert rules["requests"]["ingress"][0]["ports"][0]["port"] == chosen.port
    assert rules["metrics"]["ingress"][0]["ports"][0]["port"] == chosen.metrics_port
    assert all("ports" in way for rule in rules.values() for way in rule.get("egress", []))


def test_the_ingress_is_for_any_controller_has_tls_and_leads_to_no_probe() -> None:
    ingress = of_kind("Ingress")["alama"]
    assert "annotations" not in ingress["metadata"]
    spec = ingress["spec"]
    assert "ingressClassName" not in spec
    (rule,) = spec["rules"]
    assert spec["tls"] == [{"hosts": [rule["host"]], "secretName": "alama-tls"}]
    ports = {port["name"] for port in of_kind("Service")["alama"]["spec"]["ports"]}
    for path in rule["http"]["paths"]:
        assert path["backend"]["service"]["name"] == "alama"
        assert path["backend"]["service"]["port"]["name"] in ports
    assert {path["path"] for path in rule["http"]["paths"]} == {
        "/v1",
        "/api/v1",
        "/docs",
        "/openapi.json",
    }
