"""From the terms of a lender to a live key that its own model answers."""
