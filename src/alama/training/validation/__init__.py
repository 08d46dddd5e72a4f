"""How good a model is, measured on rows it never saw, and the report that says so."""
