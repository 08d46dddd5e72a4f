"""What we are measured beside, each a server of its own in the peers' environment."""
