"""/v1/lists/entries: what is read, and what is refused by its place."""

from __future__ import annotations

import json
from typing import Any

import pytest

from alama.platform.http.problems import InvalidRequest
from alama.scoring.lists_api import ENTRIES, read

ENTRY: dict[str, Any] = {
    "applicant_ref": "customer-7f3a",
    "list": "block",
    "reason": "fraud",
    "name": "W. Mutua",
}


@pytest.mark.parametrize(
    ("sent", "pointer"),
    [
        ({"note": "as Customer-7F3A said"}, "/note"),
        ({"note": "two\nlines"}, "/note"),
        ({"note": "nothing\0"}, "/note"),
        ({"applicant_ref": "+254 700 000 000"}, "/applicant_ref"),
        ({"until": "9999-12-31"}, "/until"),
        ({"reason": "hearsay"}, "/reason"),
        ({"name": "x" * 201}, "/name"),
    ],
)
def test_what_breaks_a_rule_is_refused_by_its_place_and_not_shown(
    sent: dict[str, Any], pointer: str
) -> None:
    entries = [ENTRY] * 999 + [ENTRY | sent]
    with pytest.raises(InvalidRequest) as refused:
        read(json.dumps({ENTRIES: entries}).encode())
    assert [one.pointer for one in refused.value.problems] == [f"/entries/999{pointer}"]
    assert "7f3a" not in str(refused.value).casefold()
