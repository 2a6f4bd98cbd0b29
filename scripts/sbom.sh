#!/usr/bin/env bash
# Writes what modules a command was built from, as CycloneDX has it. The same command makes the same file.
#
#   scripts/sbom.sh COMMAND FILE
set -euo pipefail

export GOCACHE=${TOOL_CACHE:-$(go env GOCACHE)}
exec go run github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0 bin -json -std -licenses -noserial -output "$2" "$1"
