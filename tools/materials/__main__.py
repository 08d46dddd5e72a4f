"""The front door: `python -m tools.materials`, for `make sbom`.

Writes build/sbom/serve.cdx.json and train.cdx.json, and the tables of docs/generated/licences.md.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from tools.materials import bill, lock, page
from tools.materials.bill import NotWritten
from tools.materials.licences import Unclear
from tools.materials.page import Refused

ROOT: Final = Path(__file__).parents[2]
TOOLS: Final = ROOT / ".venv-deploy"
BILLS: Final = ROOT / "build" / "sbom"
PAGE: Final = ROOT / "docs" / "generated" / "licences.md"


def main() -> int:
    """Write all of it, or say what is in the way."""
    try:
        PAGE.write_text(page.filled(PAGE.read_text("utf-8"), page.blocks(ROOT)), "utf-8")
        bills = {image: bill.make(ROOT, image) for image in lock.LOCKS}
        bill.validate(TOOLS, bills.values())
    except (NotWritten, Refused, Unclear) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    BILLS.mkdir(parents=True, exist_ok=True)
    for image, text in bills.items():
        path = BILLS / f"{image}.cdx.json"
        path.write_text(text, "utf-8")
        sys.stdout.write(f"{path.relative_to(ROOT)}\n")
    sys.stdout.write(f"{PAGE.relative_to(ROOT)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
