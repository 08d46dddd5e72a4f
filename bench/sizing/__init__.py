"""What a core carries and what a score takes, for whoever has to buy a machine."""
