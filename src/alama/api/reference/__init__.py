"""The reference page at /docs: made of the OpenAPI document alone, so the two cannot differ."""
