"""What deciding costs: one application by policies of several kinds, and a whole simulation."""
