#!/bin/sh
# The driver of the contract suite, over `Alama`: see ../contract/README.md.
[ -f build/driver.js ] || { echo "the SDK for TypeScript is not built: make sdk" >&2; exit 1; }
exec node build/driver.js
