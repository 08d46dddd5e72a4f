"""Score, explain, read back, replay."""
