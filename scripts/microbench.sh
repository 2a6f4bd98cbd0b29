#!/usr/bin/env bash
# Runs the benchmarks and writes docs/performance-library.md from what they print.
set -euo pipefail

cd "$(dirname "$0")/.."
results=$(mktemp)
trap 'rm -f "$results"' EXIT
go test -run '^$' -bench . -benchmem -timeout 30m . ./memory ./sqlite ./prometheus ./cmd/leasehold | tee "$results"

{
	cat <<'TEXT'
# Performance of the library

What the library costs without a network; [performance](performance.md) is with one. `make microbench` writes this page: run it on your own machine,
since only ratios travel. The cores of this one are few and noisy: expect a fifth more or less from run to run.

## What to look at

| Benchmark | What it shows | Meant to be |
|---|---|---|
| `LockRelease` | One goroutine, a free name, memory engine: deadline, owner, token, renewal and queue included | at most 2 µs and 12 allocations |
| `HandOver64` | 64 goroutines of one process pass one lock around | at least 500,000 hand-overs/s |
| `Held100k` | 100,000 held leases of 30 s: memory of client and engine for each, goroutines for all, processor time of all renewals and of everything else in the process | at most 1 KiB each, no goroutine, 2 % of one core |
| `LockReleaseSQLite` | One goroutine, a free name, through a file that processes share | at least 2,000 pairs/s |
| `Free`, `ManyGoroutines` of `sqlite` | The engine alone: a pair of Take and Release | |
| `EightProcesses` of `sqlite` | 8 processes contend for one name; it fails if one of them sees an error or no turn | |
| `Observed` of `prometheus` | A pair of `LockRelease` alone, and with the metrics of [Prometheus](metrics.md): the two take turns, and the medians count | at most 1 µs more |
| `Events`, `EventsTogether` of `prometheus` | The events of one such pair, from one goroutine and from all processors at once | no allocation |
| `Renew` of `memory` and `sqlite` | What a lease costs in a batch of renewals | |

## What was measured

TEXT
	printf 'Written by `make microbench` on %s, %s, %s processors.\n\n' \
		"$(date -u +%Y-%m-%d)" "$(go version | cut -d ' ' -f 3-)" "$(nproc)"
	printf '```text\n'
	grep -E '^(goos|goarch|cpu|pkg|Benchmark)' "$results"
	printf '```\n'
} >docs/performance-library.md
