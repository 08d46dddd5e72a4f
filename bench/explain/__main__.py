"""The front door: `python -m bench.explain [quick|full]`.

It makes DiCE's environment where there is none, and goes on inside it.
"""

from __future__ import annotations

import sys

from bench import inside
from bench.environment import DICE
from bench.explain.options import parse


def main() -> int:
    """Run the measurement beside DiCE and shap and hand its exit code on."""
    parse(sys.argv[1:])  # a wrong option is refused before minutes of installing
    code = inside.run(DICE, "bench.explain.run", sys.argv[1:])
    if code == inside.INTERRUPTED:
        print("interrupted; nothing was written")
    return code


if __name__ == "__main__":
    sys.exit(main())
