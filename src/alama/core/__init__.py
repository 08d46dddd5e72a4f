"""The domain, pure: no input or output, no clock, no randomness, no logging."""
