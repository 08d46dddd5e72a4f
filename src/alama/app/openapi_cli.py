"""`alama openapi`: the contract of the service as a document."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from alama.app import openapi

if TYPE_CHECKING:
    import argparse


DESCRIPTION: Final = """\
Print the OpenAPI document of this version, the same that the service gives at
/openapi.json. It is JSON, made of the types that requests are read with and
replies are written with."""

EXAMPLES: Final = """\
examples:
  alama openapi > openapi.json"""


def register(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    parser.epilog = EXAMPLES
    parser.set_defaults(run=run)


def run(_: argparse.Namespace) -> int:
    """Print the document, byte for byte as the service gives it."""
    sys.stdout.flush()
    sys.stdout.buffer.write(openapi.encoded())
    return 0
