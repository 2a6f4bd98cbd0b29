#!/usr/bin/env bash
# Fails if gofmt would change a Go file, and says which.
set -euo pipefail

cd "$(dirname "$0")/.."
unformatted=$(gofmt -l .)
if [ -n "$unformatted" ]; then
	printf '%s\n' "$unformatted" "check-format.sh: these files are not formatted: run gofmt -w on them" >&2
	exit 1
fi
