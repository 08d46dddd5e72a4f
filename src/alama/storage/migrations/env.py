"""What Alembic runs: the steps on the connection, and in the transaction, that it was given."""

from alembic import context

from alama.storage.schema import METADATA

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    transactional_ddl=False,  # the transaction is the caller's, and holds all steps
)
context.run_migrations()
