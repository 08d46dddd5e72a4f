"""Pilot onboarding, measured: how long a lender waits, and how far the model is from the truth."""
