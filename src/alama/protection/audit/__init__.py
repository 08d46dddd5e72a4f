"""Whether the audit holds: every chain, and what stands in the tables."""
