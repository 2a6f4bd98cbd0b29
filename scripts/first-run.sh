#!/usr/bin/env bash
# Measures the first command of README.md with empty caches, so with all that it downloads and compiles. TAGS="" has all
# engines.
set -euo pipefail

cd "$(dirname "$0")/.."
dir="$(mktemp -d)"
trap 'rm -rf "$dir"' EXIT
export GOCACHE="$dir/build" GOMODCACHE="$dir/modules" GOFLAGS="${GOFLAGS:-} -modcacherw"
export XDG_STATE_HOME="$dir/state" XDG_CONFIG_HOME="$dir/config"
unset LEASEHOLD_ENGINE

tags="${TAGS-no_servers}"
TIMEFORMAT="%R s; %U s of processor time, and %S s in the kernel"
time go run -tags "$tags" ./cmd/leasehold run hello -- sh -c 'echo token $LEASEHOLD_TOKEN' 2>"$dir/log" || {
	cat "$dir/log" >&2
	exit 1
}
find "$dir/modules/cache/download" -name '*.zip' -exec cat {} + | wc -c | awk '{ printf "%.0f MB downloaded\n", $1 / 1e6 }'
go build -tags "$tags,grpcnotrace" -ldflags '-s -w' -o "$dir/leasehold" ./cmd/leasehold
wc -c <"$dir/leasehold" | awk '{ printf "%.0f MB without debug information\n", $1 / 1e6 }'
