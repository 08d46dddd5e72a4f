"""From statements to fields: a ledger, published formulas, readers, checks of genuineness."""
