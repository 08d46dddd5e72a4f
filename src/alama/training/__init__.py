"""Offline work: the synthetic population, fitting, compiling and validating models."""
