"""What every capability stands on and none owns."""
