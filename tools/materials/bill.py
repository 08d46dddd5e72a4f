"""The bill of materials of an image, in CycloneDX: the same bytes for the same lock.

It is made from the lock and the metadata of its packages, and from nothing else of a machine; the
schema of CycloneDX judges it.
"""

from __future__ import annotations

import json
import os
import subprocess
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import alama
from tools.materials import licences, lock, rules

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tools.materials.lock import Package

Json = dict[str, Any]

_SPECIFICATION: Final = "1.6"
_VALIDATOR: Final = """
import json, sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
validator = JsonStrictValidator(SchemaVersion.from_version(sys.argv[1]))
for number, text in enumerate(json.load(sys.stdin), start=1):
    found = validator.validate_str(text)
    if found is not None:
        sys.exit(f"document {number} is not CycloneDX: " + str(found.data)[:300])
"""


class NotWritten(Exception):
    """The schema refuses it; the message says what of it."""


def make(root: Path, image: str) -> str:
    """Give the bill of an image as JSON."""
    packages = lock.of_image(root, image)
    alama_itself = _alama(image)
    document = {
        "$schema": f"http://cyclonedx.org/schema/bom-{_SPECIFICATION}.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": _SPECIFICATION,
        "version": 1,
        "metadata": {"component": alama_itself, "lifecycles": [{"phase": "build"}], **_stamp()},
        "components": [_component(package) for package in packages],
        "dependencies": _dependencies(alama_itself["bom-ref"], packages),
    }
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def validate(tools: Path, texts: Iterable[str]) -> None:
    """Raise `NotWritten` where one is not CycloneDX; `tools` is the environment of its library."""
    done = subprocess.run(  # noqa: S603 - a tool of our own environment, with arguments of our own
        [str(tools / "bin" / "python"), "-c", _VALIDATOR, _SPECIFICATION],
        input=json.dumps(list(texts)),
        capture_output=True,
        check=False,
        encoding="utf-8",
    )
    if done.returncode:
        raise NotWritten(done.stderr.strip()[-2_000:])


def _alama(image: str) -> Json:
    purl = f"pkg:generic/{lock.ALAMA}@{alama.__version__}"
    return {
        "type": "application",
        "bom-ref": purl,
        "name": lock.ALAMA,
        "version": alama.__version__,
        "purl": purl,
        "licenses": _licences("Apache-2.0", "declared"),
        "properties": [{"name": "alama:image", "value": image}],
    }


def _stamp() -> Json:
    """Give the time that a build names for all that it makes; none by itself."""
    named = os.environ.get("SOURCE_DATE_EPOCH")
    if not named:
        return {}
    return {"timestamp": datetime.fromtimestamp(int(named), UTC).isoformat()}


def _component(package: Package) -> Json:
    component: Json = {
        "type": "library",
        "bom-ref": _reference(package),
        "name": package.name,
        "version": package.version,
        "purl": _reference(package),
        "licenses": _licences(
            licences.licence(package),
            "concluded" if package.name in rules.CORRECTIONS else "declared",
        ),
        "externalReferences": [
            {
                "type": "distribution",
                "url": _reference(package),
                "comment": "any of the files that the lock accepts",
                "hashes": [{"alg": "SHA-256", "content": digest} for digest in package.hashes],
            }
        ],
    }
    if package.only_on:
        component["properties"] = [{"name": "alama:only-on", "value": package.only_on}]
    if inside := [one for one in rules.BUNDLED if one.wheel == package.name]:
        component["components"] = [
            {
                "type": "library",
                "bom-ref": f"{_reference(package)}#{number}",
                "name": one.name,
                "licenses": _licences(one.licence, "concluded"),
            }
            for number, one in enumerate(inside, start=1)
        ]
    return component


def _licences(expression: str, acknowledgement: str) -> list[Json]:
    if " " in expression or expression.startswith("LicenseRef-"):
        return [{"expression": expression, "acknowledgement": acknowledgement}]
    return [{"license": {"id": expression, "acknowledgement": acknowledgement}}]


def _reference(package: Package) -> str:
    return f"pkg:pypi/{package.name}@{package.version}"


def _dependencies(root: str, packages: list[Package]) -> list[Json]:
    references = {lock.ALAMA: root, **{one.name: _reference(one) for one in packages}}
    needs: dict[str, list[str]] = {name: [] for name in references}
    for package in packages:
        for name in package.asked_by:
            needs[name].append(_reference(package))
    return [
        {"ref": references[name], "dependsOn": sorted(needed)}
        for name, needed in sorted(needs.items())
    ]
