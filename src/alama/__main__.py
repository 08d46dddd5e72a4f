"""`python -P -m alama`, for where the script is not on the path.

Without -P Python looks for modules in the current folder first, and others may be able to write
there: it is taken out before anything is imported.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    if not sys.flags.safe_path:
        del sys.path[0]
    from alama.app.cli import main

    sys.exit(main())
