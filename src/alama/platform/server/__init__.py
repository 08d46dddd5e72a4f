"""The server of one process: its address, its connections, its protocol."""
