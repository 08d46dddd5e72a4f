"""Where the service of this machine listens, noted for the doctor: options may have said so."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAME: Final = "served"
_READ_MAX: Final = 300


class Address(NamedTuple):
    """What is listened on."""

    host: str
    port: int


@contextmanager
def noted(home: Path, address: Address) -> Iterator[None]:
    """Keep a note below the home folder while the service runs.

    Without such a folder, or the right to write there, there is none: nothing but the doctor
    needs it.
    """
    file, text = home / NAME, f"{address.host} {address.port}\n"
    with suppress(OSError):
        file.write_text(text, "utf-8")
    try:
        yield
    finally:
        with suppress(OSError, ValueError):
            if file.read_text("utf-8") == text:  # and not of one that was started since
                file.unlink()


def note_in(home: Path) -> Address | None:
    """Give what was noted last. One that was killed leaves its note behind."""
    try:
        with (home / NAME).open(encoding="utf-8") as file:
            host, port = file.read(_READ_MAX).split()
        return Address(host, int(port))
    except (OSError, ValueError):
        return None
