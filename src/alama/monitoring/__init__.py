"""What became of scores, and whether it was predicted: outcomes, reviews, drift, challengers."""
