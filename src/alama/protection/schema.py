"""The tables of what is owed to applicants.

An applicant is found by the lender's own reference, `applicant_ref`, which is kept nowhere in
clear: the vault turns it into what the database knows the applicant by. Neither of the two is ever
written to a log or to the audit.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    String,
    Table,
    Text,
)

from alama.platform.database import tables

legal_holds = Table(
    "legal_holds",
    tables.METADATA,
    Column("id", Integer, primary_key=True),
    Column("lender", ForeignKey("lenders.id"), nullable=False),
    Column("mode", String(4), nullable=False),
    Column("subject", LargeBinary(32), nullable=False),
    Column("reason", Text, nullable=False),
    Column("placed_us", BigInteger, nullable=False),
    Column("released_us", BigInteger),
    Index(None, "lender", "mode", "subject"),
    comment="applicants whose data must not be erased",
)
