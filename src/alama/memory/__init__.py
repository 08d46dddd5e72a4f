"""What a book remembers of its borrowers: their applications and loans, sealed and by pseudonym."""
