"""Policies of lenders: drafted, checked, simulated, put in force."""
