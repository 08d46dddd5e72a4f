"""The engine beside its peers: one row, a million rows, training, and quality on real tables."""
