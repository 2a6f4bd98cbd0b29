#!/usr/bin/env bash
# Fails if gofmt would change a Go file, or if a line of Go has more than 120 columns (a tab counts four), and says which.
set -euo pipefail

cd "$(dirname "$0")/.."
unformatted=$(gofmt -l .)
if [ -n "$unformatted" ]; then
	printf '%s\n' "$unformatted" "check-format.sh: these files are not formatted: run gofmt -w on them" >&2
	exit 1
fi

# These have long lines of CSS, JSON and TOML in raw strings.
exempt='/(svg|config_fuzz_test|deployfiles_test)\.go:'
export LC_ALL=C.UTF-8
long=$(find . -name '*.go' -not -path './.git/*' -print0 |
	xargs -0 awk '{ line = $0; gsub(/\t/, "    ", line) } length(line) > 120 { print FILENAME ":" FNR ": " line }' |
	grep -vE "$exempt" | while IFS= read -r found; do
	line=${found#*: } # awk may count bytes, bash counts letters
	if [ ${#line} -gt 120 ]; then printf '%s\n' "$found"; fi
done || true)
if [ -n "$long" ]; then
	printf '%s\n' "$long" "check-format.sh: these lines have more than 120 columns: break them" >&2
	exit 1
fi
