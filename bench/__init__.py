"""Measurements beside the libraries that others would take: run from the root, never installed."""
