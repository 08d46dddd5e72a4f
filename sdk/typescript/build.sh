#!/bin/sh
# Builds the package (dist) with its driver and tests (build), by the compiler that is locked.
set -e
cd "$(dirname "$0")"
command -v npm >/dev/null || { echo "npm is not here: install Node.js 18 or newer (Debian: nodejs, npm), then make sdk" >&2; exit 1; }
if ! cmp -s package-lock.json node_modules/.installed; then
  npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
  cp package-lock.json node_modules/.installed
fi
node_modules/.bin/tsc --build tsconfig.test.json
