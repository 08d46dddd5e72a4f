"""The service beside its peers: throughput, latency at a given load, memory, start, storage."""
