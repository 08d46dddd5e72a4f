"""Samples of deliveries verify: in the document, on its page, and in the guide for receivers."""

from __future__ import annotations

import json
import re
import textwrap
from datetime import datetime, tzinfo
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from alama.app import openapi
from alama.platform.http.reference import Reference
from alama.webhooks.examples import SECRET

DOCUMENT = openapi.document()
GUIDE = (Path(__file__).parents[3] / "docs" / "receiving-webhooks.md").read_text("utf-8")


@pytest.fixture(autouse=True)
def at_that_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the official verifier, which refuses what is old, look at them when they were new."""

    class Then(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Then:
            return cls.fromtimestamp(1_790_000_000, tz)

    monkeypatch.setattr("standardwebhooks.webhooks.datetime", Then)


def on_the_page() -> str:
    page = ET.fromstring(Reference(DOCUMENT).html.removeprefix("<!DOCTYPE html>\n"))  # noqa: S314  our own text
    blocks = ["".join(found.itertext()) for found in page.findall(".//figure/pre")]
    (shown,) = (block for block in blocks if block.startswith("POST /hook"))
    return shown


def in_the_guide() -> str:
    (shown,) = re.findall(r"^    POST /hook.*?(?=^\|)", GUIDE, re.MULTILINE | re.DOTALL)
    return textwrap.dedent(shown).strip()


def parts(request: str) -> tuple[dict[str, str], str]:
    """Give the headers by which a delivery is verified, and its body."""
    head, _, body = request.partition("\n\n")
    told = dict(line.split(": ", 1) for line in head.splitlines()[1:])
    return {name: value for name, value in told.items() if name.startswith("webhook-")}, body


@pytest.mark.parametrize("kind", DOCUMENT["webhooks"])
def test_every_example_of_the_document_verifies(kind: str) -> None:
    told = DOCUMENT["webhooks"][kind]["post"]
    headers = {header["name"]: header["example"] for header in told["parameters"]}
    example = told["requestBody"]["content"]["application/json"]["example"]
    body = json.dumps(example, separators=(",", ":"))
    assert Webhook(SECRET).verify(body, headers)["type"] == kind
    with pytest.raises(WebhookVerificationError):
        Webhook(SECRET).verify(body + " ", headers)


def test_the_page_and_the_guide_show_the_same_delivery_and_it_verifies() -> None:
    headers, body = parts(on_the_page())
    assert (headers, body) == parts(in_the_guide())
    assert Webhook(SECRET).verify(body, headers)["type"] == "webhook.test"
    assert SECRET in GUIDE
    assert SECRET in Reference(DOCUMENT).html
