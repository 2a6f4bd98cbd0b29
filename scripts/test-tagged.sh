#!/usr/bin/env bash
# Runs the tests in files whose build constraint begins with a tag, in all modules, and no other tests.
#
#   scripts/test-tagged.sh TAG [FLAG...]
#
# The flags are those of go test.
set -euo pipefail

cd "$(dirname "$0")/.."
files=$(grep -rlE --include='*_test.go' "^//go:build $1( && .*)?\$" . | xargs grep -l '^func Test' | sort)
names=$(xargs sed -n 's/^func \(Test[A-Za-z0-9]*\)(.*/\1/p' <<<"$files")
mapfile -t folders < <(xargs dirname <<<"$files" | sort -u)
shift
exec go test "$@" -run "^($(paste -s -d '|' <<<"$names"))\$" "${folders[@]}"
