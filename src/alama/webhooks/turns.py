"""Turns: lenders go round, and so do the endpoints of each, whatever their names and numbers."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from alama.service.webhooks.rounds import rounds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from alama.service.webhooks.records import Endpoint


class Turns:
    """Who comes next: whoever had a turn longest ago."""

    def __init__(self) -> None:
        """Begin with nobody's turn."""
        self._count = 0
        self._of_lenders: dict[str, int] = {}
        self._of_endpoints: dict[str, int] = {}

    def note(self, endpoint: Endpoint) -> None:
        """An endpoint has its turn, and with it its lender."""
        self._count += 1
        self._of_lenders[endpoint.book.lender] = self._of_endpoints[endpoint.id] = self._count

    def order(self, waiting: Iterable[tuple[Endpoint, int]]) -> Iterator[Endpoint]:
        """Go round: an endpoint of each lender, and again, each as often as it is said."""
        by_lender: dict[str, list[tuple[Endpoint, int]]] = defaultdict(list)
        for endpoint, times in waiting:
            by_lender[endpoint.book.lender].append((endpoint, times))
        lenders = sorted(by_lender, key=lambda lender: self._of_lenders.get(lender, 0))
        return rounds([list(self._of_one(by_lender[lender])) for lender in lenders])

    def forget_all_but(self, endpoints: Iterable[Endpoint]) -> None:
        """Remember nothing of others."""
        ids, lenders = set(), set()
        for endpoint in endpoints:
            ids.add(endpoint.id)
            lenders.add(endpoint.book.lender)
        for known, wanted in ((self._of_endpoints, ids), (self._of_lenders, lenders)):
            for gone in known.keys() - wanted:
                del known[gone]

    def _of_one(self, waiting: Iterable[tuple[Endpoint, int]]) -> Iterator[Endpoint]:
        """Do the same with the endpoints of one lender."""
        ordered = sorted(waiting, key=lambda one: self._of_endpoints.get(one[0].id, 0))
        return rounds([[endpoint] * times for endpoint, times in ordered])
