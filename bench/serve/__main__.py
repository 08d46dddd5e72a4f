"""The front door: `python -m bench.serve [quick|full] [--only SUBJECT ...]`."""

from __future__ import annotations

import signal
import sys

from bench.serve.ground import NotMeasurable
from bench.serve.options import parse
from bench.serve.run import measure
from bench.serve.server import ServerFailed


def main() -> int:
    """Measure, or say in a sentence why not; servers end with us either way."""
    options = parse(sys.argv[1:])
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        measure(options)
    except (NotMeasurable, ServerFailed) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted; nothing was written")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
