#!/bin/sh
# The driver of the contract suite, over `Alama`: see ../contract/README.md.
PYTHONPATH=src exec python driver.py sync
