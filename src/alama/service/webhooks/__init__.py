"""Webhooks: what is announced, to whom, and what becomes of it."""
