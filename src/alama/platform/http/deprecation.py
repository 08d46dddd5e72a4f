"""What is to go: told in advance, in the replies of whoever still uses it (RFC 9745, RFC 8594)."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from email.utils import format_datetime
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from alama.platform.http.exchange import Headers


HEADERS = ("Deprecation", "Sunset", "Link")


class Deprecated(NamedTuple):
    """Since when something has a better successor, and until when it works, at the least.

    Both days are UTC, and begin at midnight.
    """

    since: date
    sunset: date

    @property
    def headers(self) -> Headers:
        """Give what a reply says of it; the page tells what to use instead."""
        return [
            (b"deprecation", b"@%d" % int(_midnight(self.since).timestamp())),
            (b"sunset", format_datetime(_midnight(self.sunset), usegmt=True).encode()),
            (b"link", b'<../docs>; rel="deprecation"; type="text/html"'),
        ]


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
