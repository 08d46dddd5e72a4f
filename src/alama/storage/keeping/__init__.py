"""Backups of a database, and whether it is whole."""
