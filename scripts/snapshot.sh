#!/usr/bin/env bash
# Builds all that a release has from the commit that is checked out, except the container image, into bin/dist. Nothing is
# published.
#
#   scripts/snapshot.sh [host]
#
# With the word host it builds for this machine only, and no cask, which is for macOS.
set -euo pipefail

cd "$(dirname "$0")/.."
config=.goreleaser.yaml
skip=docker
if [ "${1:-}" = host ]; then
	mkdir -p bin
	config=bin/goreleaser.yaml
	sed "s/^    targets: .*/    targets: [$(go env GOOS)_$(go env GOARCH)]/" .goreleaser.yaml >"$config"
	skip+=,homebrew
fi
# The programs that make a release are not those of the project: its workspace is not for them.
export GOWORK=off GORELEASER_CURRENT_TAG=${VERSION:-v0.1.0}
# It wants to know where the repository is from, which a copy may not.
git remote get-url origin >/dev/null 2>&1 ||
	export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=remote.origin.url GIT_CONFIG_VALUE_0=https://github.com/leasehold-go/leasehold
tools=${TOOLS:-$PWD/bin/tools}
GOBIN=$tools CGO_ENABLED=0 go install -trimpath github.com/goreleaser/goreleaser/v2@v2.15.1
TOOL_CACHE=$(go env GOCACHE)
export TOOL_CACHE
GOCACHE=${BUILD_CACHE:-$TOOL_CACHE} exec "$tools/goreleaser" release --snapshot --clean --config "$config" --skip="$skip"
