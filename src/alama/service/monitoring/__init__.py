"""How well a book was predicted, whether it drifts, and what another model would have said."""
