"""Doctor, backup, restore, upgrade, check."""
