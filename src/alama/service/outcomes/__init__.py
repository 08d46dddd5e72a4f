"""What became of scores: how loans ended, and what officers decided."""
