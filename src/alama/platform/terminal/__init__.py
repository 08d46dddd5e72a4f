"""What commands say and ask: consoles, tables, bars, questions."""
