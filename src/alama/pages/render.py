"""Pages from templates: each lies beside the code that prepares its values, everything escaped."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from alama.pages import numbers
from alama.pages.handout_style import HANDOUT
from alama.pages.markup import Markup, allowed
from alama.pages.style import SHEET

if TYPE_CHECKING:
    from jinja2 import Environment, Template


def render(template: str | Template, /, **values: object) -> str:
    """Fill in a template, named by its path inside the package: pages/templates/signoff.html.

    Plain text is escaped, `Markup` is not. A name that has no value is an error.
    """
    return allowed(_environment().get_template(template).render(values))


@cache
def _environment() -> Environment:
    # Loaded with the first page: a service that only scores never needs it.
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415

    made = Environment(
        loader=PackageLoader("alama", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.globals.update(sheet=Markup(SHEET), handout_sheet=Markup(HANDOUT))
    made.filters.update(
        between=numbers.between,
        count=numbers.count,
        exact=numbers.exact,
        fixed=numbers.fixed,
        large=numbers.large,
        money=numbers.money,
        percent=numbers.percent,
        plural=numbers.plural,
        short=numbers.short,
        signed=numbers.signed,
    )
    return made
