"""What statements cost: hostile files, each read or refused."""
