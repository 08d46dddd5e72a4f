"""What a migration does beside a service that goes on writing.

For steps that say `outside_transaction = True`, which may be done a second time after a kill.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from alembic import op

if TYPE_CHECKING:
    from collections.abc import Sequence


_IS_VALID = sa.text("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(:name)")


def create_index(name: str, table: str, columns: Sequence[str], **options: Any) -> None:  # noqa: ANN401  Alembic's
    """Build an index without keeping anybody from writing; begin anew what a kill left unfinished.

    On SQLite, and in a transaction that makes a whole new database, there is nobody to mind.
    """
    connection = op.get_bind()
    if connection.get_execution_options().get("isolation_level") != "AUTOCOMMIT":
        op.create_index(name, table, columns, **options)
        return
    quoted = connection.dialect.identifier_preparer.quote(name)
    is_valid = connection.execute(_IS_VALID, {"name": quoted}).scalar()
    if is_valid is False:  # not None, which is for one that is not there
        op.drop_index(name, table_name=table, postgresql_concurrently=True)
    if not is_valid:
        op.create_index(name, table, columns, postgresql_concurrently=True, **options)


def drop_index(name: str, table: str) -> None:
    """Take an index away without keeping anybody from writing, unless it is gone already."""
    alone = op.get_bind().get_execution_options().get("isolation_level") == "AUTOCOMMIT"
    op.drop_index(name, table_name=table, if_exists=True, postgresql_concurrently=alone)
