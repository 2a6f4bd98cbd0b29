#!/usr/bin/env bash
# Runs the tests of the engines on servers of several versions, and writes docs/engines/versions.md.
#
#   scripts/matrix.sh [SERVER...]
#
# SERVER is a name of the list below, and all of them if none is given: that takes more than an hour. The page has the latest result of each, also of those
# that are not run this time; bin/matrix or the page itself keeps them, so it may be run for one server after the other. It fails if a test does, after the page was written.
# LEASEHOLD_MATRIX_RUN is a pattern of tests, as for go test -run, if not all are wanted: the page says so. The race detector is left to make race, where
# these tests are compiled from the same code.
set -euo pipefail

cd "$(dirname "$0")/.."
top=$PWD
export GOWORK=$top/go.work LEASEHOLD_NEED_SERVERS=1
results=$top/bin/matrix
mkdir -p "$results"

redis_torture='TestFaultsOfTwoLinksCostNothing|TestMajoritiesWithOneServerInCommon|TestHolderThatIsCutOff|TestGrantsWithLostRepliesAreReleased|TestAnswersThatComeAfterTheLease|TestHistoriesOfAQuorumWithFaults|TestStopped|TestRestartedServer|TestClocks|TestClockThat|TestSlotThatIsMoved|TestOldMaster|TestFrozenMaster'
# Of the packages that test several engines, those tests are run that this server has a part in.
declare -A torture=([redis]=$redis_torture [etcd]='Etcd|TestHistoriesOfAClusterWithFaults' [postgres]='Postgres|Guard' [zookeeper]='ZooKeeper|Ensemble' [redisson]='')
declare -A scripts=([redis]='TestScripts/(redis|cluster|redlock)' [etcd]='TestScripts/etcd' [postgres]='TestScripts/postgres' [zookeeper]='TestScripts/zookeeper' [redisson]='TestScripts/redisson')
declare -A packages=([redis]='./redis ./redis/redlock ./redis/redisfence' [etcd]='./etcd' [postgres]='./postgres ./fence' [zookeeper]='./zookeeper' [redisson]='./redis/redisson ./redis/redisson/objects ./lab/redisson')

# What was built without TLS is tested without.
declare -A plain=([redis-8.2]=1 [valkey-8.1]=1 [redis-8.2-redisson]=1 [valkey-8.1-redisson]=1)

# The engine redisson has lines of its own: its tests also need Java.
all=(redis-installed redis-8.2 valkey-8.1 valkey-9.1
	redis-installed-redisson redis-8.2-redisson valkey-8.1-redisson valkey-9.1-redisson
	etcd-installed etcd-3.6 etcd-3.7 postgres-installed zookeeper-installed)

# get makes a server ready, and sets folder to what must be first in PATH, or to nothing for the one that the system has.
get() {
	folder=
	[[ $1 != *-redisson ]] || scripts/build-redisson.sh 4.7.0 3.52.0 >&2
	set -- "${1%-redisson}"
	case $1 in
	*-installed) ;;
	etcd-*)
		folder=$top/bin/servers/$1
		scripts/build-etcd.sh "${1#etcd-}" "$folder" >&2
		;;
	*)
		folder=$top/bin/servers/$1
		scripts/get-server.sh "$1" "$folder" >&2
		;;
	esac
}

# version says which one it is.
version() {
	local path=${folder:+$folder:}$PATH
	case $1 in
	redis-* | valkey-*) PATH=$path redis-server --version | sed -E 's/^(Redis|Valkey) server v=([^ ]+).*/\1 \2/' ;;
	etcd-*) PATH=$path etcd --version | sed -nE 's/^etcd Version: /etcd /p' ;;
	postgres-*) "$(compgen -G '/usr/lib/postgresql/*/bin/postgres' | sort -V | tail -n 1)" --version | sed -E 's/.*\) ([^ ]+).*/PostgreSQL \1/' ;;
	zookeeper-*) dpkg-query -W -f '${source:Upstream-Version}' libzookeeper-java 2>/dev/null | sed 's/^/ZooKeeper /' | grep . || echo ZooKeeper ;;
	esac
}

# tests runs some tests, and keeps what came of them.
tests() { # LOG PATTERN PACKAGE...
	local log=$1 pattern=$2
	shift 2
	PATH=${folder:+$folder:}$PATH LEASEHOLD_WITHOUT_TLS=${plain[$name]-} go test -tags long -count 1 -timeout 40m -p 1 -json ${pattern:+-run "$pattern"} "$@" >>"$log" || true
}

# names are the tests that ended in some way, with their packages. Of those with parts, the parts are told.
names() { # LOG ACTION
	sed -nE "s#.*\"Action\":\"$2\",\"Package\":\"[^\"]*/([^\"/]+)\",\"Test\":\"([^\"]+)\".*#\1.\2#p" "$1" | LC_ALL=C sort -u |
		awk '{ all[NR] = $0 } END { for (i = 1; i <= NR; i++) if (index(all[i + 1], all[i] "/") != 1) print all[i] }'
}

# listed puts names into a cell of the page.
listed() { sed 's/.*/`&`/; s/|/\\|/g' | paste -sd, | sed 's/,/, /g'; }

# run tests one server and writes its line of the page.
run() {
	local name=$1 kind=${1%%-*} log=$results/$1.json line=$results/$1.line ran
	[ "$kind" != valkey ] || kind=redis
	[[ $name != *-redisson ]] || kind=redisson
	if ! get "$name"; then
		printf '| %s | – | nothing | left out: it could not be had |\n' "$name" >"$line"
		return
	fi
	: >"$log"
	if [ -n "${LEASEHOLD_MATRIX_RUN-}" ]; then
		ran="of ${packages[$kind]}: \`${LEASEHOLD_MATRIX_RUN//|/\\|}\`"
		tests "$log" "$LEASEHOLD_MATRIX_RUN" ${packages[$kind]}
	else
		ran=${packages[$kind]}
		tests "$log" "" ${packages[$kind]}
		[ -z "${torture[$kind]}" ] || tests "$log" "${torture[$kind]}" ./lab/torture
		tests "$log" "${scripts[$kind]}" ./cmd/leasehold
	fi
	local failed passed skipped result
	failed=$(names "$log" fail | listed)
	passed=$(names "$log" pass | wc -l)
	skipped=$(names "$log" skip | { grep -v / || true; } | listed)
	result="$passed passed${skipped:+, not run: $skipped}"
	if [ -n "$failed" ]; then
		result="$result, **failed**: $failed"
	elif ! grep -qF '"Action":"pass"' "$log" || grep -F '"Action":"fail"' "$log" | grep -qvF '"Test":'; then
		result="$result, **failed**: a package did not build or end"
	fi
	printf '| %s | %s | %s | %s, on %s |\n' "$name" "$(version "$name")" "$ran" "$result" "$(date -u +%Y-%m-%d)" >"$line"
	cat "$line"
}

[ $# -gt 0 ] || set -- "${all[@]}"
for name; do
	case " ${all[*]} " in
	*" $name "*) run "$name" ;;
	*)
		echo "matrix.sh: there is no $name, but these: ${all[*]}" >&2
		exit 64
		;;
	esac
done

page=$(cat docs/engines/versions.md)
{
	cat <<'TEXT'
# Versions of servers

`make matrix` runs the tests of the engines on servers of these versions, without the race detector, and writes this page. "Installed" is the package
of Debian 12. Each also runs the tests of ./lab/torture and ./cmd/leasehold that use it. "Passed" counts tests and their parts, except parts about
what an engine cannot do. "Not run" are those that need what a server does not have: these builds of Redis 8.2 and Valkey 8.1, from a package
registry, are without TLS, and only Valkey 9 moves a slot of a Cluster at once (`CLUSTER MIGRATESLOTS`). Lines that end in "-redisson" are the
engine redisson, alone and beside Redisson 4.7.0 in Java.

| Server | Version | What was run | Result |
|---|---|---|---|
TEXT
	for name in "${all[@]}"; do
		cat "$results/$name.line" 2>/dev/null || grep -F "| $name |" <<<"$page" || printf '| %s | – | nothing | not run yet |\n' "$name"
	done
} >docs/engines/versions.md
! grep -qF '**failed**' "$results"/*.line
