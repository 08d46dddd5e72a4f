"""Alama: credit scoring that explains itself exactly."""

__version__ = "0.1.0"
