#!/usr/bin/env bash
# Runs every fuzz target of all modules, FUZZJOBS at a time (1 unless said otherwise): each for FUZZTIME, or so that all of them take about FUZZTOTAL, if that is
# set, and no longer than FUZZTIME. FUZZPARALLEL is how many processors each of them uses (2 unless said otherwise).
#
#   scripts/fuzz.sh [NAME...]
#
# NAME is that of a target, as in FuzzKeys; without one, all are run that there are. Both times are durations, as in 90s or 10m. It goes on after a failure, so
# that all of them are seen, and fails in the end. An input that fails is written to testdata/fuzz, beside the target: keep it there once the bug is mended.
set -euo pipefail

cd "$(dirname "$0")/.."

# seconds reads a duration of one number and one unit.
seconds() {
	case $1 in
	*h) echo $((${1%h} * 3600)) ;;
	*m) echo $((${1%m} * 60)) ;;
	*s) echo "${1%s}" ;;
	*) echo "fuzz.sh: $1 is no time: give one as in 90s, 10m or 1h" >&2 && return 1 ;;
	esac
}

each=$(seconds "${FUZZTIME:-1m}")
mapfile -t targets < <(grep -rE --include='*_test.go' -o '^func Fuzz[A-Za-z0-9_]*' . | sed 's/:func / /' | sort)
if [ $# -gt 0 ]; then
	wanted=()
	for target in "${targets[@]}"; do
		for name in "$@"; do
			if [ "${target#* }" = "$name" ]; then wanted+=("$target"); fi
		done
	done
	targets=("${wanted[@]}")
fi
if [ ${#targets[@]} -eq 0 ]; then
	echo "fuzz.sh: no such target: see grep -rn '^func Fuzz'" >&2
	exit 1
fi
if [ -n "${FUZZTOTAL:-}" ]; then
	part=$(($(seconds "$FUZZTOTAL") * ${FUZZJOBS:-1} / ${#targets[@]}))
	each=$((part < each ? part : each))
	each=$((each > 0 ? each : 1))
fi

logs=$(mktemp -d)
trap 'rm -r "$logs"' EXIT

# overran tells whether a run failed for nothing but that its time was over: with a time, Go sometimes counts the end of the time as a failure of the target
# (https://go.dev/issue/75804, mended in Go 1.27). An input that fails is always told of, and written down.
overran() {
	grep -qx ' *context deadline exceeded' "$1" &&
		! grep -qE 'Failing input written to|failure while testing seed corpus|^panic: |^fatal error: |_test\.go:[0-9]+: ' "$1"
}

# fuzz runs one target, and tells at its end how that went.
fuzz() {
	local file=${1% *} name=${1#* } log="$logs/${1#* }" failed=
	log+=".$RANDOM" # packages may have targets of the same name
	# What an input does is bounded by the target itself: -timeout is for one that stands still.
	go test -run '^$' -fuzz "^$name\$" -fuzztime "${each}s" -parallel "${FUZZPARALLEL:-2}" -timeout "$((each + 600))s" "$(dirname "$file")" >"$log" 2>&1 ||
		overran "$log" || failed=yes
	echo "fuzz.sh: $name in $(dirname "$file"), for ${each}s: $(grep -E '^fuzz: elapsed' "$log" | tail -n 1)"
	if [ -n "$failed" ]; then
		tail -n 200 "$log"
		echo "$name" >>"$logs/failed"
	fi
}

running=0
for target in "${targets[@]}"; do
	if [ "$running" -ge "${FUZZJOBS:-1}" ]; then
		wait -n
		running=$((running - 1))
	fi
	fuzz "$target" &
	running=$((running + 1))
done
wait
if [ -e "$logs/failed" ]; then
	echo "fuzz.sh: failed: $(paste -sd ' ' "$logs/failed")" >&2
	exit 1
fi
