"""Tables, models and texts in and out of files; the only package that knows the formats."""
