"""`python -m alama`, for where the script is not on the path."""

import sys

from alama.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
