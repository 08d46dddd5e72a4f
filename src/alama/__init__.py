"""Alama: credit scoring that explains itself exactly."""

from __future__ import annotations

__version__ = "0.1.0"
