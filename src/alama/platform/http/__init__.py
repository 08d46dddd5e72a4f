"""The frame of the service: requests in, replies out, problems, the OpenAPI document."""
