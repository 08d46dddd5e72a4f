"""Jurisdiction packs: what a country's public rules say about a loan, as data.

A pack is one TOML text. Each legal figure in it carries what the rule says, where it stands and its
date; a figure that no public rule gives is left out, and its `notes` say what to ask counsel. It is
a place to start a lending policy from, and no legal advice.
"""

from __future__ import annotations

import tomllib
from datetime import date
from typing import Annotated, Generic, TypeVar

import msgspec
from msgspec import Meta

from alama.core.errors import InvalidJurisdiction
from alama.core.lending.cash_flow import AprKind

T = TypeVar("T")

Text = Annotated[str, Meta(pattern=r"\A\S(.*\S)?\Z")]
"""One line that is not empty and has no space around it."""

Sentence = Annotated[str, Meta(pattern=r"\A[A-Z0-9].*\.\Z")]
Code = Annotated[str, Meta(pattern=r"\A[A-Za-z]{2,16}\Z")]
Currency = Annotated[str, Meta(pattern=r"\A[A-Z]{3}\Z")]
Percent = Annotated[float, Meta(gt=0, le=1000)]
Times = Annotated[float, Meta(gt=0, le=10)]
Share = Annotated[float, Meta(gt=0, le=1)]
Days = Annotated[int, Meta(ge=1, le=36_525)]
UtcOffset = Annotated[int, Meta(ge=-12, le=14)]
Names = Annotated[tuple[Annotated[str, Meta(pattern=r"\A[a-z][a-z_]*\Z")], ...], Meta(min_length=1)]


class Sourced(msgspec.Struct, Generic[T], frozen=True, forbid_unknown_fields=True):
    """One figure, and where it comes from.

    `rule` says in one sentence what the rule says and whom it binds; `source` is the title and the
    section of the public text. `dated` is the day of that text; where it bears none, the day on
    which it was read.
    """

    value: T
    rule: Sentence
    source: Text
    dated: date


class Jurisdiction(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The rules of one place. A figure is None where no public rule is known that gives it.

    `currencies` are ISO 4217 codes; where none is named, any will do. `utc_offset_hours` are the
    whole hours that its clock is ahead of UTC. Of the figures:

    - `apr_max`: the highest price, percent a year by the definition of `capped_apr`;
    - `shown_apr`: the definition of the price that a borrower must be told;
    - `fee_tax`: what the state takes on top of a fee, as a share of it;
    - `charges_max`: the most that interest and fees may come to, as a share of the amount lent
      (in duplum is 1.0);
    - `inflow_share_max`: the largest share of income that all repayments together may take;
    - `retention_days`: for how many days, at least, records are kept after the relationship ended;
    - `notice_days`: how many days before the terms of a running loan change its borrower is told;
    - `forbidden_fields`: what an application must not say, in the names of the field catalogue.
    """

    code: Code
    name: Text
    currencies: tuple[Currency, ...]
    utc_offset_hours: UtcOffset = 0
    apr_max: Sourced[Percent] | None = None
    capped_apr: Sourced[AprKind] | None = None
    shown_apr: Sourced[AprKind] | None = None
    fee_tax: Sourced[Share] | None = None
    charges_max: Sourced[Times] | None = None
    inflow_share_max: Sourced[Share] | None = None
    retention_days: Sourced[Days] | None = None
    notice_days: Sourced[Days] | None = None
    forbidden_fields: Sourced[Names] | None = None
    notes: tuple[Sentence, ...] = ()


def read_jurisdiction(text: str) -> Jurisdiction:
    """Read a pack strictly, or raise `InvalidJurisdiction` and say what is wrong, and where."""
    try:
        return msgspec.convert(tomllib.loads(text), Jurisdiction)
    # Text that is no TOML is a ValueError, as is a number with thousands of digits.
    except (msgspec.ValidationError, ValueError, RecursionError) as error:
        raise InvalidJurisdiction(
            f"this is not a jurisdiction pack: {error}",
            hint="docs/jurisdictions.md says what a pack holds",
        ) from error
