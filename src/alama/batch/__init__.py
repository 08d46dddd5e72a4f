"""Whole files: scoring them, and the scorecard as rows, CSV, JSON and SQL."""
