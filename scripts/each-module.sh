#!/usr/bin/env bash
# Runs a command in the folder of each module that go.work lists. It goes on after a failure, so that
# all of them are seen, and fails in the end.
#
#   scripts/each-module.sh COMMAND [ARG...]
set -euo pipefail

cd "$(dirname "$0")/.."
folders=$(GOWORK="$PWD/go.work" go list -m -f '{{.Dir}}')
failed=0
while IFS= read -r folder; do
	if ! (cd "$folder" && "$@" </dev/null); then
		echo "each-module.sh: in $folder: $* failed" >&2
		failed=1
	fi
done <<<"$folders"
exit "$failed"
