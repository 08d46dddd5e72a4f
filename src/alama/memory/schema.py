"""The table of what is remembered of borrowers."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, LargeBinary, String, Table

from alama.platform.database.tables import METADATA

borrowers = Table(
    "borrowers",
    METADATA,
    Column("applicant_key_id", String(40), primary_key=True),
    Column("lender", String(40), nullable=False),
    Column("mode", String(4), nullable=False),
    # Counts the changes: whoever decided by an earlier one decides again.
    Column("version", BigInteger, nullable=False),
    Column("updated_us", BigInteger, nullable=False),
    Column("sealed", LargeBinary, nullable=False),
    comment="what a book remembers of a borrower, sealed under the key of the applicant",
)
