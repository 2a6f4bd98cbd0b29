#!/usr/bin/env bash
# Writes what packages have besides the command into bin/package: manual pages, completions, licences, and the unit with
# the path that the command has in a package. The same commit makes the same files.
#
#   scripts/package-parts.sh VERSION
set -euo pipefail

cd "$(dirname "$0")/.."
export GOCACHE=${TOOL_CACHE:-$(go env GOCACHE)}
export GOWORK=$PWD/go.work # GoReleaser is called without
version=${1:?the form is scripts/package-parts.sh VERSION}
to=bin/package
rm -rf "$to"
mkdir -p "$to"
go run ./cmd/leasehold/internal/manual "$to" "$version" "$(git -c safe.directory='*' log -1 --format=%ct)"
gzip -9n "$to"/man/man*/*
go run ./lab/release licences "$to"
sed 's,/usr/local/bin/,/usr/bin/,' deploy/leasehold-exporter.service >"$to/leasehold-exporter.service"
grep -q '^ExecStart=/usr/bin/leasehold ' "$to/leasehold-exporter.service"
