"""What monitoring promises: drift that is told of, intervals that cover, reports that are quick."""
