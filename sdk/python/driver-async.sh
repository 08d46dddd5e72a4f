#!/bin/sh
# The driver of the contract suite, over `AsyncAlama`: see ../contract/README.md.
PYTHONPATH=src exec python driver.py async
