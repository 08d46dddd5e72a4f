"""The composition root: settings in, running objects out."""
