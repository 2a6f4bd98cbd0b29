#!/usr/bin/env bash
# Prints a pattern of the names of the tests that are built without the race detector only, in the folders given.
set -euo pipefail

cd "$(dirname "$0")/.."
names=$(for folder; do grep -l '^//go:build !race' "$folder"/*_test.go; done | xargs sed -n 's/^func \(Test[A-Za-z0-9]*\)(.*/\1/p')
echo "^($(paste -s -d '|' <<<"$names"))\$"
