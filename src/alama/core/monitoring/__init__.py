"""How a model does once it is in use: what moved, what became of it, and what chance explains."""
