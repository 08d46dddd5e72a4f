"""Use cases: what a lender, an operator and a caller can ask for. They own the transactions."""
