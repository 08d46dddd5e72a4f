"""From one schema to the next, while others serve."""
