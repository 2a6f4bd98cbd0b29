#!/usr/bin/env bash
# Builds the binary and the packages for this machine twice, in different folders, with different build caches and at different times, and fails if a byte
# differs.
set -euo pipefail

cd "$(dirname "$0")/.."
top=$PWD
commit=$(git rev-parse HEAD)
work=$(mktemp -d)
cache=$(go env GOCACHE)
trap 'rm -rf "$work"' EXIT
for copy in first a/longer/path/to/the/second; do
	git clone --quiet . "$work/$copy"
	git -C "$work/$copy" checkout --quiet --detach "$commit"
	(cd "$work/$copy" && TOOLS=$top/bin/tools BUILD_CACHE=$cache scripts/snapshot.sh host)
	cache=$work/cache # the second time, all is compiled again
	(cd "$work/$copy/bin/dist" && find . -type f \( -name '*.tar.gz' -o -name '*.deb' -o -name '*.rpm' -o -name '*.json' -o -name leasehold \) \
		! -name artifacts.json ! -name metadata.json -exec sha256sum {} + | sort -k 2) >"$work/sums-${copy//\//-}"
done
diff "$work/sums-first" "$work/sums-a-longer-path-to-the-second"
cat "$work/sums-first"
echo "reproducible.sh: $(wc -l <"$work/sums-first") files are equal, byte by byte"
