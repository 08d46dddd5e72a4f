"""Tables as people and spreadsheets write them: looked at, asked about, read in one sure way."""
