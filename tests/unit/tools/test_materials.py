"""What the images are made of: the page is that of the lock, and refuses what must not be there."""

from __future__ import annotations

import json
import re
from importlib import metadata
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

import alama
from tools.materials import __main__ as front
from tools.materials import bill, licences, lock, page, rules
from tools.materials.lock import Package

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "generated" / "licences.md"
IMAGES = {image: lock.of_image(ROOT, image) for image in lock.LOCKS}
EVERYTHING = {one.name: one for packages in IMAGES.values() for one in packages}


def package(name: str, version: str = "1.0") -> Package:
    return Package(name, version, only_on="", hashes=(), asked_by=())


@pytest.fixture(scope="module")
def bills() -> dict[str, dict[str, Any]]:
    return {image: json.loads(bill.make(ROOT, image)) for image in IMAGES}


def test_the_page_of_licences_is_that_of_the_lock() -> None:
    text = PAGE.read_text("utf-8")
    assert page.filled(text, page.blocks(ROOT)) == text, "the page is stale: `make sbom`"


@pytest.mark.parametrize("name", ["serve", "train"])
def test_every_pinned_line_of_a_lock_is_read(name: str) -> None:
    path = ROOT / "requirements" / f"{name}.txt"
    packages = lock.read(path)
    assert len(packages) == len(re.findall(r"^\S+==", path.read_text("utf-8"), re.MULTILINE))
    assert all(one.hashes and one.asked_by for one in packages)


def test_an_image_holds_what_its_stages_install_and_nothing_for_windows() -> None:
    recipe = (ROOT / "deploy" / "container" / "Containerfile").read_text("utf-8")
    for locks in lock.LOCKS.values():
        assert all(f"--requirement requirements/{name}.txt" in recipe for name in locks)
    serve, train = ({one.name for one in IMAGES[image]} for image in ("serve", "train"))
    assert serve < train
    assert "tzdata" not in serve
    assert {"psycopg", "scipy", "tzdata"} <= train


def test_what_one_processor_alone_needs_is_named_whatever_this_one_is() -> None:
    assert EVERYTHING["pysqlite3"].only_on == "Linux on x86-64"
    assert EVERYTHING["sqlcipher3"].only_on == "Linux on ARM"
    assert EVERYTHING["uvloop"].only_on == ""


@pytest.mark.parametrize(
    "expression",
    [
        *("GPL-3.0-only", "GPL-2.0-or-later", "AGPL-3.0-only", "SSPL-1.0", "BUSL-1.1", "UNKNOWN"),
        *("MIT AND GPL-3.0-only", "LGPL-3.0-only", "(MIT)", ""),
    ],
)
def test_a_licence_that_a_legal_team_refuses_is_refused(expression: str) -> None:
    with pytest.raises(page.Refused, match=r"^somebody is under"):
        page.refuse([("somebody", expression)])


@pytest.mark.parametrize("expression", ["MIT", "Apache-2.0 AND MIT", "MIT OR GPL-3.0-only"])
def test_a_permissive_licence_or_the_choice_of_one_is_let_in(expression: str) -> None:
    assert not licences.refused("somebody", expression)


def test_a_lesser_licence_is_let_in_for_those_it_was_argued_for() -> None:
    assert not licences.refused("psycopg", "LGPL-3.0-only")
    assert licences.refused("psycopg", "AGPL-3.0-only")
    page_text = PAGE.read_text("utf-8").partition("## Packages")[0]
    assert [name for name in rules.LESSER if f"`{name}`" not in page_text] == []


def test_a_correction_is_of_one_version() -> None:
    assert licences.licence(package("pysqlite3", "0.6.1")) == "Zlib"
    with pytest.raises(licences.Unclear, match="CORRECTIONS"):
        licences.licence(package("pysqlite3", "99"))


def test_no_correction_outlives_what_it_corrects() -> None:
    stale = {
        name for name, one in rules.CORRECTIONS.items() if EVERYTHING[name].version != one.version
    }
    assert stale == set()


def test_metadata_that_contradicts_itself_is_unclear() -> None:
    assert licences._declared(None, "MIT License", ["Apache Software License"]) is None
    assert licences._declared(None, "Copyright of somebody " * 9, ["MIT License"]) is None
    assert licences._declared(None, None, ["BSD License"]) is None
    assert licences._declared(None, "MIT", ["MIT License"]) == "MIT"
    assert licences._declared("ISC", "something else", []) == "ISC"


def test_every_library_inside_an_installed_wheel_has_a_licence_on_the_page() -> None:
    known = {(one.wheel, one.name) for one in rules.BUNDLED}
    here = [one for one in EVERYTHING.values() if one.name not in {"pysqlite3", "sqlcipher3"}]
    found = {(one.name, library) for one in here for library in licences.libraries_inside(one.name)}
    assert found - known == set()
    unseen = [name for name in rules.OWN if name not in EVERYTHING]
    assert unseen == []


def test_a_library_is_found_wherever_in_a_wheel_it_lies(monkeypatch: pytest.MonkeyPatch) -> None:
    inside = [
        *(
            "a.libs/libgomp-a49a47f9.so.1.0.0",
            "a.libs/odd-name.so",
            "a/b/libfoo.so.3",
            "a/libx.dylib",
        ),
        *(
            "a/lib.cpython-313-x86_64-linux-gnu.so",
            "a/_ext.abi3.so",
            "a/libfoo.py",
            "a/libown_2.so",
        ),
    ]
    monkeypatch.setattr(metadata, "files", lambda _: [PurePosixPath(one) for one in inside])
    monkeypatch.setattr(rules, "OWN", {"a": ("libown",)})
    assert licences.libraries_inside("a") == {"libgomp", "odd-name.so", "libfoo", "libx"}


def test_a_bill_holds_alama_every_package_of_the_lock_and_who_needs_whom(
    bills: dict[str, dict[str, Any]],
) -> None:
    for image, packages in IMAGES.items():
        document = bills[image]
        assert document["metadata"]["component"]["version"] == alama.__version__
        versions = {one["name"]: one["version"] for one in document["components"]}
        assert versions == {one.name: one.version for one in packages}
        assert all(one["licenses"] for one in document["components"])
        needs = {one["ref"]: one["dependsOn"] for one in document["dependencies"]}
        direct = needs[document["metadata"]["component"]["bom-ref"]]
        assert direct == sorted(
            f"pkg:pypi/{one.name}@{one.version}" for one in packages if one.direct
        )


def test_a_bill_names_every_file_that_the_lock_accepts(bills: dict[str, dict[str, Any]]) -> None:
    text = "".join(path.read_text("utf-8") for path in lock.paths(ROOT, "train"))
    told = {
        digest["content"]
        for one in bills["train"]["components"]
        for digest in one["externalReferences"][0]["hashes"]
    }
    assert told == set(re.findall(r"sha256:([0-9a-f]{64})", text))


def test_a_bill_is_the_same_bytes_wherever_and_whenever_it_is_made(
    bills: dict[str, dict[str, Any]],
) -> None:
    document = bills["serve"]
    text = json.dumps(document)
    assert "serialNumber" not in document
    assert "timestamp" not in document["metadata"]
    assert str(ROOT) not in text
    assert "://" not in text.replace(document["$schema"], "")


def test_a_bill_carries_the_time_that_the_build_names_and_is_else_the_same(
    bills: dict[str, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    document = json.loads(bill.make(ROOT, "serve"))
    assert document["metadata"].pop("timestamp") == "2023-11-14T22:13:20+00:00"
    assert document == bills["serve"]


@pytest.mark.long
def test_the_schema_accepts_a_bill_and_refuses_what_is_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    good = bill.make(ROOT, "train")  # it has all that the other has
    # Judged one after the other: the first has passed where the second is refused.
    with pytest.raises(bill.NotWritten, match="document 2 is not CycloneDX"):
        bill.validate(ROOT / ".venv-deploy", [good, '{"bomFormat": "CycloneDX", "components": 1}'])


def test_what_is_refused_is_said_and_nothing_is_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(front, "PAGE", tmp_path / "licences.md")
    monkeypatch.setattr(front, "BILLS", tmp_path / "sbom")
    monkeypatch.setattr(rules, "ALLOWED", rules.ALLOWED - {"MPL-2.0"})
    front.PAGE.write_text("as it was", "utf-8")
    assert front.main() == 1
    assert "certifi is under MPL-2.0" in capsys.readouterr().err
    assert front.PAGE.read_text("utf-8") == "as it was"
    assert not front.BILLS.exists()
