"""The command line: one module a noun, gathered by `alama.cli.main`."""
