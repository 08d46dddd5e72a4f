"""An example for the OpenAPI document: a statement of two months, read by the code that serves."""

from __future__ import annotations

import json
from datetime import date
from functools import cache
from typing import TYPE_CHECKING, Final

from alama.statements.api import fields_reply
from alama.statements.deriving import Asked, found_in
from alama.statements.desk import LOOK
from alama.statements.ledger import Pseudonyms
from alama.statements.pdf.reader import PasswordNeeded, PdfTooCostly
from alama.statements.places import place_of
from alama.statements.problems import MappingNeeded, StatementUnreadable
from alama.statements.proposing import propose
from alama.statements.published import CATALOGUED

if TYPE_CHECKING:
    from alama.core.errors import AlamaError
    from alama.platform.http.operation import Json

SAMPLE: Final = b"""\
Customer Name,Jane Wanjiku
Statement Period,01 Sep 2026 - 31 Oct 2026
Request Date,01 Nov 2026

Receipt No.,Completion Time,Details,Transaction Status,Paid In,Withdrawn,Balance
UJU0000009,2026-10-30 18:02:00,Airtime Purchase,Completed,,-50.00,5350.00
UJK0000008,2026-10-20 09:10:00,Customer Transfer of Funds Charge,Completed,,-33.00,5400.00
UJK0000008,2026-10-20 09:10:00,Customer Transfer to 2547***12 - A B,Completed,,-1500.00,5433.00
UJ10000007,2026-10-01 08:00:00,Salary Payment from 300 - WORKS LTD,Completed,6000.00,,6933.00
UIU0000006,2026-09-30 19:30:00,Airtime Purchase,Completed,,-50.00,933.00
UIK0000005,2026-09-20 10:15:00,Pay Bill Charge,Completed,,-17.00,983.00
UIK0000005,2026-09-20 10:15:00,Pay Bill to 888880 - KPLC Acc. 4,Completed,,-2000.00,1000.00
UIF0000004,2026-09-15 12:00:00,Airtime Purchase,Completed,,-100.00,3000.00
UI50000003,2026-09-05 17:45:00,Merchant Payment to 52 - DUKA,Completed,,-2900.00,3100.00
UI10000002,2026-09-01 08:00:00,Salary Payment from 300 - WORKS LTD,Completed,6000.00,,6000.00
"""
_TOKEN: Final = "eyJ2ZXJzaW9uIjoiYWxhbWEuZXZpZGVuY2UvMiIsIi4uLiI6Ii4uLiJ9.c2VhbA"  # noqa: S105 - no key


@cache
def replies() -> dict[str, Json]:
    """Give the reply to the sample."""
    asked = Asked(
        files=[SAMPLE],
        as_of=date(2026, 11, 2),
        utc_offset_s=3 * 3600,
        weekend=(5, 6),
        applicant_name="Jane Wanjiku",
    )
    found = found_in(asked, b"example-" * 4)
    reply = json.loads(fields_reply(found, CATALOGUED, _TOKEN))
    return {
        "derived_fields": {
            "summary": "Two months of a wallet: what follows from them, and what they lack.",
            "value": reply,
        }
    }


def _mapping_needed() -> MappingNeeded:
    """Give what is said of a table of which nobody knows whether 3/4 is in March or in April."""
    table = b"Posted,Narrative,Money in,Money out\n03/04/2026,Salary,6000,\n04/04/2026,Rent,,900\n"
    error = MappingNeeded("the columns of the table are not known", hint=LOOK)
    error.proposal = propose(table, Pseudonyms(b"example-" * 4), place_of("KE"), {})
    return error


def refusals() -> dict[str, tuple[AlamaError, ...]]:
    """Give what is wrong with a file, at the path where it is met."""
    return {
        "/v1/fields": (
            StatementUnreadable(
                "the file is no table", hint="look for a quote that is never closed"
            ),
            _mapping_needed(),
            PasswordNeeded("the PDF is protected by a password", hint="send it as `password`"),
            PdfTooCostly(
                "the PDF has more than 500 pages", hint="ask for the statement of a shorter period"
            ),
        )
    }
