"""The public synthetic population: people who do not exist, and their true risk."""
