"""The audit: acts of administration, and the proof that nothing was changed since."""
