"""What several commands read from an argument: whole numbers, and names in a row."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def whole(least: int, most: int | None = None) -> Callable[[str], int]:
    """Read a whole number of at least so much, and at most."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least or (most is not None and number > most):
            bounds = f"of {least} or more" if most is None else f"from {least} to {most:,}"
            message = f"{text!r} is not a whole number {bounds}"
            raise argparse.ArgumentTypeError(message)
        return number

    return read


def names(text: str) -> list[str]:
    """Read names with commas between them."""
    return [name for name in (part.strip() for part in text.split(",")) if name]
