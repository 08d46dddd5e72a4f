"""One database, SQLite or PostgreSQL: connections, tables, migrations, group commit."""
