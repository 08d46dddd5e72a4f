"""What webhooks cost scoring, and how fast they are sent."""
