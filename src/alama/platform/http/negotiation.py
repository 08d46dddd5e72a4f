"""What a caller would rather have, by the weights that it gives (RFC 9110, section 12)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator


_WEIGHT: Final = re.compile(rb"0(\.[0-9]*)?|1(\.0*)?")
"""From 0, which is not at all, to 1; what is no weight counts as 0."""

_Rank = tuple[float, int, int]
"""Weight, how closely it is named, and how early: the larger is the better."""

_NOT_WANTED: Final[_Rank] = (0.0, 0, 0)


def prefers_page(accept: bytes) -> bool:
    """Say whether `Accept` would rather have a page than JSON; whoever does not say has JSON.

    Of equal weights the one that is named more closely counts, then the one that is named first.
    """
    offered = list(_weighted(accept))
    return _rank(offered, b"text", b"html") > _rank(offered, b"application", b"json")


def takes_gzip(accept_encoding: bytes) -> bool:
    """Say whether `Accept-Encoding` would have a reply packed; whoever does not say would not."""
    weights = dict(_weighted(accept_encoding))
    other = weights.get(b"*", 0.0)
    gzip = weights.get(b"gzip", weights.get(b"x-gzip", other))
    return gzip > 0.0 and gzip >= weights.get(b"identity", 0.0)


def _rank(offered: list[tuple[bytes, float]], kind: bytes, subtype: bytes) -> _Rank:
    """Give how much a media type is wanted: the closest of what is named says so."""
    ranges = (b"*/*", kind + b"/*", kind + b"/" + subtype)
    named = [
        (ranges.index(name), -place, weight)
        for place, (name, weight) in enumerate(offered)
        if name in ranges
    ]
    closeness, place, weight = max(named, default=(0, 0, 0.0))
    return (weight, closeness, place) if weight else _NOT_WANTED


def _weighted(header: bytes) -> Iterator[tuple[bytes, float]]:
    """Give what a header lists, each in lower case with its weight."""
    for element in header.lower().split(b","):
        name, *parameters = (part.strip() for part in element.split(b";"))
        if name:
            yield name, _weight(parameters)


def _weight(parameters: list[bytes]) -> float:
    for parameter in parameters:
        name, _, value = parameter.partition(b"=")
        if name.strip() == b"q":
            value = value.strip()
            return float(value) if _WEIGHT.fullmatch(value) else 0.0
    return 1.0
