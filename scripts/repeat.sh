#!/usr/bin/env bash
# Runs one test many times, several at once, each in a process of its own, and says how often it passed. The output of
# runs that failed stays in bin/repeat.
#
#   scripts/repeat.sh TIMES AT_ONCE PACKAGE TEST
#
# TEST is as for go test -run. Servers come from PATH, as always:
#
#   PATH="$PWD/bin/servers/etcd-3.7.3:$PATH" scripts/repeat.sh 100 6 ./etcd 'TestLeaderLostWhileHeldAndWaitedFor/frozen'
set -euo pipefail

if [ $# -ne 4 ]; then
	echo "repeat.sh: the form is scripts/repeat.sh TIMES AT_ONCE PACKAGE TEST" >&2
	exit 64
fi
cd "$(dirname "$0")/.."
export GOWORK=$PWD/go.work CI=true
logs=$PWD/bin/repeat
rm -rf "$logs"
mkdir -p "$logs"
program=$logs/program
go test -tags long -c -o "$program" "$3"
cd "$3"
run() { # PROGRAM LOGS TEST NUMBER
	"$1" -test.run "$3" -test.v >"$2/$4" 2>&1 && grep -q '^--- PASS' "$2/$4" && rm "$2/$4" || true
}
export -f run
seq "$1" | xargs -P "$2" -I NUMBER bash -c 'run "$@"' run "$program" "$logs" "$4" NUMBER
rm "$program"
failed=$(find "$logs" -type f | wc -l)
echo "$4: $(($1 - failed)) of $1 passed, $2 at once"
[ "$failed" -eq 0 ]
