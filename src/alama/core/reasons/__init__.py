"""Reasons and advice in words: why a decision fell as it did, and what would change it.

Told to the applicant in their language. The codes are public and never change their meaning; the
texts may get better. Both are data, in `src/alama/reasons`; docs/generated/reasons.md shows them.
"""

from __future__ import annotations

from alama.core.reasons.advice import Advice
from alama.core.reasons.dictionary import Language
from alama.core.reasons.tell import REASONS_MAX, Reason, reasons

__all__ = ["REASONS_MAX", "Advice", "Language", "Reason", "reasons"]
