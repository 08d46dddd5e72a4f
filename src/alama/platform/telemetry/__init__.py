"""Logs, metrics and traces. Never a value that an applicant sent."""
