from __future__ import annotations

import json

import pytest

from alama import __version__
from alama.app import openapi
from alama.app.cli import main


def test_the_document_is_that_of_the_service(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    assert main(["openapi"]) == 0
    out, err = capfdbinary.readouterr()
    assert out == openapi.encoded()
    assert err == b""
    document = json.loads(out)
    assert document["info"]["version"] == __version__
    assert "/v1/score" in document["paths"]
