"""Reasons and advice in words: why a decision fell as it did, and what would change it.

Told to the applicant in their language. The codes are public and never change their meaning; the
texts may get better. Both are data, in `src/alama/reasons`; docs/generated/reasons.md shows them.
"""
