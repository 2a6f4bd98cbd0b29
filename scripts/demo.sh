#!/usr/bin/env bash
# Shows the main job: two shells count up in one file, each time under the lock "counter", and no count
# is lost. The locks are kept in a temporary file.
set -euo pipefail

cd "$(dirname "$0")/.."
each=10
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export LEASEHOLD_ENGINE="sqlite:$folder/locks.db"

go build -o "$folder/leasehold" ./cmd/leasehold
echo 0 >"$folder/count"

# Without the lock, both would now and then read the same number.
# shellcheck disable=SC2016 # the inner shell is to expand these
step='read n <count; n=$((n + 1)); echo "$n" >count; echo "shell $0 counts to $n under token $LEASEHOLD_TOKEN"'

shell() {
	cd "$folder"
	for _ in $(seq "$each"); do
		./leasehold run counter -- sh -c "$step" "$1"
	done
}

shell A &
first=$!
shell B &
second=$!
wait "$first"
wait "$second"

read -r count <"$folder/count"
echo "counted to $count; it must be $((2 * each))"
[ "$count" = $((2 * each)) ]
