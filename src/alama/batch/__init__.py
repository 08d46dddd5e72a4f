"""Whole files: scoring and deciding on them, and the scorecard as rows, CSV, JSON and SQL."""
