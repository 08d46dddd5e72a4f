"""What Alembic runs: steps on the connection that it was given, in its transaction if any."""

from __future__ import annotations

from alembic import context

from alama.platform.database.tables import METADATA

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    transactional_ddl=False,  # the transaction is the caller's
)
context.run_migrations()
