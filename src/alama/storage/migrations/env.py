"""What Alembic runs: steps on the connection that it was given, in its transaction if any."""

from alembic import context

from alama.storage.schema import METADATA

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    transactional_ddl=False,  # the transaction is the caller's
)
context.run_migrations()
