"""What Alama is made of: the bill of materials and the list of licences, from lock and metadata."""
