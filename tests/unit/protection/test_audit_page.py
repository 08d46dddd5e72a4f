"""docs/audit.md has a row for everything that can be done."""

from __future__ import annotations

from pathlib import Path

import pytest

from alama.platform.acts import ActKind

PAGE = Path(__file__).parents[3] / "docs" / "audit.md"


def test_every_kind_of_act_has_a_row_on_the_page(subtests: pytest.Subtests) -> None:
    for kind in ActKind:
        with subtests.test(kind=kind):
            acts = PAGE.read_text().partition("\n## Acts\n")[2].partition("\n## ")[0]
            rows = [line.split("|")[1] for line in acts.splitlines() if line.startswith("|")]
            assert any(f"`{kind.value}`" in row for row in rows)
