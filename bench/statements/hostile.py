"""`python -m bench.statements.hostile 10_000`: mutated PDFs and CSVs, each read or refused.

Says what became of them, the longest that one took and the most memory that one had. Anything but
an error that says what to do ends it.
"""

from __future__ import annotations

import resource
import sys
import time
from collections import Counter
from itertools import chain

from alama.core.errors import AlamaError
from alama.statements.places import place_of
from alama.statements.reading import read_statement
from tests.drawn_statements import NAMES, csv_of, known
from tests.hostile_pdfs import BOMBS, mutations

SEED = 20_260_801


def main(count: int) -> None:
    pdfs = [known(5, rows=40).mpesa_pdf(), known(6, rows=40, legs=2).mtn_pdf()]
    tables = [csv_of(known(7, rows=40))]
    hostile = chain(
        (bomb() for bomb in BOMBS.values()),
        mutations(pdfs, count // 2, SEED),
        mutations(tables, count - count // 2, SEED),
    )
    ends, longest_s, place = Counter[str](), 0.0, place_of("KE")
    for content in hostile:
        began_s = time.perf_counter()
        try:
            read_statement(content, NAMES, place)
            ends["read"] += 1
        except AlamaError as refused:
            ends[f"{type(refused).__name__}: {refused}"] += 1
        longest_s = max(longest_s, time.perf_counter() - began_s)
    for end, many in ends.most_common():
        print(f"{many:7,}  {end}")
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        f"longest {longest_s:.1f} s; most memory of a reader {children >> 10} MB, own {own >> 10}"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
