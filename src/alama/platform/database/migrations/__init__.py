"""The history of the schema, a file a step. Steps that were released are never edited."""
