"""The front door: `python -m bench.engine [quick|full] [--part PART] [--tables DIR] [--fresh]`.

It makes the peers' environment where there is none, and goes on inside it.
"""

from __future__ import annotations

import sys

from bench import inside
from bench.engine.options import parse
from bench.environment import PEERS


def main() -> int:
    """Run the measurement in the peers' environment and hand its exit code on."""
    parse(sys.argv[1:])  # a wrong option is refused before minutes of installing
    code = inside.run(PEERS, "bench.engine.run", sys.argv[1:])
    if code == inside.INTERRUPTED:
        print("interrupted; the same command goes on where this one stopped")
    return code


if __name__ == "__main__":
    sys.exit(main())
