"""What leaves the house: events, signed, sent to guarded addresses, until they have arrived."""
