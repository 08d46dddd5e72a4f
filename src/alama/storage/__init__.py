"""Lenders, keys, models and scores in SQLite or PostgreSQL, through one implementation."""
