"""The validation report: one page that a risk officer and a supervisor can read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alama.pages import numbers
from alama.pages import render as pages
from alama.training.validation.findings import findings
from alama.training.validation.sections import shared_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alama.core.model import Model, Setting
    from alama.training.notes import CardNotes
    from alama.training.validation.validate import Validation


def render(model: Model, validation: Validation, notes: Sequence[CardNotes]) -> str:
    """Give the report as one self-contained HTML page, without script."""
    return pages.render(
        "training/validation/templates/report.html",
        **shared_values(model, validation, notes),
        findings=findings(validation),
        recipe=[(name, _setting(value)) for name, value in sorted(model.lineage.recipe.items())],
    )


def _setting(value: Setting) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "none"
    return value if isinstance(value, str) else numbers.exact(value)
