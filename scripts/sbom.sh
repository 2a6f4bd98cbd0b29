#!/usr/bin/env bash
# Writes what modules a command was built from, as CycloneDX has it. The same command makes the same file: its time is
# that of the commit.
#
#   scripts/sbom.sh COMMAND FILE
set -euo pipefail

GOCACHE=${TOOL_CACHE:-$(go env GOCACHE)} go run -trimpath github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0 bin \
	-json -std -noserial -output "$2.new" "$1"
when=$(TZ=UTC git log -1 --format=%cd --date=format-local:%Y-%m-%dT%H:%M:%SZ)
sed "s/^\( *\"timestamp\": \"\)[^\"]*/\1$when/" "$2.new" >"$2"
grep -qF "\"timestamp\": \"$when\"" "$2"
rm "$2.new"
