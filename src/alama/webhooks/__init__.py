"""Endpoints, events sent to them, and what becomes of each delivery."""
