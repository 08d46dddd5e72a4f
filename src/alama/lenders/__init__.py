"""Lenders, their keys and their limits, and what answers in their books."""
