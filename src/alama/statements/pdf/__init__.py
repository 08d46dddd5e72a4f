"""Statements as PDFs: read in a process of its own, with limits, by where their words stand."""
