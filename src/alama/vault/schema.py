"""The keys that seal: those of lenders and of the installation, and one for each applicant."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Index,
    LargeBinary,
    String,
    Table,
    UniqueConstraint,
)

from alama.platform.database.tables import METADATA

vault_keys = Table(
    "vault_keys",
    METADATA,
    Column("id", String(40), primary_key=True),
    Column("lender", ForeignKey("lenders.id")),
    Column("purpose", String(8), nullable=False),
    Column("wrapped", LargeBinary, nullable=False),
    Column("master_id", String(16), nullable=False),
    Column("public", LargeBinary(32)),
    Column("created_us", BigInteger, nullable=False),
    Column("retired_us", BigInteger),
    Index(None, "lender", "purpose"),
    comment="keys of a lender (seal, find) and of the installation (sign), under the master key",
)

applicant_keys = Table(
    "applicant_keys",
    METADATA,
    Column("id", String(40), primary_key=True),
    Column("lender", String(40), nullable=False),
    Column("mode", String(4), nullable=False),
    Column("subject", LargeBinary(32)),
    Column("wrapped", LargeBinary),
    Column("lender_key_id", String(40), nullable=False),
    Column("created_us", BigInteger, nullable=False),
    Column("erased_us", BigInteger),
    UniqueConstraint("lender", "mode", "subject"),
    comment="one for each applicant; erased: neither the key nor whom it was for is known any more",
)
