"""`python -m alama.statements.pdf.process`: reads one PDF and ends.

It is asked over its standard input and answers over its standard output, both JSON after a line
that says how long they are; `reader.py` is its other side. It has no file, no network and no
secret, and whatever a file makes of it ends with it.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, Final

import pypdfium2_raw as pdfium

from alama.statements.pdf.confinement import filter_calls, keep_open, limit
from alama.statements.pdf.tables import Reader
from alama.statements.pdf.words import Document, Fault, opened

_ASKED: Final = 0
_ANSWERED: Final = 1
_TOLD: Final = 2
"""Goes nowhere: a library that ends the process may say there what stands in the file."""
_HEAD_BYTES_MAX: Final = 65_536


def main() -> None:
    """Read what was asked for and answer."""
    head = json.loads(sys.stdin.buffer.readline(_HEAD_BYTES_MAX))
    limit(head["memory_bytes"], head["cpu_s"], head["niceness"])
    content = sys.stdin.buffer.read(head["bytes"])
    pdfium.FPDF_InitLibrary()
    keep_open(_ANSWERED, _TOLD)
    filtered = filter_calls()
    answer: dict[str, Any]
    try:
        answer = {"document": _read(content, head["password"], head["pages_max"])}
    except Fault as fault:
        answer = {"fault": str(fault)}
    except MemoryError:
        answer = {"fault": "memory"}
    answer["filtered"] = filtered
    _write(json.dumps(answer).encode())
    # Nothing is put away: what a hostile file has left of PDFium's memory is not walked again.
    os._exit(0)


def _write(answer: bytes) -> None:
    left = memoryview(answer)
    while left:
        left = left[os.write(_ANSWERED, left) :]


def _read(content: bytes, password: str | None, pages_max: int) -> dict[str, Any]:
    with opened(content, password) as document:
        if document.pages > pages_max:
            raise Fault("too_many_pages")
        if document.pages == 0:
            raise Fault("broken")
        reader = Reader()
        for number in range(document.pages):
            with document.page(number) as page:
                reader.add(page)
        table = reader.table()
        if table is None:
            raise Fault("layout")
        return {
            "layout": table.layout,
            "rows": table.rows,
            "unread": table.unread,
            "head": table.head,
            "tail": table.tail,
            "facts": _facts(document),
        }


def _facts(document: Document) -> dict[str, Any]:
    return {
        "pages": document.pages,
        "producer": document.meta("Producer"),
        "creator": document.meta("Creator"),
        "created": document.meta("CreationDate"),
        "modified": document.meta("ModDate"),
        "updates": document.updates(),
        "saved_again": document.was_saved_again(),
        "signatures": document.signatures(),
    }


if __name__ == "__main__":
    main()
