"""The HTTP service: requests in, replies out, and the only place that knows a status code."""
