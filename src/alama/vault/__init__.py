"""The keys that seal what applicants said: who has which, and what opens what."""
