#!/usr/bin/env bash
# Builds the program that drives a real Redisson for tests, from lab/redisson/java, with Maven.
#
#   scripts/build-redisson.sh VERSION...
#
# The program and all its jars are put into bin/redisson/VERSION. Maven gets Redisson and what it needs from its repository, and keeps it in ~/.m2. What is
# there already, built from the same sources, is not built again.
set -euo pipefail
export LC_ALL=C

cd "$(dirname "$0")/.."
if [ $# -eq 0 ]; then
	echo "build-redisson.sh: the form is scripts/build-redisson.sh VERSION..." >&2
	exit 64
fi

# The same sum is computed by the tests, which refuse a program that was built from other sources.
sum=$(find lab/redisson/java -name pom.xml -o -name '*.java' | sort | xargs cat | sha256sum | cut -d ' ' -f 1)

for version in "$@"; do
	to=bin/redisson/$version
	if [ "$(cat "$to/sources" 2>/dev/null)" = "$sum" ]; then
		continue
	fi
	echo "build-redisson.sh: building $to with Maven" >&2
	work=$(mktemp -d)
	trap 'rm -rf --one-file-system -- "$work"' EXIT
	cp -r lab/redisson/java/. "$work/"
	(cd "$work" && mvn -q -B -ntp "-Dredisson.version=$version" package dependency:copy-dependencies -DincludeScope=runtime \
		-DoutputDirectory="$work/jars" </dev/null >&2)
	rm -rf --one-file-system -- "$to"
	mkdir -p "$to"
	cp "$work"/jars/*.jar "$work/target/redissonside.jar" "$to/"
	echo "$sum" >"$to/sources"
	rm -rf --one-file-system -- "$work"
done
