"""The image is held to hadolint's rules, and to those of ours that it does not know."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import alama
from tests.images.containerfile import UnknownInstruction, instructions, is_sent, stages
from tests.images.image import CONTAINERFILE, DOCKERIGNORE
from tests.images.wheelhouse import BUILD
from tests.unit.deploy.deployed import ROOT, judge

TEXT = CONTAINERFILE.read_text("utf-8")
STAGES = {stage.name: stage for stage in stages(TEXT)}
TARGETS = ["serve", "train"]


def said(stage: str, name: str) -> list[str]:
    """The values of an instruction in a stage and in those it comes from, the nearest last."""
    found = STAGES[stage]
    before = said(found.origin, name) if found.origin in STAGES else []
    return [*before, *(step.value for step in found.instructions if step.name == name)]


def test_hadolint_finds_nothing_and_is_told_to_overlook_nothing() -> None:
    assert judge("hadolint", "--no-color", CONTAINERFILE).strip() == ""
    assert "hadolint ignore" not in TEXT
    assert not list(ROOT.glob(".hadolint*"))


def test_hadolint_would_find_something(tmp_path: Path) -> None:
    wrong = tmp_path / "Containerfile"
    wrong.write_text("FROM python:latest\nRUN cd /tmp\n", "utf-8")
    with pytest.raises(AssertionError, match="DL3007"):
        judge("hadolint", "--no-color", wrong)


def test_every_foreign_base_is_pinned_by_digest() -> None:
    foreign = [stage.origin for stage in STAGES.values() if stage.origin not in STAGES]
    assert len(foreign) == 1
    assert re.fullmatch(r"docker\.io/library/python:3\.13-slim-\w+@sha256:[0-9a-f]{64}", foreign[0])


@pytest.mark.parametrize("target", TARGETS)
def test_it_runs_as_a_number_that_is_not_root(target: str) -> None:
    # By number: Kubernetes cannot tell of a name that it is not root.
    assert said(target, "USER")[-1] == "10001:10001"


@pytest.mark.parametrize("target", TARGETS)
def test_no_secret_is_baked_in(target: str) -> None:
    for stage in STAGES:
        for value in [*said(stage, "ENV"), *said(stage, "ARG")]:
            assert not re.search(r"PEPPER|MASTER|DATABASE|PASSWORD|TOKEN|SECRET", value), target


def test_what_serves_is_asked_whether_it_is_well() -> None:
    assert "/livez" in said("serve", "HEALTHCHECK")[-1]
    assert "curl" not in TEXT
    assert "wget" not in TEXT


@pytest.mark.parametrize("target", TARGETS)
def test_an_image_carries_one_environment(target: str) -> None:
    copied = [value for value in said(target, "COPY") if "/opt/alama" in value]
    assert copied == ["/opt/alama /opt/alama"]


def test_no_training_library_gets_into_the_image_that_serves() -> None:
    copied = [step for step in STAGES["serve"].instructions if step.name == "COPY"]
    assert [step.flags.get("from") for step in copied] == ["build"]
    assert not any("train" in value for value in [*said("build", "RUN"), *said("build", "COPY")])
    assert any("train.txt" in value for value in said("build-train", "RUN"))


def test_the_guide_is_that_of_the_pages_and_its_generator_stays_behind() -> None:
    steps = [step for step in STAGES["build"].instructions if step.name in ("COPY", "RUN")]
    copied = [(step.flags.get("from"), step.value) for step in steps]
    at = copied.index((None, "src src"))
    # One that lies in the checkout may be of other pages.
    assert copied[at + 1] == (None, "rm -rf src/alama/guide")
    assert copied[at + 2] == ("guide", "/site src/alama/guide")
    assert STAGES["guide"].origin == "base"
    assert [source for source, _ in copied if source] == ["guide"]


def test_the_guide_gets_every_page_and_every_file_that_a_page_links_to() -> None:
    copied = [
        ROOT / source
        for step in STAGES["guide"].instructions
        if step.name == "COPY"
        for source in step.value.split()[:-1]
    ]
    files = {file for path in copied for file in (path, *path.rglob("*"))}
    linked = {
        (page.parent / link).resolve()
        for page in files
        if page.suffix == ".md"
        for link in re.findall(r"\]\((?!\w+:)([^)#\s]+)", page.read_text("utf-8"))
    }
    assert sorted(str(path) for path in linked - files) == []
    assert {*ROOT.glob("sdk/*/README.md"), *ROOT.glob("recipes/*/README.md")} <= files


@pytest.mark.parametrize("target", TARGETS)
def test_a_final_stage_installs_nothing(target: str) -> None:
    runs = [step.value for step in STAGES[target].instructions if step.name == "RUN"]
    assert not any(re.search(r"pip install|apt|venv", value) for value in runs)


@pytest.mark.parametrize(("stage", "count"), [("guide", 1), ("build-train", 4)])
def test_all_that_is_installed_is_locked_by_hash_or_our_own_wheel(stage: str, count: int) -> None:
    installs = re.findall(r"install --no-compile ([^&]*)", " && ".join(said(stage, "RUN")))
    assert len(installs) == count
    for options in installs:
        locked = "--require-hashes" in options and "--only-binary :all:" in options
        assert locked or options.split() == ["--no-deps", "/wheel/*.whl"]
    assert f"({BUILD})" in TEXT


def test_the_version_is_that_of_the_package() -> None:
    assert f"VERSION={alama.__version__}" in said("serve", "ARG")


def test_the_engine_gets_what_is_copied_and_nothing_else() -> None:
    text = DOCKERIGNORE.read_text("utf-8")
    lines = text.splitlines()
    sent = {line[1:] for line in lines if line.startswith("!")}
    steps = [step for stage in STAGES.values() for step in stage.instructions]
    copied = {
        source
        for step in steps
        if step.name == "COPY" and "from" not in step.flags
        for source in step.value.split()[:-1]
    }
    assert all(is_sent(name, text) for name in copied)
    assert not is_sent("tests/images/image.py", text)
    assert not is_sent("deploy/container/settle-other", text)
    assert not is_sent("deploy/compose/secrets/tls.key", text)
    assert not is_sent("recipes/python/lender.db", text)
    whole = ("requirements", "src")
    assert {name.split("/")[0] if name.startswith(whole) else name for name in copied} == sent


def test_an_instruction_that_is_not_understood_is_an_error() -> None:
    with pytest.raises(UnknownInstruction, match="line 2: ADD"):
        instructions("FROM x AS y\nADD https://example.com/file /\n")
