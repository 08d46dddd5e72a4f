#!/bin/sh
# The driver of the contract suite: see ../contract/README.md.
exec java -XX:TieredStopAtLevel=1 -classpath build/main:build/test dev.alama.client.Driver
