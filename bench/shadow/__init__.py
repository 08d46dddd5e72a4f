"""What a challenger costs scoring."""
